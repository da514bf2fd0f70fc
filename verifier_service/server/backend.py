"""What stands behind the routes: the workers, the cache and the scorer, built from the settings."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from verifier_service.schema import (
    GoldQuery,
    GoldsResponse,
    InvalidItem,
    Item,
    ProfileInfo,
    ProfileSpec,
    RulesPatch,
    ScoreResponse,
)
from verifier_service.spread import Spread

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of the workers and the cache, for /metrics and /stats."""

    workers: Mapping[str, int] = field(default_factory=dict)  # by state, of the moment
    worker_events: Mapping[str, int] = field(default_factory=dict)  # since the start
    kills: Mapping[str, int] = field(default_factory=dict)  # by reason
    cache: Mapping[str, int] = field(default_factory=dict)
    slow_cache: Mapping[str, int] = field(default_factory=dict)  # of what only sympy could tell
    shared: Mapping[str, int] = field(default_factory=dict)  # cache in Redis: events since the start
    waits: Spread = field(default_factory=Spread)  # seconds from a batch's arrival to its first worker
    redis_up: bool | None = None  # whether Redis answered when last asked; None where there is none


class Backend(Protocol):
    """All that the routes need. Tests put a fake in its place."""

    @property
    def engine(self) -> str: ...

    @property
    def profiles(self) -> Mapping[str, ProfileInfo]: ...

    @property
    def ready(self) -> bool:
        """Whether there is a worker."""

    @property
    def backlog_s(self) -> float:
        """Seconds until what has been taken is judged, as far as can be told."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def hurry(self, within_s: float) -> None:
        """What is not judged by then comes back as a null that may be sent again."""

    def renew(self) -> None:
        """Reads the profiles again; ones that cannot be read stay as they were."""

    async def score(
        self,
        items: Sequence[Item | InvalidItem],
        *,
        profile: str | ProfileSpec | None,
        rules: RulesPatch | None,
        deadline_s: float | None,
        explain: bool,
        echo_info: bool,
    ) -> ScoreResponse: ...

    async def check_golds(self, queries: Sequence[GoldQuery | InvalidItem]) -> GoldsResponse: ...

    def figures(self) -> Figures: ...


class Starter:
    """Starts the backend beside the event loop, so that the probes answer while the workers are born."""

    def __init__(self, backend: Backend, on_failure: Callable[[], None]) -> None:
        self._backend = backend
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None
        self.failure = ""

    @property
    def started(self) -> bool:
        """Whether there were workers once; from then on a batch waits in the queue while one is replaced."""
        return self._task is not None and self._task.done() and not self.failure

    def begin(self) -> None:
        self._task = asyncio.create_task(self._backend.start())
        self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or error is not None:
            self.failure = str(error) if error else "the start was cancelled"
        if error is not None:
            log.critical("the workers could not be started", exc_info=error)
            self._on_failure()

    async def end(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        await self._backend.close()
