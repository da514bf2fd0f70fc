"""How much one key may ask for: a token bucket for items and one for bytes, here or in Redis for all replicas.

A request is let through while there is anything in its buckets, and then takes out all that it costs, into
debt if need be. So a large batch is not starved by small ones, and over a minute nobody gets more than
the quota and one request.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verifier_service.redis_link import OPEN_S, Nonsense, RedisGone, RedisLink
from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import variable

if TYPE_CHECKING:
    from redis.asyncio import Redis

WINDOW_S = 60
DEGRADED = {"X-RateLimit-Degraded": "redis"}
PREFIX = "verifier:rate:"
OnFailure = Literal["fail_open", "fail_closed"]
# The same arithmetic as `Buckets.take`, with the clock of Redis, so that replicas need not agree on the time.
TAKE = """
local now = redis.call('TIME')
now = tonumber(now[1]) + tonumber(now[2]) / 1e6
local count = #ARGV / 3
local kept = redis.call('HMGET', KEYS[1], 'at', unpack(ARGV, 1, count))
local at = tonumber(kept[1] or '') or now
local left, allowed, full_in = {}, 1, 0
for place = 1, count do
  local most = tonumber(ARGV[count + place])
  local balance = (tonumber(kept[place + 1] or '') or most) + math.max(0, now - at) * most / WINDOW
  left[place] = math.min(most, balance)
  if left[place] <= 0 then allowed = 0 end
end
local reply = {allowed}
for place = 1, count do
  local most = tonumber(ARGV[count + place])
  if allowed == 1 then left[place] = left[place] - tonumber(ARGV[2 * count + place]) end
  full_in = math.max(full_in, (most - left[place]) * WINDOW / most)
  redis.call('HSET', KEYS[1], ARGV[place], string.format('%.17g', left[place]))
  reply[place + 1] = string.format('%.17g', left[place])
end
redis.call('HSET', KEYS[1], 'at', string.format('%.17g', now))
redis.call('EXPIRE', KEYS[1], math.ceil(full_in) + 1)
return reply
""".replace("WINDOW", str(WINDOW_S))

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Quota:
    """So much of something in a minute, for each key."""

    name: str
    most: int
    setting: str
    unit: str = ""  # as the draft of the header fields registers it

    @property
    def policy(self) -> str:
        return f'"{self.name}";q={self.most};w={WINDOW_S}' + (f';qu="{self.unit}"' if self.unit else "")


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether a request was let through, and what is left of each quota then; below zero it is debt."""

    allowed: bool
    left: tuple[float, ...]


@dataclass(slots=True)
class LimitStats:
    """Counts since the start. degraded: limited without Redis, though it is set.

    redis_up: whether Redis answered when last asked; None where it is not asked.
    """

    refused: int = 0
    degraded: int = 0
    unavailable: int = 0
    redis_up: bool | None = None


class Buckets:
    """Token buckets in memory. Keys are names that the service itself has given: there are few."""

    def __init__(self, quotas: Sequence[Quota], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._quotas = quotas
        self._clock = clock
        self._kept: dict[str, tuple[float, tuple[float, ...]]] = {}

    def take(self, key: str, costs: Sequence[float]) -> Taken:
        now = self._clock()
        at, kept = self._kept.get(key, (now, tuple(float(quota.most) for quota in self._quotas)))
        grown = [
            min(quota.most, balance + max(0.0, now - at) * quota.most / WINDOW_S)
            for quota, balance in zip(self._quotas, kept, strict=True)
        ]
        allowed = all(balance > 0 for balance in grown)
        left = tuple(balance - cost * allowed for balance, cost in zip(grown, costs, strict=True))
        self._kept[key] = now, left
        return Taken(allowed, left)


class Limiter:
    """The quotas of one app. `charge` and `check` raise ProblemError: 429, or 503 where it fails closed."""

    def __init__(
        self,
        quotas: Sequence[Quota],
        link: RedisLink | None,
        on_failure: OnFailure,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stats = LimitStats()
        self._quotas = tuple(quota for quota in quotas if quota.most)
        self._link = link
        self._on_failure = on_failure
        self._clock = clock
        self._buckets = Buckets(self._quotas, clock=clock)
        self._held: dict[str, tuple[float, tuple[float, ...]]] = {}

    def check(self, key: str) -> None:
        """Refuses at once who was refused a moment ago, before the body is read."""
        until, left = self._held.get(key, (0.0, ()))
        wait_s = until - self._clock()
        if wait_s > 0:
            raise self._refusal(left, wait_s, {})
        self._held.pop(key, None)

    async def charge(self, key: str, *, items: int, size: int) -> dict[str, str]:
        """Takes out what a request costs; the header fields that tell what is left."""
        if not self._quotas:
            return {}
        amounts = {"items": items, "bytes": size}
        taken, extra = await self._take(key, [amounts[quota.name] for quota in self._quotas])
        if not taken.allowed:
            wait_s = max(
                self._until(quota, left, 0) for quota, left in zip(self._quotas, taken.left, strict=True)
            )
            self._held[key] = self._clock() + wait_s, taken.left
            raise self._refusal(taken.left, wait_s, extra)
        return self._fields(taken.left, None) | extra

    async def close(self) -> None:
        if self._link is not None:
            await self._link.close()

    async def _take(self, key: str, costs: Sequence[float]) -> tuple[Taken, dict[str, str]]:
        if self._link is None:
            return self._buckets.take(key, costs), {}
        known = self._link.circuit.failing
        try:
            taken = await self._shared(self._link, key, costs)
            self.stats.redis_up = True
            return taken, {}
        except RedisGone as error:
            self.stats.redis_up = False
            if not known:
                log.warning("rate limits without Redis, %s: %s", self._on_failure, error)
        if self._on_failure == "fail_closed":
            self.stats.unavailable += 1
            detail = "rate limits cannot be checked, since Redis does not answer"
            raise ProblemError(503, "limiter-unavailable", detail, headers=_retry(OPEN_S) | DEGRADED)
        self.stats.degraded += 1
        return self._buckets.take(key, costs), DEGRADED

    async def _shared(self, link: RedisLink, key: str, costs: Sequence[float]) -> Taken:
        name = PREFIX + hashlib.sha256(key.encode()).hexdigest()[:32]
        arguments = [
            *(quota.name for quota in self._quotas),
            *(str(quota.most) for quota in self._quotas),
            *(str(cost) for cost in costs),
        ]

        async def taken(redis: "Redis") -> Taken:
            # EVAL and not EVALSHA: a Redis that was started again knows no script.
            return self._read(await redis.eval(TAKE, 1, name, *arguments))

        return await link.ask(taken)

    def _read(self, reply: Any) -> Taken:
        """What the script says. Raises Nonsense."""
        try:
            allowed, *left = map(float, reply)
        except (TypeError, ValueError):
            raise Nonsense("it should be a list of numbers") from None
        if len(left) != len(self._quotas) or not all(map(math.isfinite, left)):
            raise Nonsense("it should be a number for every quota")
        return Taken(allowed == 1, tuple(left))

    def _refusal(self, left: tuple[float, ...], wait_s: float, extra: dict[str, str]) -> ProblemError:
        self.stats.refused += 1
        spent = [quota for quota, rest in zip(self._quotas, left, strict=True) if rest <= 0]
        retry = _retry(wait_s)
        quotas = " and ".join(f"{quota.most} {quota.name}" for quota in spent)
        settings = " and ".join(variable(quota.setting) for quota in spent)
        problem = ProblemError(
            429,
            "quota-exceeded",
            f"this key has used up its quota of {quotas} in {WINDOW_S} s; ask again in {retry['Retry-After']} s,"
            f" or raise {settings}",
            headers=retry | self._fields(left, wait_s) | extra,
        )
        problem.extra["violated-policies"] = [quota.name for quota in spent]
        return problem

    def _fields(self, left: tuple[float, ...], wait_s: float | None) -> dict[str, str]:
        """RateLimit fields as in draft-ietf-httpapi-ratelimit-headers."""
        rests = [
            f'"{quota.name}";r={max(0, math.floor(rest))};t={self._reset(quota, rest, wait_s)}'
            for quota, rest in zip(self._quotas, left, strict=True)
        ]
        return {
            "RateLimit-Policy": ", ".join(quota.policy for quota in self._quotas),
            "RateLimit": ", ".join(rests),
        }

    def _reset(self, quota: Quota, rest: float, wait_s: float | None) -> int:
        """Seconds until the bucket is full again, or, for who was refused, until asking makes sense."""
        return math.ceil(self._until(quota, rest, quota.most) if wait_s is None else wait_s)

    @staticmethod
    def _until(quota: Quota, rest: float, wanted: float) -> float:
        return max(0.0, (wanted - rest) * WINDOW_S / quota.most)


def _retry(wait_s: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(wait_s)))}
