"""The client: what it sends, what it makes of the reply, and what it says when there is none."""

import asyncio
import json
import math
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from verifier_service.client import (
    AsyncClient,
    Client,
    RequestRefused,
    ServiceError,
    ServiceUnreachable,
    UnexpectedReply,
    base_url,
)
from verifier_service.schema import (
    AnyOf,
    GoldQuery,
    Item,
    Message,
    Problem,
    ProfileSpec,
    RewardSpec,
    RulesPatch,
    ToleranceSpec,
)

URL = "http://judge:8000"
Handler = Callable[[httpx.Request], httpx.Response]


class FakeService(httpx.MockTransport):
    """Pays a completion that is its gold; takes `max_items` and `max_body_bytes`; remembers its requests."""

    def __init__(self, max_items: int = 4096, max_body_bytes: int = 2**24, engine: str = "e1") -> None:
        super().__init__(self.reply)
        self.max_items = max_items
        self.max_body_bytes = max_body_bytes
        self.engine = engine
        self.requests: list[httpx.Request] = []

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests if request.content]

    @property
    def sizes(self) -> list[int]:
        return [len(body.get("items", body.get("golds"))) for body in self.bodies]

    def reply(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path.endswith("/info"):
            return httpx.Response(200, json=self.info())
        body = json.loads(request.content)
        sent = body.get("items", body.get("golds"))
        if len(request.content) > self.max_body_bytes or len(sent) > self.max_items:
            problem = {"type": "urn:x", "title": "too large", "status": 413, "detail": "split it"}
            return httpx.Response(413, json=problem)
        if request.url.path.endswith("/golds"):
            results: list[Any] = [{"index": place, "ok": True} for place in range(len(sent))]
            return httpx.Response(200, json={"results": results, "engine": self.engine})
        results = [self.result(place, item) for place, item in enumerate(sent)]
        return httpx.Response(200, json=self.response(results))

    @staticmethod
    def result(place: int, item: Any) -> dict[str, Any]:
        right = item["completion"] == item.get("gold")
        verdict = "correct" if right else "incorrect"
        return {
            "id": item.get("id"),
            "index": place,
            "status": "ok",
            "reward": float(right),
            "verdict": verdict,
        }

    def response(self, results: list[Any]) -> dict[str, Any]:
        rewards = [result["reward"] for result in results]
        named = {"profile": "accuracy", "profile_hash": "h", "engine": self.engine}
        return {"results": results, "rewards": rewards, "errors": 0, **named}

    def info(self) -> dict[str, Any]:
        limits = {
            "max_items": self.max_items,
            "max_body_bytes": self.max_body_bytes,
            "max_depth": 64,
            "deadline_s": 10,
            "max_deadline_s": 120,
            "item_cpu_s": 1.5,
        }
        return {
            "version": "1",
            "engine": self.engine,
            "pid": 1,
            "limits": limits,
            "profiles": {"accuracy": {"hash": "h", "rewards": {"accuracy": 1}}},
            "default_profile": "accuracy",
        }


def answering(*replies: httpx.Response | Exception) -> Client:
    """A client to which these replies come, in this order."""
    left = list(replies)

    def reply(_: httpx.Request) -> httpx.Response:
        following = left.pop(0)
        if isinstance(following, Exception):
            raise following
        return following

    return Client(URL, retries=0, transport=httpx.MockTransport(reply))


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERIFIER_URL", raising=False)
    monkeypatch.delenv("VERIFIER_API_KEY", raising=False)


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def client(service: FakeService) -> Client:
    return Client(URL, transport=service)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("http://h:1", "http://h:1"),
        ("http://h:1/", "http://h:1"),
        ("http://h:1/score", "http://h:1"),
        ("http://h:1/score/", "http://h:1"),
        ("https://h/judge/score", "https://h/judge"),
        ("https://h/judge", "https://h/judge"),
        ("h:8000", "http://h:8000"),
        ("http://[::1]:8000/score", "http://[::1]:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("https://judge.example/a/b/score/", "https://judge.example/a/b"),
        (" http://h:1\n", "http://h:1"),
    ],
)
def test_an_address_is_a_base_or_that_of_score(given: str, read: str) -> None:
    assert base_url(given) == read


def test_address_and_key_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, service: FakeService
) -> None:
    monkeypatch.setenv("VERIFIER_URL", "http://elsewhere:9/score")
    monkeypatch.setenv("VERIFIER_API_KEY", "k")
    Client(transport=service).score([])
    Client(URL, api_key="", transport=service).score([])
    first, second = service.requests
    assert str(first.url) == "http://elsewhere:9/score"
    assert first.headers["authorization"] == "Bearer k"
    assert str(second.url) == f"{URL}/score"
    assert "authorization" not in second.headers
    # As a key is read from a file.
    Client(URL, api_key="k\n", transport=service).score([])
    assert service.requests[2].headers["authorization"] == "Bearer k"


def test_without_an_address_there_is_no_client() -> None:
    with pytest.raises(ValueError, match="VERIFIER_URL"):
        Client()


def test_results_come_in_order_with_their_outcomes(client: Client) -> None:
    response = client.score([{"completion": "5", "gold": "5", "id": "a"}, {"completion": "6", "gold": "5"}])
    assert response.rewards == [1.0, 0.0]
    assert [result.outcome for result in response.results] == ["right", "wrong"]
    assert [result.id for result in response.results] == ["a", None]


def test_only_what_was_asked_for_is_sent(client: Client, service: FakeService) -> None:
    client.score([])
    client.score(
        [],
        profile="r1",
        rules=RulesPatch(tolerance=ToleranceSpec(rel=0.01)),
        deadline_s=3,
        explain=True,
        echo_info=True,
        request_id="run7",
    )
    assert service.bodies[0] == {"items": []}
    assert service.bodies[1] == {
        "items": [],
        "profile": "r1",
        "rules": {"tolerance": {"rel": 0.01}},
        "deadline_s": 3,
        "explain": True,
        "echo_info": True,
    }
    assert service.requests[1].headers["x-request-id"] == "run7"


def test_items_of_every_kind_are_sent_as_mappings(client: Client, service: FakeService) -> None:
    item = Item(
        completion=[Message(role="assistant", content="5")],
        gold=AnyOf(any_of=["5", 6]),
        profile=ProfileSpec(schema=1, rewards={"accuracy": RewardSpec(weight=2)}),
    )
    client.score([item, {"completion": "5", "gold": AnyOf(any_of=["5"])}])
    assert service.bodies[0]["items"] == [
        {
            "completion": [{"role": "assistant", "content": "5"}],
            "gold": {"any_of": ["5", 6]},
            "profile": {"schema": 1, "rewards": {"accuracy": {"weight": 2}}},
        },
        {"completion": "5", "gold": {"any_of": ["5"]}},
    ]


def test_numbers_of_numpy_are_numbers(client: Client, service: FakeService) -> None:
    numpy = pytest.importorskip("numpy")
    client.score([{"completion": "5", "gold": numpy.int64(5), "choices": numpy.array(["a", "b"])}])
    assert service.bodies[0]["items"] == [{"completion": "5", "gold": 5, "choices": ["a", "b"]}]


def test_what_is_no_json_is_named(client: Client) -> None:
    with pytest.raises(TypeError, match="object cannot be sent as JSON"):
        client.score([{"completion": object()}])


def test_the_body_is_ascii_and_a_lone_surrogate_travels(client: Client, service: FakeService) -> None:
    client.score([{"completion": "π \ud83d 😀"}])
    content = service.requests[0].content
    assert content.isascii()
    assert rb"\ud83d " in content
    assert service.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (7, [7])])
def test_what_fits_goes_in_one_request(
    client: Client, service: FakeService, count: int, sizes: list[int]
) -> None:
    assert len(client.score([{"completion": "5"}] * count).results) == count
    assert service.sizes == sizes


def test_a_batch_of_too_many_items_is_split_and_joined_in_order() -> None:
    service = FakeService(max_items=3)
    client = Client(URL, transport=service)
    items = [{"completion": str(number % 2), "gold": "1", "id": number} for number in range(8)]
    response = client.score(items, profile="r1")
    assert [result.id for result in response.results] == list(range(8))
    assert [result.index for result in response.results] == list(range(8))
    assert response.rewards == [number % 2 for number in range(8)]
    assert service.sizes == [8, 3, 3, 2]
    assert all(body["profile"] == "r1" for body in service.bodies)
    # The limits are known now.
    client.score(items)
    assert service.sizes[4:] == [3, 3, 2]


def test_a_batch_of_too_many_bytes_is_split() -> None:
    service = FakeService(max_body_bytes=1000)
    response = Client(URL, transport=service).score([{"completion": "x" * 300}] * 5)
    assert len(response.results) == 5
    assert service.sizes == [5, 2, 2, 1]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_item_that_fits_into_no_request_costs_itself_alone(place: int) -> None:
    items = [{"completion": "5", "gold": "5"}] * 2
    items.insert(place, {"completion": "x" * 2000})
    response = Client(URL, transport=FakeService(max_body_bytes=1000)).score(items)
    assert [result.index for result in response.results] == [0, 1, 2]
    assert response.rewards == [None if at == place else 1.0 for at in range(3)]
    assert (response.errors, response.engine) == (1, "e1")
    error = response.results[place].error
    assert error is not None
    assert (error.code, error.message) == ("invalid_item", "it fits into no request: split it")


def test_what_is_beside_the_items_may_be_too_large_too() -> None:
    client = Client(URL, transport=FakeService(max_body_bytes=1000))
    with pytest.raises(RequestRefused, match="413 too large: split it"):
        client.score([{"completion": "5"}], profile="x" * 2000)


def test_parts_that_were_judged_differently_are_not_joined() -> None:
    service = FakeService(max_items=1)
    client = Client(URL, transport=service)

    def changing(request: httpx.Request) -> httpx.Response:
        service.engine = f"e{len(service.requests)}"
        return service.reply(request)

    client = Client(URL, transport=httpx.MockTransport(changing))
    with pytest.raises(UnexpectedReply, match="engine changed"):
        client.score([{"completion": "5"}] * 2)


def test_golds_are_bare_or_queries(client: Client, service: FakeService) -> None:
    golds = ["5", 7, ["1", "2"], {"any_of": ["5"]}, {"answer": "5"}, GoldQuery(gold="5", prompt="why?"), None]
    response = client.check_golds(golds)
    assert [result.index for result in response.results] == list(range(7))
    assert service.bodies[0]["golds"] == [
        {"gold": "5"},
        {"gold": 7},
        {"gold": ["1", "2"]},
        {"gold": {"any_of": ["5"]}},
        {"answer": "5"},
        {"gold": "5", "prompt": "why?"},
        {"gold": None},
    ]


def test_many_golds_are_split_too() -> None:
    service = FakeService(max_items=2)
    response = Client(URL, transport=service).check_golds(["5"] * 5)
    assert [result.index for result in response.results] == list(range(5))
    assert response.engine == "e1"


def test_info_tells_limits_and_profiles(client: Client) -> None:
    info = client.info()
    assert (info.engine, info.limits.max_items) == ("e1", 4096)
    assert info.profiles["accuracy"].rewards == {"accuracy": 1}


def test_a_refusal_carries_the_problem() -> None:
    problem = {
        "type": "urn:verifier-service:problem:invalid-request",
        "title": "no",
        "status": 422,
        "detail": "items is missing",
        "request_id": "r",
        "errors": [{"path": "items", "message": "is missing"}],
    }
    with pytest.raises(RequestRefused, match="422 no: items is missing") as caught:
        answering(httpx.Response(422, json=problem)).score([])
    assert caught.value.problem.errors is not None
    assert caught.value.problem.errors[0].path == "items"
    assert caught.value.status == 422


NOW = "Mon, 12 Oct 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("soon", None),
        (None, None),
        ("-5", None),
        ("1e9", None),
        ("9" * 400, math.inf),
        ("Mon, 12 Oct 2026 10:00:09 GMT", 9.0),
        ("Mon, 12 Oct 2026 12:00:09 +0200", 9.0),
        ("Mon, 12 Oct 2026 09:00:00 GMT", 0.0),
        ("Mon, 99 Oct 99999999999999999999 10:00:00 GMT", None),
    ],
)
def test_a_refusal_says_when_to_come_again(header: str | None, seconds: float | None) -> None:
    headers = {"date": NOW} if header is None else {"retry-after": header, "date": NOW}
    with pytest.raises(RequestRefused) as caught:
        answering(httpx.Response(503, json={"status": 503}, headers=headers)).score([])
    assert caught.value.retry_after_s == seconds


@pytest.mark.parametrize(
    "content", [b"<html>Bad Gateway</html>", b"", b"[]", b"5", b"\xff", b'{"errors": 5}']
)
def test_a_refusal_by_something_in_between_is_one_too(content: bytes) -> None:
    with pytest.raises(RequestRefused, match="502") as caught:
        answering(httpx.Response(502, content=content)).score([])
    assert caught.value.problem.status == 502


def test_the_status_is_that_of_the_reply_whatever_its_body_says() -> None:
    with pytest.raises(RequestRefused) as caught:
        answering(httpx.Response(502, json={"status": 404, "detail": "upstream"})).score([])
    assert (caught.value.status, caught.value.problem.detail) == (502, "upstream")


def test_a_redirection_is_not_followed_but_named() -> None:
    reply = httpx.Response(307, headers={"location": "https://judge/score"})
    with pytest.raises(RequestRefused, match="307 redirected to https://judge/score: give that address"):
        answering(reply).score([])


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, content=b"<html>hello</html>"),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(200, json=None),
        httpx.Response(200, json={"results": []}),
        httpx.Response(200, json=FakeService().response([])),
        httpx.Response(200, json=FakeService().response([FakeService.result(1, {"completion": ""})])),
        httpx.Response(
            200, json={**FakeService().response([FakeService.result(0, {"completion": ""})]), "rewards": []}
        ),
    ],
)
def test_a_reply_that_is_not_the_services_is_not_taken_for_one(reply: httpx.Response) -> None:
    with pytest.raises(UnexpectedReply):
        answering(reply).score([{"completion": "5"}])


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.ReadTimeout(""),
        httpx.RemoteProtocolError("cut off"),
    ],
)
def test_no_reply_is_told_with_the_address(error: httpx.TransportError) -> None:
    with pytest.raises(ServiceUnreachable, match=URL) as caught:
        answering(error).score([])
    assert caught.value.__cause__ is error
    assert isinstance(caught.value, ServiceError)


@pytest.mark.parametrize(
    "reply", [httpx.ConnectError("refused"), httpx.Response(200, json={}), httpx.Response(502)]
)
def test_a_password_in_the_address_is_not_told(reply: httpx.Response | Exception) -> None:
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        if isinstance(reply, Exception):
            raise reply
        return reply

    url = "http://me:secret@judge:8000"
    client = Client(url, retries=0, transport=httpx.MockTransport(answer))
    with pytest.raises(ServiceError) as caught:
        client.score([])
    assert requests[0].headers["authorization"] == "Basic bWU6c2VjcmV0"
    assert "secret" not in f"{caught.value} {client.url}"
    with pytest.raises(ValueError, match="judge:port") as said:
        Client(f"{url},http://me:secret@judge:port")
    assert "secret" not in str(said.value)


@pytest.mark.parametrize("text", ["naïve", "two\nlines"])
def test_what_no_header_takes_is_said_at_once(text: str, client: Client) -> None:
    with pytest.raises(ValueError, match="request_id"):
        client.score([], request_id=text)
    with pytest.raises(ValueError, match="VERIFIER_API_KEY") as caught:
        Client(URL, api_key=text)
    assert text not in str(caught.value)


def test_where_nobody_listens_nothing_is_reached() -> None:
    with pytest.raises(ServiceUnreachable):
        Client("http://127.0.0.1:1", timeout_s=2, retries=0).score([])


@pytest.mark.parametrize(
    "url",
    ["ftp://judge", "http://", "http://h:port", "http://h:99999", "http://[::1", "http://a b", "::1:8000"],
)
def test_what_is_no_address_is_said_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="is no address of a service"):
        Client(url)
    with pytest.raises(ValueError, match="is no address of a service"):
        AsyncClient(f"http://judge:8000,{url}")


def test_a_deadline_leaves_time_for_the_way() -> None:
    timeouts = []

    def reply(request: httpx.Request) -> httpx.Response:
        timeouts.append(request.extensions["timeout"])
        return FakeService().reply(request)

    client = Client(URL, timeout_s=30, transport=httpx.MockTransport(reply))
    client.score([])
    client.score([], deadline_s=60)
    client.score([], deadline_s=1)
    assert [timeout["read"] for timeout in timeouts] == [30, 65, 6]
    assert all(timeout["connect"] == 5 for timeout in timeouts)


def test_a_client_can_be_pickled_and_closed_and_used_again(service: FakeService) -> None:
    client = Client(URL, api_key="k")
    copy = pickle.loads(pickle.dumps(client))
    assert (copy.url, copy._options()["headers"]) == (URL, {"Authorization": "Bearer k"})
    with Client(URL, transport=service) as used:
        used.score([])
    used.score([])
    assert len(service.requests) == 2


def test_errors_can_be_pickled() -> None:
    error = RequestRefused(Problem(status=503, title="full"), retry_after_s=2.0)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.status, copy.retry_after_s) == (str(error), 503, 2.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_has_connections_of_its_own(client: Client, service: FakeService) -> None:
    client.score([])
    before = dict(client._sessions)
    child = os.fork()
    if child == 0:
        client.score([])
        os._exit(0 if client._sessions[os.getpid()] not in before.values() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_async_client_does_the_same(service: FakeService) -> None:
    async def ask() -> list[Any]:
        async with AsyncClient(URL, transport=service) as client:
            response = await client.score([{"completion": "5", "gold": "5"}], profile="r1", deadline_s=2)
            golds = await client.check_golds(["5"])
            info = await client.info()
            return [response.rewards, golds.results[0].ok, info.engine]

    assert asyncio.run(ask()) == [[1.0], True, "e1"]
    assert service.bodies[0]["profile"] == "r1"


def test_the_async_client_outlives_its_event_loop(service: FakeService) -> None:
    client = AsyncClient(URL, transport=service)
    for _ in range(3):
        assert asyncio.run(client.score([])).results == []
    assert pickle.loads(pickle.dumps(AsyncClient(URL))).url == URL


def test_the_async_client_has_the_same_errors() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async def ask() -> None:
        await AsyncClient(URL, retries=0, transport=httpx.MockTransport(refuse)).score([])

    with pytest.raises(ServiceUnreachable, match="refused"):
        asyncio.run(ask())


def test_importing_the_client_brings_no_server_and_no_algebra() -> None:
    code = (
        "import sys, verifier_service.client\n"
        "heavy = {'fastapi', 'starlette', 'sympy', 'flint', 'torch', 'numpy', 'pydantic_settings'}\n"
        "sys.exit(', '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
