"""What was judged, in Redis, behind the memory of each replica. Whatever is wrong with it is a miss, never an error.

A value is JSON behind a checksum over key and text: what is cut short, overwritten or moved to another key
is not taken. Whoever can write to that Redis on purpose could forge verdicts: keep it to yourself.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from verifier_service.equivalence.slow_path import TIMEOUT, Symbolic
from verifier_service.judge import Judgement
from verifier_service.redis_link import Nonsense, RedisGone, RedisLink
from verifier_service.schema import Verdict

if TYPE_CHECKING:
    from redis.asyncio import Redis

PREFIX = b"verifier:1:"
CHECKSUM_BYTES = 8
WRITE_AT_ONCE = 512
MOST_WAITING = 8192
# One script for a whole batch: a pipeline of as many commands costs this process ten times as much.
WRITE = """
for place, key in ipairs(KEYS) do redis.call('SET', key, ARGV[place + 1], 'EX', ARGV[1]) end
return #KEYS
"""
_VERDICTS = {None, *get_args(Verdict)}
ValueT = TypeVar("ValueT")

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SharedStats:
    """Counts since the start. unasked: Redis was gone a moment before. dropped: not written."""

    hits: int = 0
    misses: int = 0
    poisoned: int = 0
    errors: int = 0
    unasked: int = 0
    written: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Form(Generic[ValueT]):
    """How values of one kind are kept. mark: part of their names.  is_sound: could a judge have said so?"""

    mark: bytes
    adapter: TypeAdapter[ValueT]
    is_sound: Callable[[ValueT], bool]


class SharedCache(Generic[ValueT]):
    """For one event loop. engine: replicas of another engine neither see nor overwrite what is kept here.

    reading, writing: links to one Redis, apart, since one that is full can still be read.
    stats: to count in, where several caches are told of as one.
    """

    def __init__(
        self,
        reading: RedisLink,
        writing: RedisLink,
        form: Form[ValueT],
        *,
        engine: str,
        ttl_s: int,
        stats: SharedStats | None = None,
    ) -> None:
        self.stats = stats if stats is not None else SharedStats()
        self._form = form
        self._reading = reading
        self._writing = writing
        self._prefix = PREFIX + form.mark + engine.encode() + b":"
        self._ttl_s = ttl_s
        self._waiting: deque[tuple[bytes, ValueT]] = deque()
        self._writer: asyncio.Task[None] | None = None

    @property
    def up(self) -> bool:
        """Whether Redis answered when it was last asked."""
        return not (self._reading.circuit.failing or self._writing.circuit.failing)

    async def get_many(self, keys: Sequence[bytes]) -> list[ValueT | None]:
        """What is known under these keys, in one question; all None where Redis does not answer in time."""
        names = [self._prefix + key for key in keys]
        asked = not self._reading.circuit.failing
        try:
            found = await self._reading.ask(partial(_values, names))
        except RedisGone as error:
            if asked:
                log.warning("the shared cache cannot be read: %s", error)
            self.stats.errors += asked
            self.stats.unasked += not asked
            return [None] * len(keys)
        return [self._read(name, data) for name, data in zip(names, found, strict=True)]

    def _read(self, name: bytes, data: bytes | None) -> ValueT | None:
        if data is None:
            self.stats.misses += 1
            return None
        value = unpacked(name, data, self._form)
        if value is None:
            self.stats.poisoned += 1
        else:
            self.stats.hits += 1
        return value

    def put(self, key: bytes, value: ValueT) -> None:
        """Writes it soon, if Redis lets us. Returns at once."""
        if len(self._waiting) >= MOST_WAITING:
            self.stats.dropped += 1
            return
        self._waiting.append((self._prefix + key, value))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            entries = [self._waiting.popleft() for _ in range(min(WRITE_AT_ONCE, len(self._waiting)))]
            known = self._writing.circuit.failing
            try:
                await self._write_some(entries)
            except RedisGone as error:
                if not known:
                    log.warning("the shared cache cannot be written: %s", error)
                self.stats.dropped += len(entries) + len(self._waiting)
                self._waiting.clear()
            else:
                self.stats.written += len(entries)

    async def _write_some(self, entries: Sequence[tuple[bytes, ValueT]]) -> None:
        names = [name for name, _ in entries]
        values = [packed(name, value, self._form) for name, value in entries]
        await self._writing.ask(
            lambda redis: redis.eval(WRITE, len(names), *names, str(self._ttl_s), *values)
        )

    async def close(self) -> None:
        """Writes what still waits, and hangs up."""
        if self._writer is not None:
            await asyncio.wait([self._writer])
        await self._reading.close()
        await self._writing.close()


async def _values(names: Sequence[bytes], redis: "Redis") -> list[bytes | None]:
    found: object = await redis.mget(names)
    if not isinstance(found, list) or len(found) != len(names):
        raise Nonsense("it should be a list with a place for every key")
    if not all(isinstance(value, bytes | None) for value in found):
        raise Nonsense("a value should be bytes")
    return found


def packed(name: bytes, value: ValueT, form: Form[ValueT]) -> bytes:
    text: bytes = form.adapter.dump_json(value)
    return _checksum(name, text) + text


def unpacked(name: bytes, data: bytes, form: Form[ValueT]) -> ValueT | None:
    """The value, None where this is not what `packed` made for this name."""
    text = data[CHECKSUM_BYTES:]
    if data[:CHECKSUM_BYTES] != _checksum(name, text):
        return None
    try:
        value = form.adapter.validate_json(text)
    except ValidationError:
        return None
    return value if form.is_sound(value) else None


def _is_sound(judgement: Judgement) -> bool:
    """Whether it is one that a judge could have given."""
    numbers: chain[Any] = chain((judgement.reward,), judgement.components.values(), judgement.scores.values())
    return (
        all(number is None or math.isfinite(number) for number in numbers)
        and judgement.verdict in _VERDICTS
        and (judgement.reward is None) == (judgement.error_code is not None)
    )


def _checksum(name: bytes, text: bytes) -> bytes:
    return blake2b(text, digest_size=CHECKSUM_BYTES, key=blake2b(name, digest_size=32).digest()).digest()


JUDGEMENTS = Form(b"", TypeAdapter(Judgement), _is_sound)
SLOW_VERDICTS = Form(b"slow:", TypeAdapter(Symbolic), lambda answer: answer.reason != TIMEOUT)
