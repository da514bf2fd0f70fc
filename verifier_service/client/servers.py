"""Which of the servers to ask next: the least busy of those that are well."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from verifier_service.client.addresses import Address

# Calls in a row that nobody answered, until the server is left alone for a while; then one call tries it.
FAILURES_TO_REST = 5
FIRST_REST_S, LONGEST_REST_S = 0.5, 5.0
# A proxy answered, not the server behind it.
GATEWAY_STATUSES = frozenset({502, 504})
FULL_STATUSES = frozenset({429, 503})
# Whatever a server says, it is tried again by then.
LONGEST_FULL_S = 60.0


@dataclass(slots=True, eq=False)
class Server:
    """What is known of one address, by this process."""

    address: Address
    in_flight: int = 0
    failures: int = 0
    rests_until: float = -math.inf
    full_until: float = -math.inf
    taken_at: int = 0

    @property
    def broken(self) -> bool:
        return self.failures >= FAILURES_TO_REST


class Resting(Exception):
    """Every server has failed too often of late; `seconds` until one of them may be tried."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Servers:
    """The servers that one client knows, of one process; its threads share them."""

    def __init__(self, addresses: Sequence[Address], clock: Callable[[], float]) -> None:
        self.all = tuple(Server(address) for address in addresses)
        self._clock = clock
        self._lock = Lock()
        self._taken = 0

    @contextmanager
    def taken(self, avoid: Server | None = None) -> Iterator[Server]:
        """The server to ask now, counted as asked meanwhile. Raises Resting where all are left alone.

        avoid: the one that has just failed; asked all the same where there is no other.
        """
        with self._lock:
            server = self._choose(avoid)
            server.in_flight += 1
        try:
            yield server
        finally:
            with self._lock:
                server.in_flight -= 1

    def another(self, than: Server) -> bool:
        """Whether some other server is well and has room, as far as is known."""
        now = self._clock()
        return any(
            server is not than and not server.broken and server.full_until <= now for server in self.all
        )

    def answered(self, server: Server, status: int, retry_after_s: float | None = None) -> None:
        """A reply has come: even a refusal shows that somebody is there."""
        with self._lock:
            if status in GATEWAY_STATUSES:
                self._fail(server)
                return
            server.failures = 0
            server.rests_until = -math.inf
            if status in FULL_STATUSES:
                server.full_until = self._clock() + min(retry_after_s or 0.0, LONGEST_FULL_S)

    def failed(self, server: Server) -> None:
        """No reply has come."""
        with self._lock:
            self._fail(server)

    def _fail(self, server: Server) -> None:
        server.failures += 1
        if server.broken:
            server.rests_until = self._clock() + _rest(server)

    def _choose(self, avoid: Server | None) -> Server:
        now = self._clock()
        awake = [server for server in self.all if server.rests_until <= now]
        if not awake:
            raise Resting(min(server.rests_until for server in self.all) - now)
        chosen = min(
            awake,
            key=lambda server: (
                server is avoid,
                server.full_until > now,
                server.in_flight,
                server.taken_at,
            ),
        )
        self._taken += 1
        chosen.taken_at = self._taken
        if chosen.broken:
            # One call finds out whether it is back; the others go on waiting for what that one finds.
            chosen.rests_until = now + _rest(chosen)
        return chosen


def _rest(server: Server) -> float:
    doublings = min(server.failures - FAILURES_TO_REST, 10)
    return min(FIRST_REST_S * 2.0**doublings, LONGEST_REST_S)
