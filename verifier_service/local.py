"""The client's interface without a server: the judge in this machine's own worker processes."""

import asyncio
import atexit
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from pydantic import BaseModel

from verifier_service import __version__
from verifier_service.cache import MB, Cache
from verifier_service.engine import engine_fingerprint
from verifier_service.reading import MAX_DEPTH, read_gold, read_item
from verifier_service.rewards.profile import load_profiles
from verifier_service.schema import (
    GOLD_NAMES,
    GoldQuery,
    GoldsResponse,
    Info,
    Limits,
    ProfileInfo,
    ProfileSpec,
    RulesPatch,
    ScoreResponse,
)
from verifier_service.scoring import Scorer
from verifier_service.slow_verdicts import SHARE, SlowVerdicts
from verifier_service.workers import WorkerPool

ResultT = TypeVar("ResultT")

NO_LIMIT = sys.maxsize
WIND_UP_S = 5.0


class LocalClient:
    """Scores in process: the methods of `client.Client`, no HTTP.

        with LocalClient() as judge:
            print(judge.score([{"completion": r"\\boxed{5}", "gold": "5"}]).rewards)

    Safe to call from any thread, of one process: after a fork the child needs a client of its own. Model
    text is read in worker processes only, which never import the caller's main module, so that a script
    needs no `if __name__ == "__main__"`. No text can stop the caller; items have their own limits of CPU
    time and memory, and a batch ends by `deadline_s` only where one is given.

    workers: processes at work, by default one per core.  profile: of batches that name none.
    profiles: a folder with profiles of one's own.  data_sources: profile by an item's `data_source`.
    cache_mb: memory for the judgements of items seen before, 0 for none.
    Raises UnknownProfile or ProfileError, and PoolStartError where the workers do not start.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        profile: str = "accuracy",
        profiles: Path | str | None = None,
        data_sources: Mapping[str, str] | None = None,
        item_cpu_s: float = 1.5,
        memory_mb: int = 1024,
        cache_mb: int = 64,
    ) -> None:
        self._profiles = load_profiles(None if profiles is None else Path(profiles))
        self._default = profile
        self._pid = os.getpid()
        self._item_cpu_s = item_cpu_s
        self._pool = WorkerPool(workers or _cores(), item_cpu_s=item_cpu_s, memory_mb=memory_mb)
        budget = cache_mb * MB
        self._scorer = Scorer(
            self._pool,
            Cache(budget - budget // SHARE),
            SlowVerdicts(self._pool, Cache(budget // SHARE)),
            self._profiles,
            default_profile=profile,
            data_sources=data_sources,
            deadline_s=None,
        )
        self._closed = False
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="verifier-local", daemon=True)
        self._thread.start()
        atexit.register(self.close)
        try:
            self._run(self._pool.start)
        except BaseException:
            self.close()
            raise

    def score(
        self,
        items: Sequence[Any],
        *,
        profile: str | ProfileSpec | Mapping[str, Any] | None = None,
        rules: RulesPatch | Mapping[str, Any] | None = None,
        deadline_s: float | None = None,
        explain: bool = False,
        echo_info: bool = False,
    ) -> ScoreResponse:
        """One result per item, in their order; a bad item costs that item.

        items: `schema.Item` or mappings of the same shape.
        Raises UnknownProfile, ProfileError or pydantic's ValidationError for the arguments beside them.
        """
        read = [read_item(_plain(item), f"items[{place}]") for place, item in enumerate(items)]
        named = ProfileSpec.model_validate(profile) if isinstance(profile, Mapping) else profile
        patch = None if rules is None else RulesPatch.model_validate(rules)
        return self._run(
            lambda: self._scorer.score(
                read,
                profile=named,
                rules=patch,
                deadline_s=deadline_s,
                explain=explain,
                echo_info=echo_info,
            )
        )

    def check_golds(self, golds: Sequence[Any]) -> GoldsResponse:
        """Which golds can be judged, and why not.

        golds: `schema.GoldQuery`, mappings of the same shape, or bare golds: strings and numbers.
        """
        queries = [
            read_gold(_plain(gold) if _is_query(gold) else {"gold": gold}, f"golds[{place}]")
            for place, gold in enumerate(golds)
        ]
        return self._run(lambda: self._scorer.check_golds(queries))

    def info(self) -> Info:
        """What a service would say at /info; a limit that does not exist here is shown as a huge number."""
        limits = Limits(
            max_body_bytes=NO_LIMIT,
            max_items=NO_LIMIT,
            max_depth=MAX_DEPTH,
            deadline_s=NO_LIMIT,
            max_deadline_s=NO_LIMIT,
            item_cpu_s=self._item_cpu_s,
        )
        profiles = {
            name: ProfileInfo(
                hash=profile.hash, rewards={reward.name: reward.weight for reward in profile.rewards}
            )
            for name, profile in self._profiles.items()
        }
        return Info(
            version=__version__,
            engine=engine_fingerprint(),
            pid=self._pid,
            limits=limits,
            profiles=profiles,
            default_profile=self._default,
        )

    def close(self) -> None:
        """Ends the workers. Batches under way in other threads come back with "worker_lost"."""
        with self._lock:
            if self._closed or os.getpid() != self._pid:
                return
            self._closed = True
        atexit.unregister(self.close)
        asyncio.run_coroutine_threadsafe(self._wind_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _wind_up(self) -> None:
        """Closes the pool, and lets the batches that this ends reach their callers."""
        await self._pool.close()
        others = asyncio.all_tasks() - {cast("asyncio.Task[Any]", asyncio.current_task())}
        if others:
            await asyncio.wait(others, timeout=WIND_UP_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
        """Does the work in the loop's thread and waits for it."""
        if os.getpid() != self._pid:
            raise RuntimeError("a LocalClient cannot be used after a fork; make one in the child")
        with self._lock:  # close() may not stop the loop between the check and the call
            if self._closed:
                raise RuntimeError("this LocalClient is closed")
            future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C in the caller's thread: the work must not go on unseen
            future.cancel()
            raise


def _plain(value: object) -> object:
    """Models and other mappings as the dictionaries that are read."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    return dict(value) if isinstance(value, Mapping) else value


def _is_query(gold: object) -> bool:
    return isinstance(gold, GoldQuery) or (
        isinstance(gold, Mapping) and any(name in gold for name in GOLD_NAMES)
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
