"""What goes into the pool and what comes out of it."""

from dataclasses import dataclass, field
from typing import Any, Literal

FailureCode = Literal["queue_timeout", "deadline", "answer_timeout", "worker_lost", "internal"]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the judge: `perform(kind, args)` in a worker. `args` must be picklable."""

    kind: Literal["score", "slow", "gold"]
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What the judge returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The call has no value, and why.

    queue_timeout: it never started.  deadline: the batch's time ended while it ran.
    answer_timeout: too heavy three times, the last time without the slow path.
    worker_lost: its worker died three times, or the pool was closed.  internal: the judge raised.
    """

    code: FailureCode
    message: str


Outcome = Done | Failed


@dataclass(slots=True)
class PoolStats:
    """Counts since the start, except size, ready, busy, slow and queued, which are of the moment.

    births: workers born, the first ones included.  recycled: replaced for age or growth.
    kills: ends of workers by reason: "cpu", "wall", "memory" and "evicted" (room was wanted in the slow
    lane) are of the answers; "abandoned" (nobody waits for its call), "stuck" and "start" are not; or how
    it died without our hand: "SIGKILL".
    """

    size: int
    ready: int = 0
    busy: int = 0
    slow: int = 0
    queued: int = 0
    calls: int = 0
    retries: int = 0
    births: int = 0
    recycled: int = 0
    kills: dict[str, int] = field(default_factory=dict)
