"""Who may come in: requests are turned away beyond a bound of items, of bytes, or of seconds of work at hand.

The seconds are what holds under overload: as many items as pass in a moment may be a minute's work if they are
heavy, and whoever is let in then waits beyond its time, for nothing.

Whoever comes while there is room is let in, whole, however large; so one item and a batch of hundreds meet
the same rule, and what is inside is bounded by the limit and one request more.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import variable

RETRY_S = 1


@dataclass(slots=True)
class AdmissionStats:
    """items, bytes and requests are of the moment; refused counts since the start, by reason."""

    items: int = 0
    bytes: int = 0
    requests: int = 0
    overloaded: int = 0
    draining: int = 0


class Admission:
    """The door of one app. `most_items` and `most_bytes` may be inside before it closes.

    most_s: nor may more work than this be at hand, which `backlog_s` tells in seconds.
    """

    def __init__(
        self, most_items: int, most_bytes: int, most_s: float, backlog_s: Callable[[], float]
    ) -> None:
        self.stats = AdmissionStats()
        self.draining = False
        self._most_items = most_items
        self._most_bytes = most_bytes
        self._most_s = most_s
        self._backlog_s = backlog_s

    def enter(self, reserved: int = 0) -> "Ticket":
        """A place inside, to be given back by leaving its context. Raises ProblemError (503).

        reserved: bytes to be held from now on, for a body that must not be refused while it comes.
        """
        self._check()
        if reserved and self.stats.bytes and self.stats.bytes + reserved > self._most_bytes:
            self._refuse_bytes()
        return Ticket(self, reserved)

    def _check(self) -> None:
        if self.draining:
            self.stats.draining += 1
            raise _refusal("draining", "the service is about to stop; ask again, or ask another replica")
        if self.stats.items >= self._most_items:
            self._refuse(f"{self.stats.items} items are being judged or wait", "queue_items")
        backlog_s = self._backlog_s()
        if backlog_s > self._most_s:
            self._refuse(f"there is work for {backlog_s:.1f} s", "queue_s", backlog_s - self._most_s)

    def _check_bytes(self) -> None:
        if self.stats.bytes > self._most_bytes:
            self._refuse_bytes()

    def _refuse_bytes(self) -> None:
        self._refuse(f"{self.stats.bytes} bytes of bodies are held", "queue_mb")

    def _refuse(self, what: str, setting: str, wait_s: float = RETRY_S) -> None:
        self.stats.overloaded += 1
        raise _refusal("overloaded", f"{what}; ask again soon, or raise {variable(setting)}", wait_s)


class Ticket:
    """What one request takes up. `receive`, `check` and `admit` may raise ProblemError (503)."""

    def __init__(self, admission: Admission, reserved: int) -> None:
        self._admission = admission
        self._reserved = reserved
        self._items = 0
        self._bytes = 0

    @property
    def size(self) -> int:
        """Bytes of its body that have come."""
        return self._bytes

    def receive(self, size: int) -> None:
        """So many bytes more of its body have come."""
        if self._reserved:
            self._bytes += size
            return
        # A request that is alone is never too large: the limit of a body is another one.
        alone = self._admission.stats.bytes == self._bytes
        self._bytes += size
        self._admission.stats.bytes += size
        if not alone:
            self._admission._check_bytes()
            # Under overload hundreds of bodies are on their way at once: the rest of one is not worth waiting for,
            # nor worth decoding, if there is no room for it by now.
            self._admission._check()

    def check(self) -> None:
        """Whether there is room still: not worth decoding otherwise."""
        self._admission._check()

    def admit(self, items: int) -> None:
        """Its items are known now, and are about to be judged."""
        self._admission._check()
        self._items += items
        self._admission.stats.items += items

    def __enter__(self) -> Self:
        self._admission.stats.requests += 1
        self._admission.stats.bytes += self._reserved
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stats = self._admission.stats
        stats.requests -= 1
        stats.items -= self._items
        stats.bytes -= self._reserved or self._bytes


def _refusal(name: str, detail: str, wait_s: float = RETRY_S) -> ProblemError:
    return ProblemError(503, name, detail, headers={"Retry-After": str(max(RETRY_S, math.ceil(wait_s)))})
