"""A judge that is not one, and the means to speak to the app before it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.testclient import TestClient

from verifier_service.reading import item_info, item_warnings
from verifier_service.rewards.profile import UnknownProfile
from verifier_service.schema import (
    GoldQuery,
    GoldResult,
    GoldsResponse,
    InvalidItem,
    Item,
    ItemError,
    ProfileInfo,
    Result,
    ScoreResponse,
)
from verifier_service.server.backend import Figures

PROFILES = {
    "accuracy": ProfileInfo(hash="a1", rewards={"accuracy": 1.0}),
    "r1-zero": ProfileInfo(hash="b2", rewards={"accuracy": 1.0, "format": 1.0}),
}


@dataclass
class FakeBackend:
    """Pays a completion that contains its gold. Remembers what it was asked."""

    engine: str = "fake-engine"
    profiles: Mapping[str, ProfileInfo] = field(default_factory=lambda: dict(PROFILES))
    ready: bool = True
    backlog_s: float = 0.0
    start_error: Exception | None = None
    never_starts: bool = False
    fault: Exception | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    closed: bool = False
    gate: asyncio.Event | None = None  # where there is one, nothing is scored before it is set
    abandoned: int = 0
    hurried: float | None = None
    renewed: int = 0

    async def start(self) -> None:
        if self.never_starts:
            await asyncio.Event().wait()
        if self.start_error is not None:
            raise self.start_error

    async def close(self) -> None:
        self.closed = True

    def hurry(self, within_s: float) -> None:
        self.hurried = within_s

    def renew(self) -> None:
        self.renewed += 1

    async def score(self, items: Sequence[Item | InvalidItem], **options: Any) -> ScoreResponse:
        if self.fault is not None:
            raise self.fault
        self.asked.append({"items": items, **options})
        await self._pass_gate()
        profile = options["profile"] or "accuracy"
        name = profile if isinstance(profile, str) else "inline"
        if name not in {*self.profiles, "inline"}:
            raise UnknownProfile(name, self.profiles)
        results = [_result(place, item, options["echo_info"]) for place, item in enumerate(items)]
        return ScoreResponse(
            results=results,
            rewards=[result.reward for result in results],
            profile=name,
            profile_hash="a1",
            engine=self.engine,
            errors=sum(result.status == "error" for result in results),
        )

    async def _pass_gate(self) -> None:
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.abandoned += 1
            raise

    async def check_golds(self, queries: Sequence[GoldQuery | InvalidItem]) -> GoldsResponse:
        results = [
            GoldResult(index=place, ok=False, code="invalid_item", reason=query.message)
            if isinstance(query, InvalidItem)
            else GoldResult(index=place, ok=True, kind="number")
            for place, query in enumerate(queries)
        ]
        return GoldsResponse(results=results, engine=self.engine)

    def figures(self) -> Figures:
        return Figures(workers={"ready": 2}, kills={"cpu": 3}, cache={"hits": 5, "entries": 1})


def _result(place: int, item: Item | InvalidItem, echo_info: bool) -> Result:
    if isinstance(item, InvalidItem):
        error = ItemError(code="invalid_item", message=item.message, retryable=False)
        return Result(id=item.id, index=place, status="error", reward=None, verdict=None, error=error)
    right = str(item.gold) in str(item.completion)
    return Result(
        id=item.id,
        index=place,
        status="ok",
        reward=float(right),
        components={"accuracy": float(right)},
        scores={"accuracy": float(right)},
        verdict="correct" if right else "incorrect",
        method="exact",
        elapsed_ms=2.0,
        warnings=item_warnings(item),
        info=item_info(item) if echo_info else None,
    )


Started = Callable[..., TestClient]


def post(client: TestClient, body: bytes, path: str = "/score", **headers: str) -> httpx.Response:
    """Sends exactly these bytes."""
    sent = {"content-type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
    return client.post(path, content=body, headers=sent)


@asynccontextmanager
async def in_loop(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client in the event loop of the app, which has started; for requests that are under way together."""
    async with app.router.lifespan_context(app):
        await asyncio.sleep(0)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            yield client
