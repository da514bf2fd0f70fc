"""Several parts at a time, for the client that waits."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

_ResultT = TypeVar("_ResultT")


def in_threads(tasks: Sequence[Callable[[], _ResultT]], at_once: int) -> list[_ResultT]:
    """The results, in the order of the tasks. Raises what the first that fails raises; no other is begun then.

    The threads are daemons: neither Ctrl-C nor the end of the process waits for them.
    """
    futures: list[Future[_ResultT]] = [Future() for _ in tasks]
    waiting = deque(zip(futures, tasks, strict=True))

    def work() -> None:
        while True:
            try:
                future, task = waiting.popleft()
            except IndexError:
                return
            try:
                future.set_result(task())
            except Exception as error:  # noqa: BLE001  # handed on to whoever asked
                waiting.clear()
                future.set_exception(error)

    for _ in range(min(at_once, len(tasks))):
        Thread(target=work, daemon=True, name="verifier-part").start()
    return [future.result() for future in futures]
