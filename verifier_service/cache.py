"""Results of items seen before: least recently used goes first, within a budget of bytes. Memory only.

Values are bytes, not objects: hundreds of thousands of objects would be walked through by the collector of
cycles again and again, and the event loop stands still for as long (0.2 s for 200,000 of them, measured).
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

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


class Cache:
    """Not thread-safe: it belongs to one event loop.

    max_bytes: budget for the values and what it costs to keep them; 0 keeps nothing.
    """

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.stats = CacheStats()
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[bytes, float | None]] = OrderedDict()

    def get(self, key: bytes) -> bytes | None:
        """The value, now the most recently used one; None where there is none or its time is over."""
        entry = self._entries.get(key)
        if entry is None:
            self.stats.misses += 1
            return None
        value, end = entry
        if end is not None and self._clock() >= end:
            self._drop(key)
            self.stats.misses += 1
            return None
        self._entries.move_to_end(key)
        self.stats.hits += 1
        return value

    def put(self, key: bytes, value: bytes, *, ttl_s: float | None = None) -> None:
        """Keeps the value, for `ttl_s` seconds or until room is needed. One above the budget is not kept."""
        if key in self._entries:
            self._drop(key)
        size = len(value) + ENTRY_BYTES
        if size > self._max_bytes:
            return
        while self.stats.bytes + size > self._max_bytes:
            self._drop(next(iter(self._entries)))
            self.stats.evicted += 1
        # A copy: what a serializer returns is the shrunken rest of a larger buffer, between others that come and go.
        value = bytes(memoryview(value))
        self._entries[key] = (value, None if ttl_s is None else self._clock() + ttl_s)
        self.stats.bytes += size
        self.stats.entries += 1

    def clear(self) -> None:
        self._entries.clear()
        self.stats.bytes = self.stats.entries = 0

    def _drop(self, key: bytes) -> None:
        value, _ = self._entries.pop(key)
        self.stats.bytes -= len(value) + ENTRY_BYTES
        self.stats.entries -= 1
