"""The backend of a real service: worker pool, cache, profiles and scorer, as the settings say."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from verifier_service.cache import MB, Cache
from verifier_service.engine import engine_fingerprint
from verifier_service.redis_link import RedisLink
from verifier_service.rewards.profile import Profile, ProfileError, UnknownProfile, load_profiles
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
from verifier_service.scoring import Scorer
from verifier_service.server.backend import Figures
from verifier_service.server.settings import Settings
from verifier_service.shared_cache import (
    JUDGEMENTS,
    SLOW_VERDICTS,
    Form,
    SharedCache,
    SharedStats,
    ValueT,
)
from verifier_service.slow_verdicts import SHARE, SlowVerdicts
from verifier_service.workers import WorkerPool

log = logging.getLogger(__name__)


class JudgeBackend:
    """Implements `Backend`. Raises UnknownProfile or ProfileError where the settings ask for one."""

    def __init__(self, settings: Settings) -> None:
        profiles = load_profiles(settings.profiles)
        self.engine = engine_fingerprint()
        self.profiles: Mapping[str, ProfileInfo] = _infos(profiles)
        self._folder = settings.profiles
        self._pool = WorkerPool(
            settings.workers,
            item_cpu_s=settings.item_cpu_s,
            memory_mb=settings.memory_mb,
            recycle_after=settings.recycle_after,
        )
        budget = settings.cache_mb * MB
        self._slow_cache = Cache(budget // SHARE)
        self._cache = Cache(budget - budget // SHARE)
        self._shared = _shared_cache(settings, self.engine, JUDGEMENTS, SharedStats())
        self._slow_shared = None
        if self._shared is not None:
            self._slow_shared = _shared_cache(settings, self.engine, SLOW_VERDICTS, self._shared.stats)
        self._scorer = Scorer(
            self._pool,
            self._cache,
            SlowVerdicts(self._pool, self._slow_cache, self._slow_shared),
            profiles,
            default_profile=settings.profile,
            data_sources=settings.data_sources,
            deadline_s=settings.deadline_s,
            max_deadline_s=settings.max_deadline_s,
            shared=self._shared,
        )

    @property
    def ready(self) -> bool:
        return self._pool.stats.ready > 0

    @property
    def backlog_s(self) -> float:
        return self._pool.backlog_s

    async def start(self) -> None:
        await self._pool.start()

    async def close(self) -> None:
        await self._pool.close()
        for shared in (self._shared, self._slow_shared):
            if shared is not None:
                await shared.close()

    def hurry(self, within_s: float) -> None:
        self._pool.hurry(within_s)

    def renew(self) -> None:
        try:
            profiles = load_profiles(self._folder)
            self._scorer.renew(profiles)
        except (UnknownProfile, ProfileError, OSError) as error:
            log.error("the profiles stay as they were: %s", error)
            return
        self.profiles = _infos(profiles)
        log.info("profiles read again: %s", ", ".join(profiles))

    async def score(
        self,
        items: Sequence[Item | InvalidItem],
        *,
        profile: str | ProfileSpec | None,
        rules: RulesPatch | None,
        deadline_s: float | None,
        explain: bool,
        echo_info: bool,
    ) -> ScoreResponse:
        return await self._scorer.score(
            items,
            profile=profile,
            rules=rules,
            deadline_s=deadline_s,
            explain=explain,
            echo_info=echo_info,
        )

    async def check_golds(self, queries: Sequence[GoldQuery | InvalidItem]) -> GoldsResponse:
        return await self._scorer.check_golds(queries)

    def figures(self) -> Figures:
        pool = self._pool.stats
        return Figures(
            workers={
                "size": pool.size,
                "ready": pool.ready,
                "busy": pool.busy,
                "slow": pool.slow,
                "queued_calls": pool.queued,
            },
            worker_events={
                "calls": pool.calls,
                "retries": pool.retries,
                "births": pool.births,
                "recycled": pool.recycled,
            },
            kills=dict(pool.kills),
            cache=asdict(self._cache.stats),
            slow_cache=asdict(self._slow_cache.stats),
            waits=self._pool.waits,
            shared=asdict(self._shared.stats) if self._shared is not None else {},
            redis_up=self._shared.up if self._shared is not None else None,
        )


def redis_link(settings: Settings) -> RedisLink | None:
    """A link of one's own to the Redis of the settings, if they name one."""
    if settings.redis_url is None:
        return None
    return RedisLink(settings.redis_url.get_secret_value(), settings.redis_timeout_s)


def _shared_cache(
    settings: Settings, engine: str, form: Form[ValueT], stats: SharedStats
) -> SharedCache[ValueT] | None:
    reading, writing = redis_link(settings), redis_link(settings)
    if reading is None or writing is None:
        return None
    return SharedCache(reading, writing, form, engine=engine, ttl_s=settings.redis_ttl_s, stats=stats)


def _infos(profiles: Mapping[str, Profile]) -> dict[str, ProfileInfo]:
    return {name: _profile_info(profile) for name, profile in profiles.items()}


def _profile_info(profile: Profile) -> ProfileInfo:
    return ProfileInfo(hash=profile.hash, rewards={reward.name: reward.weight for reward in profile.rewards})
