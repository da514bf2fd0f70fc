"""How the request of a case is made: from where, how many at once, and with what befalling the workers."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from verifier_service.cases.labels import Case, Circumstances, JsonObject
from verifier_service.cases.processes import Processes
from verifier_service.schema import ScoreResponse

# Long enough for a request to reach a worker, short beside any limit of a case.
IN_FLIGHT_S = 0.2

Call = Callable[[], ScoreResponse]
Caller = Callable[[Call], ScoreResponse]


class Judge(Protocol):
    """What Client and LocalClient have in common, as far as cases need it."""

    def score(self, items: Sequence[Any], *, deadline_s: float | None = None) -> ScoreResponse: ...

    def info(self) -> Any: ...


def ask(judge: Judge, case: Case, processes: Processes) -> list[ScoreResponse]:
    """Sends the case as its circumstances say; one response per request sent."""
    how = case.circumstances
    calls = [_call(judge, items) for items in _requests(case)]
    caller = CALLERS[how.call_from]
    if how == Circumstances(call_from=how.call_from):
        return [caller(call) for call in calls]
    with ThreadPoolExecutor(len(calls), thread_name_prefix="cases") as threads:
        if not how.kill_worker:
            return list(threads.map(caller, calls))
        with processes.without_progress():
            answers = [threads.submit(caller, call) for call in calls]
            time.sleep(IN_FLIGHT_S)
        return [answer.result() for answer in answers]


def _requests(case: Case) -> list[list[JsonObject]]:
    """The items of each request. Those of a burst differ in trailing spaces, lest a cache answers them."""
    items = [labelled.item for labelled in case.labelled]
    return [[_padded(item, copy) for item in items] for copy in range(case.circumstances.burst)]


def _padded(item: JsonObject, spaces: int) -> JsonObject:
    completion = item["completion"]
    return item | {"completion": completion + " " * spaces} if isinstance(completion, str) else item


def _call(judge: Judge, items: list[JsonObject]) -> Call:
    return lambda: judge.score(items)


def _from_main_thread(call: Call) -> ScoreResponse:
    return call()


def _from_worker_thread(call: Call) -> ScoreResponse:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result()


def _from_asyncio_executor(call: Call) -> ScoreResponse:
    async def in_executor() -> ScoreResponse:
        return await asyncio.get_running_loop().run_in_executor(None, call)

    return asyncio.run(in_executor())


CALLERS: dict[str, Caller] = {
    "main_thread": _from_main_thread,
    "worker_thread": _from_worker_thread,
    "asyncio_executor": _from_asyncio_executor,
}
