"""Errors of a whole request, as RFC 9457 problem documents. What goes wrong with one item is not one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from verifier_service.schema import ProblemPath

MEDIA_TYPE = "application/problem+json"
# Stable names of the problems, documented in docs/api.md; the titles may change.
TITLES = {
    "bad-request": "The request cannot be understood",
    "head-too-large": "The head of the request is larger than this service takes",
    "head-too-slow": "The head of the request did not come in time",
    "unauthorized": "A valid API key is needed",
    "not-found": "No such route",
    "method-not-allowed": "The route does not take this method",
    "body-too-large": "The body is larger than this service takes",
    "body-too-slow": "The body did not come in time",
    "too-many-items": "The request holds more items than this service takes",
    "too-many-values": "The body holds more values than this service takes",
    "unsupported-media-type": "The body should be JSON",
    "invalid-body": "The body cannot be decoded",
    "invalid-request": "The request does not have the right shape",
    "unknown-profile": "There is no such profile",
    "no-verdict": "The answer could not be judged",
    "not-ready": "The service is not ready yet",
    "quota-exceeded": "This key has asked for more than its share",
    "limiter-unavailable": "Rate limits cannot be checked now",
    "overloaded": "There is no room for more work now",
    "draining": "The service is about to stop",
    "internal": "The service failed; this is its fault, not yours",
}


class ProblemError(Exception):
    """Ends a request with a problem document."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        *,
        errors: Sequence[ProblemPath] = (),
        headers: Mapping[str, str] | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.name = name
        self.detail = detail
        self.errors = errors
        self.headers = headers
        self.extra = extra


def problem_type(name: str) -> str:
    return f"urn:verifier-service:problem:{name}"


def request_id_of(scope: Mapping[str, Any]) -> str:
    found = scope.get("state", {}).get("request_id", "")
    return found if isinstance(found, str) else ""


def problem_response(problem: ProblemError, request_id: str) -> Response:
    document: dict[str, Any] = {
        "type": problem_type(problem.name),
        "title": TITLES[problem.name],
        "status": problem.status,
        "detail": problem.detail,
        "request_id": request_id,
    }
    if problem.errors:
        document["errors"] = [error.model_dump() for error in problem.errors]
    document |= problem.extra
    # ASCII only: whatever the sender put into a key or a name can be encoded.
    body = json.dumps(document, ensure_ascii=True, allow_nan=False).encode()
    headers = dict(problem.headers or {})
    if request_id:
        headers.setdefault("X-Request-Id", request_id)
    return Response(body, status_code=problem.status, headers=headers, media_type=MEDIA_TYPE)


async def on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(error, request_id_of(request.scope))


async def on_http_error(request: Request, error: Exception) -> Response:
    """What the framework itself refuses: unknown routes, wrong methods."""
    assert isinstance(error, HTTPException)
    name = {404: "not-found", 405: "method-not-allowed", 401: "unauthorized"}.get(
        error.status_code, "internal" if error.status_code >= 500 else "bad-request"
    )
    detail = {
        404: f"there is nothing at {request.url.path[:200]}; the routes are listed at /docs",
        405: f"{request.method} is not taken at {request.url.path[:200]}",
    }.get(error.status_code, str(error.detail))
    problem = ProblemError(error.status_code, name, detail, headers=error.headers)
    return problem_response(problem, request_id_of(request.scope))


async def on_disconnect(request: Request, error: Exception) -> Response:
    """The sender hung up: nobody reads this answer, and it is no fault of the service."""
    problem = ProblemError(400, "bad-request", "the connection was closed before there was a reply")
    return problem_response(problem, request_id_of(request.scope))


async def on_fault(request: Request, error: Exception) -> Response:
    """Anything unforeseen: the caller learns the request id, the log has the rest."""
    detail = "an unforeseen error; the log of the service has it under this request id"
    return problem_response(ProblemError(500, "internal", detail), request_id_of(request.scope))


HANDLERS: dict[int | type[Exception], Any] = {
    ProblemError: on_problem,
    HTTPException: on_http_error,
    ClientDisconnect: on_disconnect,
    Exception: on_fault,
}
