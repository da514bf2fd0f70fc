"""The routes. Those that score read bytes; their bodies are decoded in decoding.py and judged elsewhere."""

import os
import time
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import verifier_service
from verifier_service.reading import MAX_DEPTH
from verifier_service.rewards.profile import ProfileError, UnknownProfile
from verifier_service.schema import (
    GoldsResponse,
    Info,
    Limits,
    ProblemPath,
    ScoreResponse,
)
from verifier_service.server.decoding import Batch
from verifier_service.server.incoming import incoming
from verifier_service.server.metrics import CONTENT_TYPE
from verifier_service.server.problems import MEDIA_TYPE, ProblemError
from verifier_service.server.service import Service, check_started, not_ready, service_of
from verifier_service.server.settings import variable


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    texts = {
        401: "No API key, or a wrong one, where the service wants one.",
        408: "The body did not come in time.",
        413: "The body or the batch is too large; the limit and its setting are named.",
        415: "The body is not JSON, or compressed.",
        422: "The body or a parameter cannot be taken; the path is named.",
        429: "The key has used up its quota; Retry-After says for how long.",
        503: "No worker is ready, there is no room, or the service is about to stop.",
    }
    return {status: {"description": texts[status], "content": {MEDIA_TYPE: schema}} for status in statuses}


def _takes(model: str) -> dict[str, Any]:
    """A body that is described by a model and read as bytes."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


class JsonReply(JSONResponse):
    """A reply that its model has encoded already; JSON by class, so that FastAPI describes it as such."""

    def render(self, content: bytes) -> bytes:
        return content


router = APIRouter()
ProfileQuery = Annotated[
    str | None,
    Query(description="Name of the profile, for senders that cannot put it into the body; the body wins."),
]


@router.post(
    "/score",
    tags=["scoring"],
    summary="Score a batch of completions",
    response_model=ScoreResponse,
    response_class=JsonReply,
    responses=_problems(401, 408, 413, 415, 422, 429, 503),
    openapi_extra=_takes("ScoreRequest"),
)
async def score(request: Request, profile: ProfileQuery = None) -> Response:
    """One result per item, in their order. A bad item is a null with a code; its neighbours are judged."""
    async with incoming(request) as call:
        check_query(request, {"profile"})
        batch = _decoded(call.service, await call.body())
        await call.admit(len(batch.items))
        response = await call.judged(scored(call.service, batch, profile))
        call.scored(response)
        return _json(response)


@router.post(
    "/golds",
    tags=["scoring"],
    summary="Check which golds can be judged",
    response_model=GoldsResponse,
    response_class=JsonReply,
    responses=_problems(401, 408, 413, 415, 422, 429, 503),
    openapi_extra=_takes("GoldsRequest"),
)
async def golds(request: Request) -> Response:
    """For each gold, how it is read, or why it cannot be: to be asked before a training run, not after."""
    async with incoming(request) as call:
        check_query(request, set())
        queries = call.service.decoder.golds(await call.body())
        await call.admit(len(queries))
        response = await call.judged(call.service.backend.check_golds(queries))
        call.service.metrics.golds_checked(response)
        return _json(response)


@router.get("/info", tags=["service"], summary="Version, engine, limits, profiles", responses=_problems(401))
async def info(request: Request) -> Info:
    """Two services that show the same `engine` judge alike."""
    service = service_of(request)
    settings = service.settings
    return Info(
        version=verifier_service.__version__,
        engine=service.backend.engine,
        pid=os.getpid(),
        limits=Limits(
            max_body_bytes=settings.max_body_bytes,
            max_items=settings.max_items,
            max_depth=MAX_DEPTH,
            deadline_s=settings.deadline_s,
            max_deadline_s=settings.max_deadline_s,
            item_cpu_s=settings.item_cpu_s,
            max_values=settings.max_values,
            queue_items=settings.queue_items,
            queue_s=settings.queue_s,
            rate_items=settings.rate_items,
            rate_mb=settings.rate_mb,
        ),
        profiles=dict(service.backend.profiles),
        default_profile=settings.profile,
    )


class State(BaseModel):
    """What a probe reads."""

    status: str


@router.get("/healthz", tags=["service"], summary="Whether the process answers")
async def healthz() -> State:
    return State(status="ok")


@router.get("/readyz", tags=["service"], summary="Whether a worker is ready", responses=_problems(503))
async def readyz(request: Request) -> State:
    service = service_of(request)
    check_started(service)
    if service.admission.draining:
        raise not_ready("the service is about to stop")
    if not service.backend.ready:
        raise not_ready("every worker is being replaced")
    return State(status="ready")


@router.get(
    "/stats", tags=["service"], summary="Counts since the start, as small JSON", responses=_problems(401)
)
async def stats(request: Request) -> dict[str, Any]:
    service = service_of(request)
    return {"engine": service.backend.engine, "ready": service.ready, **service.metrics.stats()}


@router.get(
    "/metrics",
    tags=["service"],
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"description": "Text exposition format.", "content": {"text/plain": {}}}},
)
async def metrics(request: Request) -> Response:
    return Response(service_of(request).metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})


def _decoded(service: Service, body: bytes) -> Batch:
    began = time.perf_counter()
    batch = service.decoder.score(body)
    service.metrics.body_decoded(len(body), time.perf_counter() - began)
    longest = service.settings.max_deadline_s
    if batch.deadline_s is not None and batch.deadline_s > longest:
        setting = variable("max_deadline_s")
        message = f"should be at most {longest:g} ({setting})"
        raise unprocessable("deadline_s", message, limit=longest, setting=setting)
    return batch


async def scored(service: Service, batch: Batch, profile: str | None) -> ScoreResponse:
    try:
        return await service.backend.score(
            batch.items,
            profile=profile if batch.profile is None else batch.profile,
            rules=batch.rules,
            deadline_s=batch.deadline_s,
            explain=batch.explain,
            echo_info=batch.echo_info,
        )
    except UnknownProfile as error:
        raise ProblemError(
            422,
            "unknown-profile",
            " ".join(str(error).split()),
            errors=[ProblemPath(path="profile", message="names no profile of this service")],
        ) from None
    except ProfileError as error:
        raise unprocessable("profile", str(error)) from None


def check_query(request: Request, known: set[str]) -> None:
    """A misspelt parameter must not pass for a default, no more than a misspelt key of the body."""
    for name in request.query_params:
        if name not in known:
            takes = f"takes {', '.join(sorted(known))}" if known else "takes no parameters"
            raise unprocessable(f"?{name[:60]}", f"is not a parameter; {request.url.path} {takes}")
    for name in known:
        if len(request.query_params.getlist(name)) > 1:
            raise unprocessable(f"?{name}", "is given more than once")


def unprocessable(path: str, message: str, **extra: Any) -> ProblemError:
    errors: Sequence[ProblemPath] = [ProblemPath(path=path, message=message)]
    return ProblemError(422, "invalid-request", f"{path} {message}", errors=errors, **extra)


def _json(model: BaseModel) -> Response:
    return JsonReply(model.model_dump_json().encode())
