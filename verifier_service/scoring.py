"""One batch in the server process: profiles, deduplication, cache, dispatch, deadline, assembly."""

import asyncio
import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from verifier_service.cache import Cache
from verifier_service.choosing import Chooser, Chosen, Named
from verifier_service.engine import engine_fingerprint
from verifier_service.equivalence import GoldCheck
from verifier_service.equivalence.slow_path import TIMEOUT
from verifier_service.flights import Flights, Landing
from verifier_service.intake import gold_of, judge_item, question_of
from verifier_service.judge import Judgement
from verifier_service.packing import Unpackable, packed
from verifier_service.reading import item_info, item_warnings
from verifier_service.rewards.language_names import UnknownLanguage
from verifier_service.rewards.profile import Profile, ProfileError, UnknownProfile
from verifier_service.schema import (
    GoldQuery,
    GoldResult,
    GoldsResponse,
    InvalidItem,
    Item,
    ItemError,
    Result,
    RulesPatch,
    ScoreResponse,
    Verdict,
)
from verifier_service.shared_cache import SharedCache
from verifier_service.slow_verdicts import SlowVerdicts, asked_by
from verifier_service.workers import Call, Done, Outcome, WorkerPool

# Codes after which the same item may get a verdict if it is sent again.
RETRYABLE = frozenset({"queue_timeout", "deadline", "worker_lost"})
# A fault of ours is forgotten at once; a word of the clock may fall otherwise on a quieter machine.
NEVER_KEPT = frozenset({"internal"})
TIMEOUT_TTL_S = 60.0
# Items of a batch that are worked on in a row, a few milliseconds, before probes and others have their turn.
AT_A_TIME = 128


@dataclass(slots=True)
class _Task:
    """What is to be judged once, for all the places of the batch where it stands."""

    item: bytes  # packed
    chosen: Chosen
    places: list[tuple[int, str]] = field(default_factory=list)  # with the name of the profile there
    judgement: Judgement | None = None
    failure: ItemError | None = None
    cached: bool = False
    elapsed_ms: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.judgement is None and self.failure is None

    def recalled(self, judgement: Judgement | None) -> bool:
        """Takes what is known from before, if anything is; whether it is."""
        self.judgement = judgement
        self.cached = judgement is not None
        return self.cached

    def take(self, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self.judgement = outcome.value
        else:
            self.failure = _error(outcome.code, outcome.message)

    def landed(self, landing: Landing) -> None:
        """Takes what became of an equal item in another request, if it is in time and holds for both."""
        if not landing.done():
            self.failure = _error("deadline", "the request's time ended while an equal item was graded")
        elif (outcome := landing.result()) is not None:
            self.take(outcome)
            self.cached = self.judgement is not None


_Tasks = dict[bytes, _Task]


class Scorer:
    """Scores batches on a pool, in the pool's event loop.

    default_profile: of items for which nobody names one; data_sources: profile by an item's `data_source`.
    deadline_s: time of a request that names none, None for no end; max_deadline_s caps what one may name.
    slow_verdicts: for what only sympy can tell.
    shared: asked for what is not in `cache`, and told what is judged.
    Raises UnknownProfile where one of these names stands for nothing.
    """

    def __init__(
        self,
        pool: WorkerPool,
        cache: Cache,
        slow_verdicts: SlowVerdicts,
        profiles: Mapping[str, Profile],
        *,
        default_profile: str = "accuracy",
        data_sources: Mapping[str, str] | None = None,
        deadline_s: float | None = 10.0,
        max_deadline_s: float | None = None,
        shared: SharedCache[Judgement] | None = None,
    ) -> None:
        self._pool = pool
        self._shared = shared
        self._flights = Flights()
        self._cache = cache
        self._slow_verdicts = slow_verdicts
        self._default_profile = default_profile
        self._data_sources = data_sources or {}
        self.renew(profiles)
        self._deadline_s = deadline_s
        self._max_deadline_s = max_deadline_s

    def renew(self, profiles: Mapping[str, Profile]) -> None:
        """Takes these profiles from the next request on. Raises UnknownProfile, and then changes nothing."""
        self._chooser = Chooser(profiles, self._default_profile, self._data_sources)

    async def score(
        self,
        items: Sequence[Item | InvalidItem],
        *,
        profile: Named | None = None,
        rules: RulesPatch | None = None,
        deadline_s: float | None = None,
        explain: bool = False,
        echo_info: bool = False,
    ) -> ScoreResponse:
        """One result per item, in their order, whatever happens.

        profile: of the body, or else of the URL. Raises UnknownProfile or ProfileError for this one; a bad
        one of an item costs that item.
        """
        deadline = self._deadline(deadline_s)
        request = self._chooser.for_request(profile, rules)
        batch = _Batch(len(items), request)
        for place, item in enumerate(items):
            if place % AT_A_TIME == 0:
                await asyncio.sleep(0)
            if isinstance(item, InvalidItem):
                batch.refuse(place, item.message, item.id)
                continue
            try:
                chosen = self._chooser.for_item(item, request, profile, rules)
                batch.add(place, packed(judge_item(item, with_info=chosen.has_own_rewards)), chosen)
            except (UnknownProfile, ProfileError, UnknownLanguage, Unpackable) as error:
                batch.refuse(place, str(error), item.id)
        await self._judge(batch, deadline, explain)
        await asyncio.sleep(0)
        return batch.response(items, echo_info)

    async def check_golds(
        self, queries: Sequence[GoldQuery | InvalidItem], *, deadline_s: float | None = None
    ) -> GoldsResponse:
        """Whether items with these golds can be judged, under the default profile's rules."""
        deadline = self._deadline(deadline_s)
        results: list[GoldResult | None] = [_unasked(place, query) for place, query in enumerate(queries)]
        asked = [place for place, result in enumerate(results) if result is None]
        calls = [self._gold_call(cast("GoldQuery", queries[place])) for place in asked]
        outcomes = await self._pool.run(calls, deadline=deadline)
        for place, outcome in zip(asked, outcomes, strict=True):
            results[place] = _gold_result(place, outcome)
        return GoldsResponse(
            results=[result for result in results if result is not None], engine=engine_fingerprint()
        )

    def _deadline(self, asked_s: float | None) -> float | None:
        """The instant at which the request ends, by time.monotonic()."""
        budget = self._deadline_s if asked_s is None else asked_s
        if budget is None:
            return None
        return time.monotonic() + min(budget, self._max_deadline_s or budget)

    def _gold_call(self, query: GoldQuery) -> Call:
        rules = self._chooser.for_request(None, query.rules).profile.rules
        return Call("gold", (gold_of(query.gold), question_of(query.prompt), rules))

    async def _judge(self, batch: "_Batch", deadline: float | None, explain: bool) -> None:
        """Looks every item of the batch up, and sends to the pool what is not known yet."""
        if explain:
            # Nothing is kept and nothing is taken: explanations are long, and asked for once.
            await self._run(batch.tasks, deadline, explain=True)
            return
        unknown = {key: task for key, task in batch.tasks.items() if not task.recalled(self._remembered(key))}
        if unknown and self._shared is not None:
            unknown = await self._recall_shared(unknown, self._shared)
        while unknown:
            unknown = await self._fly(unknown, deadline)

    def _remembered(self, key: bytes) -> Judgement | None:
        packed = self._cache.get(key)
        return None if packed is None else pickle.loads(packed)

    async def _recall_shared(self, unknown: _Tasks, shared: SharedCache[Judgement]) -> _Tasks:
        found = await shared.get_many(list(unknown))
        for (key, task), judgement in zip(unknown.items(), found, strict=True):
            if judgement is not None and task.recalled(judgement):
                self._cache.put(key, _frozen(judgement))
        return {key: task for key, task in unknown.items() if task.judgement is None}

    async def _fly(self, unknown: _Tasks, deadline: float | None) -> _Tasks:
        """Judges what nobody else is judging now and waits for the rest; what is still to be judged then."""
        mine: _Tasks = {}
        theirs: dict[bytes, Landing] = {}
        for key, task in unknown.items():
            landing = self._flights.join(key)
            if landing is None:
                mine[key] = task
            else:
                theirs[key] = landing
        try:
            if mine:
                await self._run(mine, deadline)
        finally:
            self._flights.land_all(mine)
        if not theirs:
            return {}
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        await asyncio.wait(theirs.values(), timeout=left)
        for key, landing in theirs.items():
            unknown[key].landed(landing)
        return {key: unknown[key] for key in theirs if unknown[key].is_open}

    async def _run(self, tasks: _Tasks, deadline: float | None, *, explain: bool = False) -> None:
        """Has the tasks judged on the pool, and keeps what may be kept."""
        keys = list(tasks)
        calls = [Call("score", (task.item, task.chosen.profile, explain, ())) for task in tasks.values()]

        def tell(place: int, outcome: Outcome) -> None:
            if not explain and asked_by(outcome) is None:
                self._flights.arrived(keys[place], outcome)

        started = time.monotonic()
        outcomes = await self._pool.run(calls, deadline=deadline, on_done=tell)
        for place in await self._slow_verdicts.settle(calls, outcomes, deadline):
            tell(place, outcomes[place])
        elapsed_ms = (time.monotonic() - started) * 1000
        for (key, task), outcome in zip(tasks.items(), outcomes, strict=True):
            task.take(outcome)
            if task.judgement is None:
                task.elapsed_ms = elapsed_ms
            elif not explain:
                self._keep(key, task.judgement)

    def _keep(self, key: bytes, judgement: Judgement) -> None:
        if judgement.error_code in NEVER_KEPT:
            return
        by_clock = TIMEOUT in (judgement.error_code, judgement.reason)
        self._cache.put(key, _frozen(judgement), ttl_s=TIMEOUT_TTL_S if by_clock else None)
        if self._shared is not None and not by_clock:
            self._shared.put(key, judgement)


class _Batch:
    """A request on its way: what is to be judged, and at which places."""

    def __init__(self, size: int, request: Chosen) -> None:
        self.tasks: dict[bytes, _Task] = {}
        self._request = request
        self._results: list[Result | None] = [None] * size

    def refuse(self, place: int, message: str, item_id: str | int | None) -> None:
        self._results[place] = Result(
            id=item_id,
            index=place,
            status="error",
            reward=None,
            verdict=None,
            error=_error("invalid_item", message),
        )

    def add(self, place: int, item: bytes, chosen: Chosen) -> None:
        key = item_key(item, chosen)
        task = self.tasks.get(key)
        if task is None:
            task = self.tasks[key] = _Task(item, chosen)
        task.places.append((place, chosen.profile.name))

    def response(self, items: Sequence[Item | InvalidItem], echo_info: bool) -> ScoreResponse:
        """The results, each at its place; only once every task has a judgement or a failure."""
        for task in self.tasks.values():
            for place, profile in task.places:
                other = None if profile == self._request.profile.name else profile
                self._results[place] = _result(task, place, cast("Item", items[place]), other, echo_info)
        results = [result for result in self._results if result is not None]
        assert len(results) == len(items)
        return ScoreResponse(
            results=results,
            rewards=[result.reward for result in results],
            profile=self._request.profile.name,
            profile_hash=self._request.hash,
            engine=engine_fingerprint(),
            errors=sum(result.status == "error" for result in results),
        )


_UNJUDGED = Judgement(None, {}, {}, None, None, None, "")


def _result(task: _Task, place: int, item: Item, profile: str | None, echo_info: bool) -> Result:
    judged = task.judgement if task.judgement is not None else _UNJUDGED
    error = task.failure
    if judged.error_code is not None:
        error = _error(judged.error_code, judged.error_message)
    reused = task.cached or place != task.places[0][0]
    return Result(
        id=item.id,
        index=place,
        status="ok" if error is None else "error",
        reward=judged.reward,
        components=judged.components,
        scores=judged.scores,
        verdict=cast("Verdict | None", judged.verdict),
        extracted=judged.extracted,
        method=judged.method,
        reason=judged.reason,
        cached=reused,
        elapsed_ms=0.0 if reused else judged.elapsed_ms or task.elapsed_ms,
        warnings=[*item_warnings(item), *judged.warnings],
        error=error,
        profile=profile,
        info=item_info(item) if echo_info else None,
        explanation=judged.explanation,
    )


def item_key(item: bytes, chosen: Chosen) -> bytes:
    """Equal for items that are judged alike: engine, profile and every field that bears on the reward."""
    digest = chosen.digest.copy()
    digest.update(item)
    return bytes(digest.digest())


def _frozen(judgement: Judgement) -> bytes:
    return pickle.dumps(judgement, pickle.HIGHEST_PROTOCOL)


def _error(code: str, message: str) -> ItemError:
    return ItemError(code=code, message=message, retryable=code in RETRYABLE)


def _unasked(place: int, query: GoldQuery | InvalidItem) -> GoldResult | None:
    """The result of a query that needs no worker, None for one that does."""
    if isinstance(query, InvalidItem):
        return GoldResult(index=place, ok=False, code="invalid_item", reason=query.message)
    if query.gold is None:
        return GoldResult(index=place, ok=False, code="missing_input", reason="there is no gold")
    return None


def _gold_result(place: int, outcome: Outcome) -> GoldResult:
    if isinstance(outcome, Done):
        check: GoldCheck = outcome.value
        return GoldResult(index=place, ok=check.ok, kind=check.kind, code=check.code, reason=check.reason)
    # A gold too heavy to be read is one that no answer can be held against.
    code = "unverifiable_gold" if outcome.code == TIMEOUT else outcome.code
    return GoldResult(index=place, ok=False, code=code, reason=outcome.message)
