"""What the clocks say of a worker that is at a call."""

import time
from dataclasses import dataclass
from typing import Literal

from verifier_service.workers.handle import NS, Worker

SLOW_CPU_NS = 50_000_000
SLOW_WALL_NS = NS  # for a worker that sleeps: far above what a busy machine does to a quick answer
# A call that was sent and not taken up: the worker does not run at all.
STUCK_NS = 3 * NS
# Less of a core than this, one part in so many, and it hangs. More, and it makes way for others on a busy
# machine: its CPU limit ends it in time.
BARELY_RUNS = 100

Finding = Literal["", "slow", "abandoned", "stuck", "cpu", "wall"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one run of one call."""

    cpu_ns: int
    wall_ns: int


def look(worker: Worker, limits: Limits) -> Finding:
    """Nothing; or "slow", where it sits on a heavy call; or the reason for which it should be killed."""
    running = worker.page.running
    if running != worker.seen:  # another call than at the last look, or a start half written
        worker.seen = running
        return ""
    wall = time.monotonic_ns() - max(running.wall_ns, worker.sent_ns)
    if wall < SLOW_CPU_NS:
        return ""
    if all(task.settled for task in worker.tasks.values()):
        return "abandoned"
    if not running.seq:
        return "stuck" if wall > STUCK_NS else ""
    total = worker.cpu_ns()
    cpu = wall if total is None else total - running.cpu_ns
    if cpu > limits.cpu_ns:
        return "cpu"
    if wall > limits.wall_ns and cpu < wall // BARELY_RUNS:
        return "wall"
    return "slow" if not worker.slow and (cpu > SLOW_CPU_NS or wall > SLOW_WALL_NS) else ""
