"""One `run` of the pool: its calls, their outcomes, and what is still to do."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

from verifier_service.workers.calls import Call, Failed, Outcome

LAST_STRIKE = 3  # two runs in full, the second one alone, then one without the slow path
OnDone = Callable[[int, Outcome], None]
Blame = Literal["answer", "worker"]


class Task:
    """One call on its way to its outcome, which it gets once."""

    __slots__ = ("batch", "call", "index", "settled", "started", "strikes")

    def __init__(self, batch: "Batch", index: int, call: Call) -> None:
        self.batch = batch
        self.index = index
        self.call = call
        self.strikes = 0
        self.started = False
        self.settled = False

    @property
    def order(self) -> tuple[str, tuple[Any, ...], bool]:
        """What the worker is told: kind, args, and whether the slow path may be taken."""
        return self.call.kind, self.call.args, self.strikes < LAST_STRIKE - 1

    def settle(self, outcome: Outcome) -> None:
        """The first outcome counts: a call may have run twice, and is pure."""
        if not self.settled:
            self.settled = True
            self.batch.put(self.index, outcome)

    def strike(self, blame: Blame, reason: str) -> bool:
        """Counts a run that did not end by itself; True if the call may run again."""
        self.started = True
        self.strikes += 1
        if self.strikes >= LAST_STRIKE:
            what = "too heavy" if blame == "answer" else "its worker died"
            code: Literal["answer_timeout", "worker_lost"]
            code = "answer_timeout" if blame == "answer" else "worker_lost"
            self.settle(Failed(code, f"{what} in {self.strikes} runs, at last by {reason}"))
        return not self.settled


class Batch:
    """The calls of one `run`, in order; `done` is set when every one of them has its outcome."""

    def __init__(
        self, calls: Sequence[Call], done: "asyncio.Future[None]", on_done: OnDone | None = None
    ) -> None:
        self.tasks = [Task(self, index, call) for index, call in enumerate(calls)]
        self.waiting = deque(self.tasks)
        self.done = done
        self.asked_at = time.monotonic()
        self.was_served = False
        self._dealt = 0
        self._on_done = on_done
        self._outcomes: list[Outcome | None] = [None] * len(calls)
        self._left = len(calls)

    def take(self, most: int) -> list[Task]:
        """The next tasks that still want an outcome."""
        self.was_served = True
        taken: list[Task] = []
        while self.waiting and len(taken) < most:
            task = self.waiting.popleft()
            if not task.settled:
                taken.append(task)
        return taken

    def turn_goes_on(self, dealt: int, most: int) -> bool:
        """Whether it may have more before the others, now that it has been dealt so many; else a turn is over."""
        self._dealt += dealt
        goes_on = self._dealt < most
        self._dealt *= goes_on
        return goes_on

    def put(self, index: int, outcome: Outcome) -> None:
        self._outcomes[index] = outcome
        self._left -= 1
        if self._on_done is not None:
            self._on_done(index, outcome)
        if not self._left and not self.done.done():
            self.done.set_result(None)

    def fail_rest(self, started: Failed, never_started: Failed) -> None:
        """Ends the batch now: what has no outcome gets one of these."""
        self.waiting.clear()
        for task in self.tasks:
            task.settle(started if task.started else never_started)

    def release(self) -> None:
        """Nobody asks for it any more. Lets go of its tasks, that it goes at once and not with the next search for
        cycles: it holds texts of megabytes."""
        for task in self.tasks:
            task.settled = True
        self.tasks.clear()
        self.waiting.clear()

    @property
    def outcomes(self) -> list[Outcome]:
        """All of them, in the order of the calls; only once `done` is set."""
        outcomes = [outcome for outcome in self._outcomes if outcome is not None]
        assert len(outcomes) == len(self._outcomes)
        return outcomes
