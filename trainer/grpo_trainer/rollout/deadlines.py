"""Work that may hang, done in a thread of its own, so that whoever waits for it can stop waiting."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from grpo_trainer.rollout.engine import RolloutError

T = TypeVar("T")


class OneThread:
    """Calls one after another, all in the same thread, each within its deadline.

    A call that outlasts it can't be ended, only left behind: from then on every call is refused. The thread
    is a daemon, so that it does not hold up the end of the process either.
    """

    def __init__(self, name: str) -> None:
        self._work: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._stuck: str | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def call(self, work: Callable[[], T], seconds: float, what: str) -> T:
        """The result of `work`. Raises RolloutError after so many seconds, and what `work` raises."""
        if self._stuck is not None:
            raise RolloutError(self._stuck)
        future: Future[T] = Future()
        self._work.put((work, future))
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                raise
            self._stuck = f"vLLM did not finish within {seconds:g} s: {what}. Go on with --resume"
            raise RolloutError(self._stuck) from None

    def _run(self) -> None:
        while True:
            work, future = self._work.get()
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001 (it is raised again, where the result is asked for)
                future.set_exception(error)
