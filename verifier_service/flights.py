"""Items at work now: an equal one in another request waits for the outcome instead of being judged twice."""

import asyncio
from collections.abc import Iterable

from verifier_service.workers import Done, Outcome

# What says nothing of the item, only of the request that it was in: whoever waited tries anew.
OWN_FAULTS = frozenset({"queue_timeout", "deadline"})

Landing = asyncio.Future[Outcome | None]


class Flights:
    """Not thread-safe: it belongs to one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[bytes, list[Landing]] = {}

    def join(self, key: bytes) -> Landing | None:
        """None where the caller is the first and has to do the work and `land` it.

        For others the outcome to come; it may turn out as None, and then the work is still to be done.
        """
        waiting = self._under_way.get(key)
        if waiting is None:
            self._under_way[key] = []
            return None
        landing: Landing = asyncio.get_running_loop().create_future()
        waiting.append(landing)
        return landing

    def land(self, key: bytes, outcome: Outcome | None) -> None:
        """Tells whoever waits, the first time."""
        for landing in self._under_way.pop(key, ()):
            if not landing.done():
                landing.set_result(outcome)

    def arrived(self, key: bytes, outcome: Outcome) -> None:
        """Lands what has an outcome that holds for everybody; of other outcomes `land_all` has the last word."""
        if isinstance(outcome, Done) or outcome.code not in OWN_FAULTS:
            self.land(key, outcome)

    def land_all(self, keys: Iterable[bytes]) -> None:
        """Nothing more will come of these."""
        for key in keys:
            self.land(key, None)
