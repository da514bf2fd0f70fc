"""Single calls that come together share a request, and none of them is the worse for it."""

import asyncio
import json
import pickle
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.verifier_service.test_client import FakeService
from verifier_service.adapters.common import Remote
from verifier_service.client import AsyncClient, RequestRefused


class Judge(FakeService):
    """Takes its time where an item says so; refuses a request that holds a monster."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = asyncio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        completions = [item["completion"] for item in json.loads(request.content)["items"]]
        if "slow" in completions:
            await self.let_go.wait()
        if "monster" in completions:
            self.requests.append(request)
            return httpx.Response(422, json={"status": 422, "title": "too deep"})
        return self.reply(request)


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def remote(judge: Judge) -> Remote:
    made = Remote("http://judge", on_no_verdict="raise")
    made.async_client = AsyncClient("http://judge", transport=judge)
    return made


def item(number: int | str) -> dict[str, Any]:
    return {"completion": str(number), "gold": "5"}


async def verdicts(remote: Remote, numbers: Any) -> list[Any]:
    calls = (remote.ajudge([item(number)]) for number in numbers)
    replies = await asyncio.gather(*calls, return_exceptions=True)
    return [reply if isinstance(reply, BaseException) else reply[0] for reply in replies]


def test_calls_of_one_turn_share_requests_and_keep_their_own_results(remote: Remote, judge: Judge) -> None:
    results = asyncio.run(verdicts(remote, range(150)))
    assert [result.reward for result in results] == [float(number == 5) for number in range(150)]
    assert {result.index for result in results} == {0}
    assert judge.sizes == [32, 32, 32, 32, 22]
    assert remote.counts.items == 150


def test_whoever_comes_alone_is_not_kept(
    remote: Remote, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_turn() -> list[float]:
        delays: list[float] = []
        loop = asyncio.get_running_loop()
        call_later = loop.call_later

        def noted(delay: float, call: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
            if getattr(call, "__name__", "") == "_leave":
                delays.append(delay)
            return call_later(delay, call, *arguments, **more)

        monkeypatch.setattr(loop, "call_later", noted)
        for number in range(3):
            await remote.ajudge([item(number)])
        slow = asyncio.ensure_future(remote.ajudge([item("slow")]))
        while not judge.let_go.is_set() and len(delays) < 4:
            await asyncio.sleep(0)
        for _ in range(5):
            await asyncio.sleep(0)
        # Another one is under way: whoever comes now waits for company, some milliseconds.
        await remote.ajudge([item(5)])
        judge.let_go.set()
        await slow
        return delays

    delays = asyncio.run(in_turn())
    assert delays[:4] == [0.0] * 4
    assert 0 < delays[4] < 0.01
    assert judge.sizes == [1] * 5


def test_one_that_is_refused_does_not_take_the_others_along(remote: Remote) -> None:
    results = asyncio.run(verdicts(remote, [5, "monster", 6]))
    assert [results[0].reward, results[2].reward] == [1.0, 0.0]
    assert isinstance(results[1], RequestRefused)


def test_one_that_cannot_be_sent_does_not_take_the_others_along(remote: Remote) -> None:
    nested: list[Any] = []
    nested.append(nested)

    async def ask() -> list[Any]:
        items = [item(5), {"completion": "5", "gold": {5}}, {"completion": "5", "gold": nested}, item(6)]
        calls = (remote.ajudge([one]) for one in items)
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, unknown, endless, last = asyncio.run(ask())
    assert [first[0].reward, last[0].reward] == [1.0, 0.0]
    assert isinstance(unknown, TypeError)
    assert isinstance(endless, ValueError)


def test_one_that_gives_up_does_not_take_the_others_along(remote: Remote, judge: Judge) -> None:
    async def ask() -> list[Any]:
        first, second = (asyncio.ensure_future(remote.ajudge([item(one)])) for one in ("slow", 5))
        for _ in range(5):
            await asyncio.sleep(0)
        first.cancel()
        judge.let_go.set()
        return list(await asyncio.gather(first, second, return_exceptions=True))

    cancelled, [judged] = asyncio.run(ask())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert judged.reward == 1.0
    assert judge.sizes == [2]


def test_those_who_gave_up_before_it_left_are_not_asked_about(remote: Remote, judge: Judge) -> None:
    async def ask() -> None:
        task = asyncio.ensure_future(remote.ajudge([item(5)]))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await remote.ajudge([item(6)])

    asyncio.run(ask())
    assert [body["items"][0]["completion"] for body in judge.bodies] == ["6"]


def test_a_loop_that_ends_while_they_wait_leaves_nothing_behind(remote: Remote, judge: Judge) -> None:
    async def leave() -> None:
        asyncio.ensure_future(remote.ajudge([item("slow")]))  # noqa: RUF006
        for _ in range(5):
            await asyncio.sleep(0)

    asyncio.run(leave())
    judge.let_go = asyncio.Event()
    assert asyncio.run(verdicts(remote, [5]))[0].reward == 1.0
    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave())
    # Closed in between, with calls under way and waiting.
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert asyncio.run(verdicts(remote, [5]))[0].reward == 1.0


def test_one_for_none_together(judge: Judge) -> None:
    remote = Remote("http://judge", on_no_verdict=None, together=1)
    remote.async_client = AsyncClient("http://judge", transport=judge)
    asyncio.run(verdicts(remote, range(3)))
    assert judge.sizes == [1, 1, 1]


def test_a_copy_gathers_by_itself() -> None:
    remote = Remote("http://judge", on_no_verdict=0.0, together=7)
    copy = pickle.loads(pickle.dumps(remote))
    copy.async_client = AsyncClient("http://judge", transport=(judge := Judge()))
    asyncio.run(verdicts(copy, range(14)))
    assert judge.sizes == [7, 7]
