"""Results of items seen before: least recently used goes first, within a budget of bytes. Memory only."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")

# What an entry costs beside its value: key, tuple, float, links and slot of the ordered dictionary.
ENTRY_BYTES = 300
MB = 1 << 20


@dataclass(slots=True)
class CacheStats:
    """Counts since the start; entries and bytes are of the moment."""

    hits: int = 0
    misses: int = 0
    evicted: int = 0
    entries: int = 0
    bytes: int = 0


class Cache(Generic[ValueT]):
    """Not thread-safe: it belongs to one event loop.

    max_bytes: budget by the sizes that `put` is told; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.stats = CacheStats()
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[ValueT, int, float | None]] = OrderedDict()

    def get(self, key: bytes) -> ValueT | None:
        """The value, now the most recently used one; None where there is none or its time is over."""
        entry = self._entries.get(key)
        if entry is None:
            self.stats.misses += 1
            return None
        value, size, end = entry
        if end is not None and self._clock() >= end:
            self._drop(key, size)
            self.stats.misses += 1
            return None
        self._entries.move_to_end(key)
        self.stats.hits += 1
        return value

    def put(self, key: bytes, value: ValueT, size: int, *, ttl_s: float | None = None) -> None:
        """Keeps the value, for `ttl_s` seconds or until room is needed. One above the budget is not kept."""
        if key in self._entries:
            self._drop(key, self._entries[key][1])
        size += ENTRY_BYTES
        if size > self._max_bytes:
            return
        while self.stats.bytes + size > self._max_bytes:
            oldest = next(iter(self._entries))
            self._drop(oldest, self._entries[oldest][1])
            self.stats.evicted += 1
        self._entries[key] = (value, size, None if ttl_s is None else self._clock() + ttl_s)
        self.stats.bytes += size
        self.stats.entries += 1

    def clear(self) -> None:
        self._entries.clear()
        self.stats.bytes = self.stats.entries = 0

    def _drop(self, key: bytes, size: int) -> None:
        del self._entries[key]
        self.stats.bytes -= size
        self.stats.entries -= 1
