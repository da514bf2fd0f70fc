"""Asks the verifier service, in the background, while the engine goes on generating.

Three outcomes: right, wrong, no verdict. The last is never turned into a zero here: a service that is away
is waited for, an item that it could not judge is asked again, and what stays without a verdict leaves the
group's baseline.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from grpo_trainer.background import Background
from grpo_trainer.config import RewardConfig
from grpo_trainer.loading import ConfigError
from verifier_service.client import AsyncClient, RequestRefused, ServiceUnreachable, UnexpectedReply
from verifier_service.schema import GoldQuery, GoldsResponse, Info, Outcome, Result, ScoreResponse

Item = Mapping[str, Any]
Notify = Callable[[str], None]
T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 5.0
ITEM_TRIES = 3
REPLY_TRIES = 3
PASSING = frozenset({429, 500, 502, 503, 504})
"""Statuses of a service that is full, stopping, or behind a proxy that cannot reach it: wait and ask again."""


class VerdictError(RuntimeError):
    """The service cannot be used any longer; the message says what to do."""


class EngineChanged(VerdictError):
    """The service judges with other code than when the run began."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """reward: None where there is no verdict.  outcome: of accuracy alone.  code: why there is no verdict."""

    reward: float | None
    outcome: Outcome
    scores: Mapping[str, float | None] = field(default_factory=dict)
    components: Mapping[str, float] = field(default_factory=dict)
    extracted: str | None = None
    reason: str = ""
    code: str | None = None

    @property
    def judged(self) -> bool:
        return self.reward is not None


class Judging(Protocol):
    """What the sampler needs of a judge."""

    def submit(self, items: Sequence[Item]) -> "Future[list[Verdict]]": ...


@dataclass(slots=True)
class JudgeCounts:
    """What has happened between trainer and service since the start of the run."""

    requests: int = 0
    retries: int = 0
    items: int = 0
    items_again: int = 0
    outages: int = 0
    outage_s: float = 0.0
    engine_changes: int = 0
    latency_s: float = 0.0


class Judge:
    """A client of the service with an event loop of its own, in a thread.

    notify: told, in words for people, when the service goes away and when it is back.
    client: by default one for reward.url. Raises ConfigError where no address is given.
    """

    def __init__(
        self,
        config: RewardConfig,
        notify: Notify = print,
        *,
        client: AsyncClient | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.config = config
        self.counts = JudgeCounts()
        self.engine: str | None = None
        self.profile_hash: str | None = None
        self._client = client or _client_for(config)
        self._notify = notify
        self._clock = clock
        self._down_since: float | None = None
        self._gate = asyncio.Semaphore(config.in_flight)
        self._background = Background("verdicts")

    @property
    def url(self) -> str:
        return self._client.url

    def submit(self, items: Sequence[Item]) -> "Future[list[Verdict]]":
        """Asks for verdicts on a group, and returns at once. One verdict per item, in their order."""
        return self._background.start(self._score(list(items)))

    def check_golds(self, golds: Sequence[GoldQuery]) -> GoldsResponse:
        """Which golds can be judged; waits for the service as a run does."""
        return self._background.start(self._patiently(lambda: self._client.check_golds(golds))).result()

    def info(self) -> Info:
        """What the service is. Raises ServiceUnreachable at once: a run should not begin by waiting."""
        return self._background.start(self._client.info()).result()

    def expect(self, engine: str | None) -> None:
        """The engine that earlier steps of this run were judged by."""
        self.engine = engine

    def close(self) -> None:
        """Nobody waits for what is still being asked."""
        self._background.close(self._client.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _score(self, items: list[Item]) -> list[Verdict]:
        """Verdicts on a group; items that failed for a passing reason are asked again, a few times."""
        async with self._gate:
            self.counts.items += len(items)
            results: dict[int, Result] = {}
            todo = list(range(len(items)))
            for attempt in range(1, ITEM_TRIES + 1):
                reply = await self._patiently(lambda: self._ask([items[place] for place in todo]))  # noqa: B023
                results.update(zip(todo, reply.results, strict=True))
                todo = [place for place in todo if _worth_another_try(results[place])]
                if not todo or attempt == ITEM_TRIES:
                    break
                self.counts.items_again += len(todo)
                await asyncio.sleep(_pause(attempt))
            return [verdict_from(results[place]) for place in range(len(items))]

    async def _ask(self, items: list[Item]) -> ScoreResponse:
        started = self._clock()
        self.counts.requests += 1
        reply = await self._client.score(items, profile=self.config.profile, rules=self._rules())
        self.counts.latency_s += self._clock() - started
        self._check_engine(reply)
        return reply

    def _rules(self) -> dict[str, Any] | None:
        return self.config.rules.model_dump(exclude_none=True) or None

    async def _patiently(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The reply, however long the service is away, up to reward.outage_s."""
        attempt = odd = 0
        while True:
            try:
                reply = await ask()
            except ServiceUnreachable as error:
                why, wait = str(error), None
            except RequestRefused as error:
                if error.status not in PASSING:
                    raise VerdictError(f"the service at {self.url} refuses the request: {error}") from error
                why, wait = str(error), error.retry_after_s
            except UnexpectedReply as error:
                odd += 1
                if odd >= REPLY_TRIES:
                    raise VerdictError(str(error)) from error
                why, wait = str(error), None
            else:
                self._is_back()
                return reply
            attempt += 1
            self.counts.retries += 1
            self._is_away(why)
            await asyncio.sleep(max(_pause(attempt), min(wait or 0.0, LONGEST_PAUSE_S)))

    def _is_away(self, why: str) -> None:
        now = self._clock()
        if self._down_since is None:
            self._down_since = now
            self.counts.outages += 1
            self._notify(f"the verifier does not answer, the run waits: {why}")
        if now - self._down_since > self.config.outage_s:
            raise VerdictError(
                f"no verdicts for {now - self._down_since:.0f} s (reward.outage_s): {why}. Start the service "
                "again, then go on from the last checkpoint with --resume"
            )

    def _is_back(self) -> None:
        if self._down_since is not None:
            away = self._clock() - self._down_since
            self.counts.outage_s += away
            self._down_since = None
            self._notify(f"the verifier answers again after {away:.1f} s; nothing was lost")

    def _check_engine(self, reply: ScoreResponse) -> None:
        if self.engine is not None and reply.engine != self.engine:
            self.counts.engine_changes += 1
            words = f"the verifier's engine changed from {self.engine} to {reply.engine}"
            if self.config.on_engine_change == "stop":
                raise EngineChanged(
                    f"{words}: rewards before and after may differ. Serve the old version again, or accept the "
                    "change with reward.on_engine_change=continue"
                )
            self._notify(f"{words}; the run goes on, as reward.on_engine_change says")
        self.engine, self.profile_hash = reply.engine, reply.profile_hash


def _client_for(config: RewardConfig) -> AsyncClient:
    try:
        # Without retries of its own: the patience of the judge outlasts the service, and tells people so.
        return AsyncClient(config.url, timeout_s=config.timeout_s, retries=0)
    except ValueError as error:
        raise ConfigError([f"reward.url: {error}"]) from None


def verdict_from(result: Result) -> Verdict:
    """What a trainer keeps of a result."""
    code = None if result.error is None else result.error.code
    reason = result.reason if result.error is None else result.error.message
    return Verdict(
        result.reward, result.outcome, result.scores, result.components, result.extracted, reason, code
    )


def _worth_another_try(result: Result) -> bool:
    return result.error is not None and result.error.retryable


def _pause(attempt: int) -> float:
    return min(FIRST_PAUSE_S * 2.0 ** (attempt - 1), LONGEST_PAUSE_S)
