"""Single calls that come at about the same time share a request: most trainers ask for one sample at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from verifier_service.schema import Result

Item = Mapping[str, Any]
# One item's result, or what is to be raised for it.
Outcome = Result | Exception
Ask = Callable[[Sequence[Item]], Awaitable[Sequence[Outcome]]]
_Future = asyncio.Future[Result]

# While others are under way; whoever comes alone is sent in the same turn of the loop.
WINDOW_S = 0.004


@dataclass(slots=True)
class _Crowd:
    """Of one event loop: who waits for the next request, and the requests under way."""

    waiting: list[tuple[Item, _Future]] = field(default_factory=list)
    under_way: set[asyncio.Task[Sequence[Outcome]]] = field(default_factory=set)


class Gathering:
    """ask: sends at most `most` items together. Its copies gather by themselves."""

    def __init__(self, ask: Ask, most: int) -> None:
        self._ask = ask
        self._most = most
        self._crowds: WeakKeyDictionary[asyncio.AbstractEventLoop, _Crowd] = WeakKeyDictionary()

    async def result(self, item: Item) -> Result:
        """Raises what `ask` raises, or gives for this item."""
        loop = asyncio.get_running_loop()
        crowd = self._crowds.setdefault(loop, _Crowd())
        future: _Future = loop.create_future()
        crowd.waiting.append((item, future))
        if len(crowd.waiting) >= self._most:
            self._leave(crowd)
        elif len(crowd.waiting) == 1:
            loop.call_later(WINDOW_S if crowd.under_way else 0.0, self._leave, crowd)
        return await future

    def _leave(self, crowd: _Crowd) -> None:
        # Not for those who have given up meanwhile.
        leaving = [(item, future) for item, future in crowd.waiting if not future.done()]
        crowd.waiting.clear()
        if not leaving:
            return
        crowd.under_way.add(task := asyncio.ensure_future(self._ask([item for item, _ in leaving])))
        task.add_done_callback(crowd.under_way.discard)
        task.add_done_callback(partial(_tell, [future for _, future in leaving]))

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._ask, self._most))


def _tell(futures: Sequence[_Future], task: asyncio.Task[Sequence[Outcome]]) -> None:
    error = None if task.cancelled() else task.exception()
    outcomes: Sequence[Any] = [error] * len(futures) if task.cancelled() or error else task.result()
    for future, outcome in zip(futures, outcomes, strict=True):
        if future.done():
            continue
        if outcome is None:
            future.cancel()
        elif isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
