"""The door: who is let in, who is turned away, and that whoever leaves gives everything back."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest

from tests.verifier_service.server.fakes import FakeBackend, in_loop
from verifier_service.server.admission import Admission
from verifier_service.server.app import create_app
from verifier_service.server.problems import ProblemError
from verifier_service.server.settings import Settings


def body(count: int) -> dict[str, Any]:
    return {"items": [{"completion": str(place), "gold": str(place)} for place in range(count)]}


def name_of(reply: httpx.Response) -> str:
    return str(reply.json()["type"]).rpartition(":")[2]


def door(most_items: int = 10, most_bytes: int = 1000, backlog_s: float = 0.0) -> Admission:
    return Admission(most_items, most_bytes, 1.5, lambda: backlog_s)


def test_whoever_comes_while_there_is_room_is_let_in_whole() -> None:
    admission = door(most_items=10)
    with admission.enter() as first, admission.enter() as second:
        first.admit(9)
        second.admit(500)
        assert admission.stats.items == 509
        with pytest.raises(ProblemError) as caught:
            admission.enter()
        assert (caught.value.status, caught.value.name) == (503, "overloaded")
        assert caught.value.headers == {"Retry-After": "1"}
        assert "VERIFIER_QUEUE_ITEMS" in caught.value.detail
    admission.enter()


@pytest.mark.parametrize("size", [1, 512])
def test_one_item_and_many_meet_the_same_rule(size: int) -> None:
    admission = door(most_items=10)
    with admission.enter() as first, admission.enter() as late:
        first.admit(10)
        with pytest.raises(ProblemError):
            late.admit(size)
    with admission.enter() as alone:
        alone.admit(size)


@pytest.mark.parametrize(("backlog_s", "retry_after"), [(1.6, "1"), (4.0, "3")])
def test_beyond_its_seconds_of_work_nobody_is_let_in(backlog_s: float, retry_after: str) -> None:
    door(backlog_s=1.5).enter()
    with pytest.raises(ProblemError) as caught:
        door(backlog_s=backlog_s).enter()
    assert (caught.value.status, caught.value.name) == (503, "overloaded")
    assert caught.value.headers == {"Retry-After": retry_after}
    assert "VERIFIER_QUEUE_S" in caught.value.detail


def test_bodies_are_counted_as_they_come() -> None:
    admission = door(most_bytes=1000)
    with admission.enter() as first, admission.enter() as second:
        first.receive(5000)  # alone, it may be as large as a body may be
        with pytest.raises(ProblemError) as caught:
            second.receive(1)
        assert "VERIFIER_QUEUE_MB" in caught.value.detail
    with admission.enter() as third:
        third.receive(900)
    assert (admission.stats.bytes, admission.stats.items, admission.stats.requests) == (0, 0, 0)


def test_a_body_for_which_there_is_room_from_the_start_is_never_refused() -> None:
    admission = door(most_items=10, most_bytes=1000)
    with admission.enter(600) as first, admission.enter() as other:
        assert admission.stats.bytes == 600
        with pytest.raises(ProblemError) as caught:
            admission.enter(600)
        assert "VERIFIER_QUEUE_MB" in caught.value.detail
        other.admit(10)
        first.receive(600)
        assert (admission.stats.bytes, first.size) == (600, 600)
    with admission.enter(5000):  # alone, it may be as large as a body may be
        assert admission.stats.bytes == 5000
    assert (admission.stats.bytes, admission.stats.items, admission.stats.requests) == (0, 0, 0)


def test_what_fails_inside_gives_its_room_back() -> None:
    admission = door()
    with suppress(ZeroDivisionError), admission.enter() as ticket:
        ticket.receive(10)
        ticket.admit(3)
        raise ZeroDivisionError
    assert (admission.stats.bytes, admission.stats.items, admission.stats.requests) == (0, 0, 0)


def test_a_full_house_answers_503_and_loses_nothing(backend: FakeBackend) -> None:
    app = create_app(Settings(queue_items=20), backend=backend)

    async def exchange() -> list[httpx.Response]:
        backend.gate = asyncio.Event()
        async with in_loop(app) as client:
            sent = [asyncio.create_task(client.post("/score", json=body(8))) for _ in range(10)]
            while sum(task.done() for task in sent) < 7:
                await asyncio.sleep(0)
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/stats")).json()["inflight"]["items"] == 24
            refused = await client.post("/golds", json={"golds": [{"gold": "5"}]})
            assert (refused.status_code, name_of(refused)) == (503, "overloaded")
            backend.gate.set()
            return list(await asyncio.gather(*sent))

    replies = asyncio.run(exchange())
    good = [reply for reply in replies if reply.status_code == 200]
    assert len(good) == 3
    for reply in good:
        assert reply.json()["rewards"] == [1.0] * 8
        assert [result["index"] for result in reply.json()["results"]] == list(range(8))
    for reply in replies:
        if reply.status_code != 200:
            assert (reply.status_code, name_of(reply)) == (503, "overloaded")
            assert reply.headers["retry-after"] == "1"
    assert app.state.service.admission.stats.items == 0


def test_who_is_about_to_stop_takes_nothing_new_and_finishes_what_is_inside(backend: FakeBackend) -> None:
    app = create_app(Settings(), backend=backend)

    async def exchange() -> None:
        backend.gate = asyncio.Event()
        async with in_loop(app) as client:
            inside = asyncio.create_task(client.post("/score", json=body(3)))
            while not backend.asked:
                await asyncio.sleep(0)
            app.state.service.admission.draining = True
            assert (await client.get("/healthz")).status_code == 200
            assert (await client.get("/readyz")).status_code == 503
            refused = await client.post("/score", json=body(1))
            assert (refused.status_code, name_of(refused)) == (503, "draining")
            assert "retry-after" in refused.headers
            backend.gate.set()
            assert (await inside).json()["rewards"] == [1.0] * 3

    asyncio.run(exchange())


def scope(path: str = "/score") -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json")],
    }


def test_the_work_of_a_sender_that_has_gone_is_abandoned(backend: FakeBackend) -> None:
    app = create_app(Settings(), backend=backend)
    sent: list[Any] = []

    async def exchange() -> None:
        backend.gate = asyncio.Event()
        async with in_loop(app) as client:
            messages = iter([{"type": "http.request", "body": json.dumps(body(5)).encode()}])

            async def receive() -> Any:
                if (message := next(messages, None)) is not None:
                    return message
                while not backend.asked:
                    await asyncio.sleep(0)
                return {"type": "http.disconnect"}

            async def send(message: Any) -> None:
                sent.append(message)

            await app(scope(), receive, send)
            assert backend.abandoned == 1
            assert (await client.get("/stats")).json()["inflight"] == {"requests": 0, "items": 0, "bytes": 0}
            assert "verifier_requests_abandoned_total 1.0" in (await client.get("/metrics")).text

    asyncio.run(exchange())
    assert sent[0]["status"] == 400  # which nobody reads


def test_a_request_that_is_cancelled_from_without_is_not_taken_for_a_sender_that_has_gone(
    backend: FakeBackend,
) -> None:
    app = create_app(Settings(), backend=backend)

    async def exchange() -> None:
        backend.gate = asyncio.Event()
        async with in_loop(app) as client:
            request = asyncio.create_task(client.post("/score", json=body(5)))
            while not backend.asked:
                await asyncio.sleep(0)
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            assert backend.abandoned == 1
            assert app.state.service.admission.stats.items == 0
            assert "verifier_requests_abandoned_total 0.0" in (await client.get("/metrics")).text

    asyncio.run(exchange())


def test_a_body_that_does_not_come_is_408(backend: FakeBackend) -> None:
    app = create_app(Settings(receive_s=0.01), backend=backend)
    sent: list[Any] = []

    async def exchange() -> None:
        async with in_loop(app):
            messages = iter([{"type": "http.request", "body": b'{"items"', "more_body": True}])

            async def receive() -> Any:
                message = next(messages, None)
                return message if message is not None else await asyncio.Event().wait()

            async def send(message: Any) -> None:
                sent.append(message)

            await app(scope(), receive, send)

    asyncio.run(exchange())
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["setting"] == "VERIFIER_RECEIVE_S"
    assert app.state.service.admission.stats.bytes == 0
