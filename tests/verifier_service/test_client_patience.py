"""The client where the service is away, full or slow: what it sends again, where to, and when it gives up."""

import asyncio
import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.verifier_service.test_client import URL, FakeService
from verifier_service.client import AsyncClient, Client, RequestRefused, ServiceUnreachable
from verifier_service.client.addresses import Address, addresses
from verifier_service.client.servers import FAILURES_TO_REST, Resting, Servers

ITEM = {"completion": "5", "gold": "5"}
Answer = Callable[[httpx.Request], httpx.Response]


class Clock:
    """Time that passes only where somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.creep = 0.0  # passes from one look to the next, as where a process stands still
        self.slept: list[float] = []

    def __call__(self) -> float:
        self.now += self.creep
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr("time.monotonic", found)
    monkeypatch.setattr("time.sleep", found.sleep)
    return found


class Script:
    """Answers with these, one after the other, and then as the service does; remembers where it was asked."""

    def __init__(self, *first: httpx.Response | Exception, service: FakeService | None = None) -> None:
        self.left = list(first)
        self.service = service or FakeService()
        self.asked: list[str] = []
        self.timeouts: list[float] = []
        self.ids: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.host)
        self.timeouts.append(request.extensions["timeout"]["read"])
        self.ids.append(request.headers.get("x-request-id"))
        following = self.left.pop(0) if self.left else self.service.reply(request)
        if isinstance(following, Exception):
            raise following
        return following

    def client(self, url: str = URL, **options: Any) -> Client:
        return Client(url, transport=httpx.MockTransport(self), **options)


def refusing(status: int, after: str | None = None) -> httpx.Response:
    return httpx.Response(
        status, json={"status": status}, headers={} if after is None else {"retry-after": after}
    )


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("cut off"),
        refusing(429),
        refusing(503),
        refusing(502),
        refusing(504),
    ],
)
def test_what_passes_is_tried_again_with_growing_pauses(
    clock: Clock, failure: httpx.Response | Exception
) -> None:
    script = Script(failure, failure, failure)
    assert script.client().score([ITEM], request_id="run7").rewards == [1.0]
    assert script.ids == ["run7"] * 4
    first, second, third = clock.slept
    assert 0.125 <= first <= 0.25
    assert 0.25 <= second <= 0.5
    assert 0.5 <= third <= 1.0


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ReadTimeout("slow"),
        httpx.UnsupportedProtocol("ftp"),
        httpx.InvalidURL("none"),
        refusing(500),
        refusing(401),
        refusing(422),
    ],
)
def test_what_does_not_pass_is_not_tried_again(clock: Clock, failure: httpx.Response | Exception) -> None:
    script = Script(failure)
    with pytest.raises((ServiceUnreachable, RequestRefused)):
        script.client().score([ITEM])
    assert (len(script.asked), clock.slept) == (1, [])


def test_no_verdict_is_asked_for_twice(clock: Clock) -> None:
    service = FakeService()
    error = {"code": "worker_lost", "message": "", "retryable": True}
    result = {"index": 0, "status": "error", "reward": None, "verdict": None, "error": error}
    script = Script(httpx.Response(200, json=service.response([result])))
    assert script.client().score([ITEM]).rewards == [None]
    assert (len(script.asked), clock.slept) == (1, [])


@pytest.mark.parametrize("status", [429, 503])
def test_the_pause_that_the_service_asks_for_is_made(clock: Clock, status: int) -> None:
    script = Script(refusing(status, after="7"))
    assert script.client().score([ITEM]).rewards == [1.0]
    assert len(clock.slept) == 1
    assert 7 <= clock.slept[0] <= 7 * 1.25


def test_a_pause_longer_than_the_patience_is_not_made(clock: Clock) -> None:
    with pytest.raises(RequestRefused) as caught:
        Script(refusing(503, after="3600")).client().score([ITEM])
    assert (caught.value.retry_after_s, clock.slept) == (3600, [])
    with pytest.raises(RequestRefused):
        Script(refusing(503, after="7")).client(total_s=5).score([ITEM])
    assert clock.slept == []


def test_waits_that_a_full_service_asks_for_are_no_tries_and_are_bounded_in_all(clock: Clock) -> None:
    script = Script(*[refusing(503, after="1")] * 12)
    assert script.client(retries=1).score([ITEM]).rewards == [1.0]
    assert len(clock.slept) == 12
    assert all(1 <= pause <= 1.25 for pause in clock.slept)
    clock.slept.clear()
    endless = Script(*[refusing(503, after="1")] * 99)
    with pytest.raises(RequestRefused, match="503"):
        endless.client(timeout_s=10).score([ITEM])
    assert 8 <= sum(clock.slept) <= 10
    with pytest.raises(RequestRefused):
        Script(refusing(503, after="1")).client(retries=0).score([ITEM])


@pytest.mark.parametrize("retries", [0, 2])
def test_the_tries_are_bounded(clock: Clock, retries: int) -> None:
    script = Script(*[httpx.ConnectError("refused")] * 9)
    with pytest.raises(ServiceUnreachable, match=f"no reply from {URL}: refused"):
        script.client(retries=retries).score([ITEM])
    assert len(script.asked) == retries + 1
    full = Script(*[refusing(503)] * 9)
    with pytest.raises(RequestRefused, match="503"):
        full.client(retries=retries).score([ITEM])
    assert len(full.asked) == retries + 1


def test_all_of_a_call_ends_within_its_total(clock: Clock) -> None:
    script = Script(*[httpx.ConnectError("refused")] * 99)
    began = clock()
    with pytest.raises(ServiceUnreachable):
        script.client(retries=99, total_s=12).score([ITEM])
    # Little of it is given away: at the end no more than the rest of an open circuit.
    assert 7 <= clock() - began <= 12
    assert len(script.asked) > 3
    # What is left of the total is all that a try may take.
    assert script.timeouts == sorted(script.timeouts, reverse=True)
    assert script.timeouts[0] == 12


@pytest.mark.parametrize("creep", [0.2, 0.3, 0.45, 0.7])
def test_a_process_that_stands_still_asks_with_a_time_that_sockets_take(clock: Clock, creep: float) -> None:
    script = Script(httpx.ConnectTimeout("over"))
    client = script.client(total_s=1.0, retries=0)
    clock.creep = creep
    with pytest.raises(ServiceUnreachable):
        client.info()
    assert all(timeout > 0 for timeout in script.timeouts)


def test_the_total_counts_for_all_parts_of_a_batch(clock: Clock) -> None:
    service = FakeService(max_items=1)
    script = Script(service=service)

    def slow(request: httpx.Request) -> httpx.Response:
        clock.now += 2
        return script(request)

    client = Client(URL, total_s=7, transport=httpx.MockTransport(slow))
    with pytest.raises(ServiceUnreachable, match="time of the call is over"):
        client.score([ITEM] * 9)
    assert 3 <= len(script.asked) <= 5


def by_host(**answers: Answer) -> tuple[httpx.MockTransport, list[str]]:
    asked: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return answers[request.url.host](request)

    return httpx.MockTransport(reply), asked


def down(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused")


def test_several_servers_share_the_work() -> None:
    transport, asked = by_host(a=FakeService().reply, b=FakeService().reply, c=FakeService().reply)
    client = Client("http://a:1, http://b:1/score,c:1,", transport=transport)
    for _ in range(9):
        client.score([ITEM])
    assert sorted(asked) == sorted(["a", "b", "c"] * 3)
    assert client.url == "http://a:1,http://b:1,http://c:1"


def test_a_batch_is_shared_among_the_servers_and_comes_back_in_order() -> None:
    a, b, c = FakeService(), FakeService(), FakeService()
    transport, asked = by_host(a=a.reply, b=b.reply, c=c.reply)
    client = Client("http://a,http://b,http://c", transport=transport)
    items = [{"completion": str(number % 3), "gold": "1", "id": number} for number in range(200)]
    response = client.score(items)
    assert [result.id for result in response.results] == list(range(200))
    assert [result.index for result in response.results] == list(range(200))
    assert response.rewards == [float(number % 3 == 1) for number in range(200)]
    assert sorted(asked) == ["a", "b", "c"]
    assert sorted(a.sizes + b.sizes + c.sizes) == [66, 67, 67]
    asked.clear()
    # What is small goes in one request.
    client.score(items[:32])
    assert len(asked) == 1


def test_the_awaited_batch_is_shared_too() -> None:
    a, b = FakeService(), FakeService()
    transport, asked = by_host(a=a.reply, b=b.reply)
    client = AsyncClient("http://a,http://b", transport=transport)
    items = [{"completion": str(number % 3), "gold": "1"} for number in range(100)]
    response = asyncio.run(client.score(items))
    assert response.rewards == [float(number % 3 == 1) for number in range(100)]
    assert (sorted(asked), a.sizes, b.sizes) == (["a", "b"], [50], [50])


def test_a_part_whose_server_is_down_goes_to_another() -> None:
    b = FakeService()
    transport, _ = by_host(a=down, b=b.reply)
    client = Client("http://a,http://b", transport=transport)
    assert client.score([ITEM] * 100).rewards == [1.0] * 100
    assert sorted(b.sizes) == [50, 50]


def test_an_error_in_one_part_is_raised_and_ends_the_others(clock: Clock) -> None:
    transport, _ = by_host(a=lambda _: refusing(422), b=FakeService().reply)
    with pytest.raises(RequestRefused, match="422"):
        Client("http://a,http://b", transport=transport).score([ITEM] * 100)
    with pytest.raises(RequestRefused, match="422"):
        asyncio.run(AsyncClient("http://a,http://b", transport=transport).score([ITEM] * 100))


def test_servers_of_two_versions_do_not_share_a_batch() -> None:
    a, b = FakeService(engine="e1"), FakeService(engine="e2")
    transport, _ = by_host(a=a.reply, b=b.reply)
    response = Client("http://a,http://b", transport=transport).score([ITEM] * 100)
    assert response.rewards == [1.0] * 100
    assert response.engine in ("e1", "e2")
    response = asyncio.run(AsyncClient("http://a,http://b", transport=transport).score([ITEM] * 100))
    assert len(response.results) == 100


def test_servers_that_say_at_once_and_are_full_still_are_not_besieged(clock: Clock) -> None:
    transport, asked = by_host(a=lambda _: refusing(503, after="0"), b=lambda _: refusing(503, after="0"))
    with pytest.raises(RequestRefused):
        Client("http://a,http://b", timeout_s=10, transport=transport).score([ITEM])
    assert 40 < len(asked) < 90
    assert clock.slept[0] == 0
    assert min(clock.slept[1:]) >= 0.125


def test_a_server_that_claims_to_be_full_for_ever_is_tried_again(clock: Clock) -> None:
    state = {"full": True}
    b = FakeService()

    def sometimes(request: httpx.Request) -> httpx.Response:
        return refusing(503, after="9" * 30) if state["full"] else FakeService().reply(request)

    transport, asked = by_host(a=sometimes, b=b.reply)
    client = Client("http://a,http://b", transport=transport)
    for _ in range(4):
        client.score([ITEM])
    state["full"] = False
    clock.now += 61
    asked.clear()
    for _ in range(4):
        client.score([ITEM])
    assert sorted(asked) == ["a", "a", "b", "b"]


def test_too_many_calls_of_our_own_do_not_open_the_circuit(clock: Clock) -> None:
    script = Script(*[httpx.PoolTimeout("none left")] * (FAILURES_TO_REST + 1))
    client = script.client(retries=0)
    for _ in range(FAILURES_TO_REST + 1):
        with pytest.raises(ServiceUnreachable, match="none left"):
            client.score([ITEM])
    assert client.score([ITEM]).rewards == [1.0]


def test_a_server_that_is_down_is_left_out_until_it_is_back(clock: Clock) -> None:
    state = {"down": True}

    def sometimes(request: httpx.Request) -> httpx.Response:
        return down(request) if state["down"] else FakeService().reply(request)

    transport, asked = by_host(a=sometimes, b=FakeService().reply)
    client = Client("http://a,http://b", transport=transport)
    for _ in range(50):
        assert client.score([ITEM]).rewards == [1.0]
    assert asked.count("a") <= FAILURES_TO_REST + 1
    state["down"] = False
    clock.now += 60
    asked.clear()
    for _ in range(10):
        client.score([ITEM])
    assert asked.count("a") >= 4


def test_a_server_that_says_nothing_is_given_up_for_another() -> None:
    def silent(_: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("slow")

    transport, asked = by_host(a=silent, b=FakeService().reply)
    assert Client("http://a,http://b", transport=transport).score([ITEM]).rewards == [1.0]
    assert asked == ["a", "b"]


def test_a_full_server_is_spared_while_another_has_room(clock: Clock) -> None:
    transport, asked = by_host(a=lambda _: refusing(503, after="9"), b=FakeService().reply)
    client = Client("http://a,http://b", transport=transport)
    for _ in range(5):
        assert client.score([ITEM]).rewards == [1.0]
    assert asked == ["a", "b", "b", "b", "b", "b"]
    assert clock.slept == [0.0]


def test_the_least_busy_server_is_asked_next() -> None:
    servers = Servers(addresses("a,b"), Clock())
    with servers.taken() as first, servers.taken() as second:
        assert first is not second
        with servers.taken() as third:
            assert third in (first, second)
            assert sorted(server.in_flight for server in servers.all) == [1, 2]
    assert [server.in_flight for server in servers.all] == [0, 0]


def test_the_circuit_opens_after_failures_in_a_row_and_one_call_tries_it(clock: Clock) -> None:
    servers = Servers(addresses("a"), clock)
    for _ in range(FAILURES_TO_REST):
        with servers.taken() as server:
            servers.failed(server)
    with pytest.raises(Resting), servers.taken():
        pass
    clock.now += 0.6
    with servers.taken() as server:
        # Nobody else goes there while this one finds out.
        with pytest.raises(Resting), servers.taken():
            pass
        servers.answered(server, 200)
    with servers.taken(), servers.taken():
        pass


def test_the_rest_grows_and_is_bounded(clock: Clock) -> None:
    servers = Servers(addresses("a"), clock)
    rests = []
    for _ in range(30):
        try:
            with servers.taken() as server:
                servers.failed(server)
        except Resting as resting:
            rests.append(resting.seconds)
            clock.now += resting.seconds
    assert rests[0] == pytest.approx(0.5)
    assert rests == sorted(rests)
    assert rests[-1] == pytest.approx(5)


def test_an_open_circuit_costs_no_call(clock: Clock) -> None:
    script = Script(*[httpx.ConnectError("refused")] * 99)
    client = script.client(retries=0)
    for _ in range(FAILURES_TO_REST):
        with pytest.raises(ServiceUnreachable):
            client.score([ITEM])
    with pytest.raises(ServiceUnreachable, match="left alone for"):
        client.score([ITEM])
    assert len(script.asked) == FAILURES_TO_REST
    # With patience, the call waits for the circuit to close, and then is the one that tries.
    script.left.clear()
    client._courier()._patience = Script().client(retries=3).patience
    assert client.score([ITEM]).rewards == [1.0]
    assert 0.4 <= clock.slept[0] <= 0.7


def test_a_refusal_does_not_open_the_circuit() -> None:
    script = Script(*[refusing(422)] * 20)
    client = script.client()
    for _ in range(20):
        with pytest.raises(RequestRefused):
            client.score([ITEM])
    assert client.score([ITEM]).rewards == [1.0]


def test_the_profile_may_stand_in_the_address() -> None:
    asked: list[str] = []

    def reply(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return FakeService().reply(request)

    client = Client("http://h:1/score?profile=r1-zero", transport=httpx.MockTransport(reply))
    client.score([ITEM])
    client.info()
    assert asked == ["http://h:1/score?profile=r1-zero", "http://h:1/info"]
    assert addresses("h:1,h:1/") == (Address("http://h:1"),)


def test_the_async_client_has_the_same_patience(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asyncio.sleep", clock.asleep)
    script = Script(httpx.ConnectError("refused"), refusing(503, after="2"), refusing(429))
    client = AsyncClient(URL, transport=httpx.MockTransport(script))
    assert asyncio.run(client.score([ITEM])).rewards == [1.0]
    assert len(script.asked) == 4
    assert 2 <= clock.slept[1] <= 2.5


def test_a_call_that_is_cancelled_no_longer_counts() -> None:
    never = httpx.MockTransport(_hang)
    client = AsyncClient(URL, transport=never)

    async def cancelled() -> None:
        task = asyncio.create_task(client.score([ITEM]))
        for _ in range(5):
            await asyncio.sleep(0)
        assert client._courier().servers.all[0].in_flight == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client._courier().servers.all[0].in_flight == 0

    asyncio.run(cancelled())


async def _hang(_: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


def test_threads_share_one_client() -> None:
    service = FakeService()
    client = Client(URL, transport=service)
    rewards: list[list[float | None]] = []

    def ask(right: bool) -> None:
        items = [{"completion": "5" if right else "6", "gold": "5"}]
        rewards.extend(client.score(items).rewards for _ in range(20))

    threads = [threading.Thread(target=ask, args=(place % 2 == 0,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(rewards) == [[0.0]] * 80 + [[1.0]] * 80
    assert client._courier().servers.all[0].in_flight == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_is_not_held_by_a_lock_of_its_parent() -> None:
    client = Client(URL, transport=FakeService())
    client.score([ITEM])
    with client._courier().servers._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if client.score([ITEM]).rewards == [1.0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_patience_survives_pickling() -> None:
    client = Client("http://a,http://b/score?profile=r1", retries=7, total_s=9, timeout_s=3)
    client._courier()
    copy = pickle.loads(pickle.dumps(client))
    assert (copy.patience, copy.addresses) == (client.patience, client.addresses)
    assert copy._couriers == {}
