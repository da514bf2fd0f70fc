"""The pool: deals calls out to workers, watches their clocks, and sees that every call gets one outcome.

Workers are of two lanes. At most `size` of them work off chunks, briskly. One that sits on a heavy answer
is moved to the slow lane, gives up the rest of its chunk, and another takes its place; so a poisoned batch
holds up nobody, itself included. What was killed for its weight runs again there, alone.
"""

import asyncio
import itertools
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from verifier_service.spread import Spread
from verifier_service.workers.batch import Batch, Blame, OnDone, Task
from verifier_service.workers.calls import Call, Done, Failed, Outcome, PoolStats
from verifier_service.workers.clock import Limits, look
from verifier_service.workers.handle import NS, Worker, ending
from verifier_service.workers.pace import Pace
from verifier_service.workers.spawner import Listeners, Spawner
from verifier_service.workers.wire import framed
from verifier_service.workers.worker import HEAVY, OK, Ended

CHUNK = 32
TURN = 64  # calls of one batch in a row; a large one must not hold up the others, nor a small one be cut up
SPARE = 1  # born and warm, to take over at once where a worker is killed or sidelined
TICK_S = 0.02
WALL_FACTOR = 8  # wall limit over CPU limit: only for hangs that use no CPU, and the machine may be busy
START_LIMIT_S = 30.0
START_TRIES = 3
LONGEST_PAUSE_S = 2.0
RSS_CHECK = 512  # calls between two looks at a worker's memory
# Reasons for which the answer is to blame; every other end of a worker is its own or ours.
TOO_HEAVY = frozenset({"cpu", "wall", "memory"})

log = logging.getLogger(__name__)


class PoolStartError(RuntimeError):
    """No worker could be started: the judge cannot be imported, or the memory limit is too low."""


class WorkerPool:
    """Killable workers for one event loop. Not thread-safe: local.py shows how to use it from threads.

    size: workers in the quick lane; up to as many again may sit on heavy answers, and one is spare.
    item_cpu_s: CPU seconds that one call may take in one run; item_wall_s: the same by the clock on the
    wall, for hangs that use no CPU (default: 8 times as much).  memory_mb: address space of a worker.
    recycle_after: calls after which a worker is replaced; it is too when it has grown by a quarter of
    memory_mb.  preload: modules that the fork server imports; the first one is the judge.
    """

    def __init__(
        self,
        size: int,
        *,
        item_cpu_s: float = 1.5,
        item_wall_s: float | None = None,
        memory_mb: int = 1024,
        recycle_after: int = 20000,
        preload: Sequence[str] = ("verifier_service.judge",),
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool needs at least one worker, not {size}")
        self.size = size
        self._limits = Limits(int(item_cpu_s * NS), int((item_wall_s or item_cpu_s * WALL_FACTOR) * NS))
        self._memory_mb = memory_mb
        self._recycle_after = recycle_after
        self._preload = tuple(preload)
        self._counts = PoolStats(size)
        self.waits = Spread()  # seconds until the first call of a batch is taken up
        self._pace = Pace()
        self._numbers = itertools.count(1)  # of workers, chunks and calls alike; 0 stands for none
        self._workers: dict[int, Worker] = {}
        self._batches: dict[int, Batch] = {}
        self._turns: deque[Batch] = deque()  # batches with calls in waiting, one turn each
        self._suspects: deque[Task] = deque()  # to run alone, in the slow lane
        self._spawner: Spawner | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._failed_starts = 0
        self._paused = False
        self._closing = False
        self._last_call: float | None = None  # instant at which every batch ends
        self._started: asyncio.Future[None] | None = None

    # ---------------------------------------------------------------- life

    async def start(self) -> None:
        """Returns when `size` workers are ready. Raises PoolStartError."""
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.create_future()
        self._launch()
        try:
            await self._started
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Fails what is unfinished and ends every process of the pool."""
        self._closing = True
        gone = Failed("worker_lost", "the pool was closed")
        for batch in list(self._batches.values()):
            batch.fail_rest(gone, gone)
        if self._ticking is not None:
            self._ticking.cancel()
        # Taken out first: a start that is given up closes the pool while its owner does the same.
        spawner, self._spawner = self._spawner, None
        if spawner is not None:
            await spawner.close()
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def hurry(self, within_s: float) -> None:
        """Every batch, now or still to come, ends by then, as by its deadline."""
        self._last_call = time.monotonic() + within_s
        for batch in self._batches.values():
            self._loop.call_later(within_s, self._expire, batch)

    @property
    def stats(self) -> PoolStats:
        workers = self._workers.values()
        self._counts.ready = sum(worker.ready and not (worker.doom or worker.retiring) for worker in workers)
        self._counts.busy = sum(bool(worker.chunk) for worker in workers)
        self._counts.slow = sum(worker.slow for worker in workers)
        self._counts.queued = len(self._suspects) + sum(len(batch.waiting) for batch in self._turns)
        return self._counts

    @property
    def backlog_s(self) -> float:
        """Seconds until the quick lane is through with what it has and what waits for it, by its pace so far."""
        in_hand = sum(len(worker.tasks) for worker in self._workers.values() if worker.brisk)
        return (in_hand + sum(len(batch.waiting) for batch in self._turns)) * self._pace.call_s / self.size

    @property
    def pids(self) -> list[int]:
        """The processes of the pool now: the fork server first, then the workers."""
        server = [self._spawner.pid] if self._spawner is not None else []
        return server + [worker.pid for worker in self._workers.values() if worker.pid]

    # ---------------------------------------------------------------- calls

    async def run(
        self, calls: Sequence[Call], *, deadline: float | None = None, on_done: OnDone | None = None
    ) -> list[Outcome]:
        """One outcome per call, in their order, whatever happens to the workers.

        deadline: instant of `time.monotonic()` at which what is unfinished fails: "queue_timeout" where it
        never started, "deadline" where it did. A caller that is cancelled abandons its calls.
        on_done: told each outcome as it comes, with its place.
        """
        batch = Batch(calls, asyncio.get_running_loop().create_future(), on_done)
        if not calls:
            return []
        if self._closing or self._started is None:
            gone = Failed("worker_lost", "the pool is not running")
            batch.fail_rest(gone, gone)
            return batch.outcomes
        self._counts.calls += len(calls)
        number = next(self._numbers)
        self._batches[number] = batch
        self._turns.append(batch)
        alarm = self._alarm(batch, deadline)
        self._dispatch()
        try:
            await batch.done
        finally:
            if alarm is not None:
                alarm.cancel()
            del self._batches[number]
            self._abandon(batch)
        return batch.outcomes

    def _alarm(self, batch: Batch, deadline: float | None) -> asyncio.TimerHandle | None:
        if deadline is None or (self._last_call is not None and self._last_call < deadline):
            deadline = self._last_call
        if deadline is None:
            return None
        left = deadline - time.monotonic()
        if left <= 0:
            self._expire(batch)
        return self._loop.call_later(left, self._expire, batch)

    def _expire(self, batch: Batch) -> None:
        for worker in self._workers.values():
            at = worker.page.running.seq
            for seq, task in worker.tasks.items():
                task.started |= seq <= at  # done and not yet reported, or running now
        batch.fail_rest(
            Failed("deadline", "the request's time ended while the item was graded"),
            Failed("queue_timeout", "the request's time ended before the item's turn came"),
        )

    def _abandon(self, batch: Batch) -> None:
        """Nobody waits for it any more: its calls are not started, and those that run may end."""
        batch.release()
        for worker in self._workers.values():
            if worker.tasks and all(task.settled for task in worker.tasks.values()):
                worker.page.revoke(worker.chunk)

    # ---------------------------------------------------------------- dealing out

    def _dispatch(self) -> None:
        """Gives work to whoever may have some, and sees to it that there are enough workers."""
        while self._suspects and self._slow() < self._slow_lane():
            worker = self._pick(lambda worker: worker.idle and not worker.served)
            if worker is None:
                self._want_fresh()
                break
            task = self._suspects.popleft()
            if not task.settled and self._give(worker, [task]):
                self._slow_down(worker)
        while self._turns and self._brisk_at_work() < self.size:
            worker = self._pick(lambda worker: worker.idle)
            if worker is None:
                break
            batch = self._turns.popleft()
            if not batch.was_served:
                self.waits.add(time.monotonic() - batch.asked_at)
            tasks = batch.take(min(CHUNK, math.ceil(len(batch.waiting) / self.size)))
            if batch.waiting and batch.turn_goes_on(len(tasks), TURN):
                self._turns.appendleft(batch)
            elif batch.waiting:
                self._turns.append(batch)
            if tasks:
                self._give(worker, tasks)
        self._fill()
        self._tick_on()

    def _pick(self, fits: Callable[[Worker], bool]) -> Worker | None:
        """Of the fitting workers the one that has worked most: the fresh ones are kept for retries."""
        return max(filter(fits, self._workers.values()), key=lambda worker: worker.served, default=None)

    def _want_fresh(self) -> None:
        if not any(worker.brisk and not worker.served for worker in self._workers.values()):
            worn = self._pick(lambda worker: worker.idle)
            if worn is not None:
                worn.dismiss()

    def _brisk_at_work(self) -> int:
        return sum(bool(worker.chunk) and worker.brisk for worker in self._workers.values())

    def _slow(self) -> int:
        return sum(worker.slow and not worker.doom for worker in self._workers.values())

    def _slow_lane(self) -> int:
        """How many workers heavy answers may hold: half the size, or all of it where nobody else waits."""
        return max(1, self.size // 2) if self._turns else self.size

    def _give(self, worker: Worker, tasks: list[Task]) -> bool:
        """Sends the tasks, less those that cannot be sent; whether any went."""
        chunk = next(self._numbers)
        try:
            worker.give(chunk, {next(self._numbers): task for task in tasks})
        except Exception:  # noqa: BLE001  pickle raises whatever an object's own code raises
            tasks = [task for task in tasks if self._sendable(task)]
            if tasks:
                worker.give(chunk, {next(self._numbers): task for task in tasks})
        return bool(tasks)

    @staticmethod
    def _sendable(task: Task) -> bool:
        try:
            framed(task.order)
        except Exception as error:  # noqa: BLE001
            task.settle(Failed("internal", f"the call cannot be sent: {type(error).__name__}"))
            return False
        return True

    def _send_back(self, tasks: Iterable[Task]) -> None:
        """Calls that did nothing wrong go to the head of their own batch."""
        for task in reversed(list(tasks)):
            if task.settled:
                continue
            if task.strikes:
                self._suspects.append(task)
                continue
            if not task.batch.waiting:
                self._turns.appendleft(task.batch)
            task.batch.waiting.appendleft(task)

    # ---------------------------------------------------------------- what workers say

    def _on_report(self, worker: Worker, results: list[Ended], resting: bool) -> None:
        for seq, how, value in results:
            worker.served += 1
            task = worker.tasks.pop(seq, None)
            if task is None:
                continue  # it was taken from this worker, and runs elsewhere
            if how == OK:
                task.settle(Done(value))
            elif how == HEAVY:
                self._strike(task, "answer", f"memory ({value})")
                self._doom(worker, "memory")
            else:
                log.error("the judge raised %s", value.partition(": ")[0])  # without its words
                task.settle(Failed("internal", value))
        if resting:
            self._on_rest(worker)

    def _on_rest(self, worker: Worker) -> None:
        if worker.chunk and not worker.slow:
            self._pace.note(worker.given - len(worker.tasks), (time.monotonic_ns() - worker.sent_ns) / NS)
        self._send_back(worker.tasks.values())
        worker.tasks, worker.chunk, spent, worker.slow = {}, 0, worker.slow, False
        if not worker.ready:
            worker.ready = True
            self._failed_starts = 0
            self._note_start()
        if self._worn(worker):
            self._counts.recycled += 1
            worker.dismiss()
        elif spent or sum(other.brisk for other in self._workers.values()) > self.size + SPARE:
            worker.dismiss()
        self._dispatch()

    def _worn(self, worker: Worker) -> bool:
        if worker.served >= self._recycle_after:
            return True
        if not worker.served or worker.served < worker.next_rss_check:
            return False
        worker.next_rss_check = worker.served + RSS_CHECK
        return worker.rss_mb() - worker.rss_at_birth_mb > self._memory_mb / 4

    def _on_end(self, worker: Worker) -> None:
        """Its socket is closed: it is dead or dying, and if it is neither, it had better be."""
        if self._spawner is not None and worker.number in self._workers:
            self._spawner.kill(worker.number)

    def _on_exit(self, number: int, status: int) -> None:
        worker = self._workers.pop(number, None)
        if worker is None:
            return
        self._bury(worker, ending(status))
        self._dispatch()

    def _bury(self, worker: Worker, ending: str) -> None:
        """What it has finished stands; the call it was at is struck; the others did nothing wrong."""
        worker.drain()
        culprit = worker.current()
        others = [task for task in worker.tasks.values() if task is not culprit]
        worker.close()
        if not (worker.doom or worker.retiring):
            self._count_kill(ending)
        if not worker.ready and not worker.retiring and self._spawner is not None:
            self._on_failed_start(worker.doom or ending)
        if culprit is not None:
            if worker.doom in {"evicted", "memory"}:  # moved without blame; or the blame is already laid
                culprit.started = True
                self._suspects.append(culprit)
            else:
                reason = worker.doom or ending
                self._strike(culprit, "answer" if reason in TOO_HEAVY else "worker", reason)
        self._send_back(others)

    def _strike(self, task: Task, blame: Blame, reason: str) -> None:
        if task.strike(blame, reason):
            self._counts.retries += 1
            self._suspects.append(task)

    # ---------------------------------------------------------------- the clock

    def _tick_on(self) -> None:
        if self._ticking is None and any(worker.chunk for worker in self._workers.values()):
            self._ticking = self._loop.call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        for worker in list(self._workers.values()):
            if worker.chunk and not worker.doom:
                self._watch(worker)
        self._dispatch()

    def _watch(self, worker: Worker) -> None:
        match look(worker, self._limits):
            case "":
                pass
            case "slow":
                self._sideline(worker, worker.seen.seq)
            case reason:
                self._doom(worker, reason)

    def _sideline(self, worker: Worker, seq: int) -> None:
        """Leaves the worker alone with its heavy call, or ends it where too many sit on such calls."""
        worker.page.revoke(worker.chunk)
        others = [task for number, task in worker.tasks.items() if number != seq]
        self._pace.note(worker.given - len(others), (time.monotonic_ns() - worker.sent_ns) / NS)
        worker.tasks = {number: task for number, task in worker.tasks.items() if number == seq}
        self._send_back(others)
        if self._slow() < self._slow_lane():
            self._slow_down(worker)
        else:
            self._doom(worker, "evicted")

    def _slow_down(self, worker: Worker) -> None:
        """Moves it to the slow lane, for good: heavy answers do not take the cores from the others."""
        worker.slow = True
        if self._spawner is not None:
            self._spawner.let_yield(worker.number)

    def _doom(self, worker: Worker, reason: str) -> None:
        if worker.doom or self._spawner is None:
            return
        worker.doom = reason
        self._count_kill(reason)
        self._spawner.kill(worker.number)

    def _count_kill(self, reason: str) -> None:
        log.warning("a worker was lost or killed: %s", reason)
        self._counts.kills[reason] = self._counts.kills.get(reason, 0) + 1

    # ---------------------------------------------------------------- births

    def _launch(self) -> None:
        if self._closing:
            return
        listeners = Listeners(self._fill, self._on_born, self._on_exit, self._on_lost)
        try:
            self._spawner = Spawner(self._preload, self._memory_mb, listeners)
        except OSError as error:
            self._launch_later(f"the fork server cannot be started: {error}")

    def _fill(self) -> None:
        """Keeps `size` brisk workers and the spare, born or about to be."""
        if self._spawner is None or not self._spawner.ready or self._paused or self._closing:
            return
        missing = self.size + SPARE - sum(worker.brisk for worker in self._workers.values())
        for _ in range(missing):
            try:
                worker = Worker(next(self._numbers), self._on_report, self._on_end)
            except OSError as error:  # no descriptor is left, most likely: somebody's connections hold them
                self._on_failed_start(str(error))
                return
            self._workers[worker.number] = worker
            self._counts.births += 1
            worker.hand_over(self._spawner.bear)
            self._loop.call_later(START_LIMIT_S, self._check_started, worker)

    def _on_born(self, number: int, pid: int) -> None:
        worker = self._workers.get(number)
        if worker is not None:
            worker.pid = pid
            worker.rss_at_birth_mb = worker.rss_mb()

    def _check_started(self, worker: Worker) -> None:
        if not worker.ready and worker.number in self._workers:
            self._doom(worker, "start")

    def _note_start(self) -> None:
        ready = sum(worker.ready for worker in self._workers.values())
        if self._started is not None and not self._started.done() and ready >= self.size:
            self._started.set_result(None)

    def _on_failed_start(self, reason: str) -> None:
        self._failed_starts += 1
        if self._failed_starts >= START_TRIES:
            self._refuse_start(f"workers end before they are ready: {reason}")
        self._paused = True
        self._loop.call_later(self._pause_s(), self._resume)

    def _resume(self) -> None:
        self._paused = False
        if not self._closing:
            self._dispatch()

    def _on_lost(self, why: str) -> None:
        """The fork server is gone and its workers with it: all anew."""
        if self._closing or self._spawner is None:
            return
        self._spawner.bury()
        self._spawner = None
        workers, self._workers = list(self._workers.values()), {}
        for worker in workers:
            self._bury(worker, "forkserver")
        self._launch_later(f"the fork server is lost: {why or 'it ended; see its messages above'}")

    def _launch_later(self, why: str) -> None:
        log.error("%s", why)
        self._failed_starts += 1
        self._refuse_start(why)
        self._loop.call_later(self._pause_s(), self._launch)

    def _pause_s(self) -> float:
        return float(min(LONGEST_PAUSE_S, 0.02 * 2**self._failed_starts))

    def _refuse_start(self, why: str) -> None:
        if self._started is not None and not self._started.done():
            self._started.set_exception(PoolStartError(why))
