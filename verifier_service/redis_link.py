"""The way to Redis: a client that never waits long, and a circuit that stays open while there is nobody."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from redis.asyncio import Redis

ResultT = TypeVar("ResultT")

OPEN_S = 2.0
CONNECTIONS = 8


class RedisMissing(RuntimeError):
    """The library that speaks to Redis is not installed."""


class RedisAddressError(ValueError):
    """What is set for the address of Redis is none. The message does not repeat it: it may hold a password."""


class RedisGone(Exception):
    """Redis did not answer, or not in time, or refused; or it did so lately and is not asked now."""


class Nonsense(ValueError):
    """An answer that Redis does not give to this question: something else listens there."""


class Circuit:
    """Open for a while after a failure; then one caller may try, and the others wait for what it finds."""

    def __init__(self, open_s: float = OPEN_S, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._open_s = open_s
        self._clock = clock
        self._open_until = 0.0
        self.failing = False

    def may_try(self) -> bool:
        if not self.failing:
            return True
        if self._clock() < self._open_until:
            return False
        self._open_until = self._clock() + self._open_s
        return True

    def succeeded(self) -> None:
        self.failing = False

    def failed(self) -> None:
        self.failing = True
        self._open_until = self._clock() + self._open_s


class RedisLink:
    """One Redis, asked under a time limit. Raises RedisMissing or RedisAddressError."""

    def __init__(self, url: str, timeout_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.client = _client(url, timeout_s)
        self.circuit = Circuit(clock=clock)
        self._timeout_s = timeout_s

    async def ask(self, question: Callable[["Redis"], Awaitable[ResultT]]) -> ResultT:
        """The answer. Raises RedisGone, at once while the circuit is open. The question may raise Nonsense."""
        from redis.exceptions import RedisError

        if not self.circuit.may_try():
            raise RedisGone("Redis was gone a moment ago")
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await question(self.client)
        except (RedisError, OSError, TimeoutError, UnicodeError, Nonsense) as error:
            self.circuit.failed()
            raise RedisGone(f"{type(error).__name__}: {error}") from error
        self.circuit.succeeded()
        return answer

    async def close(self) -> None:
        await self.client.aclose()


def _client(url: str, timeout_s: float) -> "Redis":
    try:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.connection import parse_url
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ModuleNotFoundError as missing:
        raise RedisMissing(
            f'a Redis is set, which needs {missing.name}: pip install "verifier-service[redis]"'
        ) from None
    try:
        parse_url(url)
    except ValueError:
        raise RedisAddressError(
            "the address of Redis (VERIFIER_REDIS_URL) should be like redis://:PASSWORD@HOST:6379/0, with %XX for"
            " whatever is special in the password"
        ) from None
    # Few connections, for which many requests queue up: one that finds none free must not be an error.
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        # A connection that was closed while it rested is opened once more; the circuit does the rest.
        retry=Retry(NoBackoff(), 1),
        client_name="verifier",
    )
    return Redis.from_pool(pool)
