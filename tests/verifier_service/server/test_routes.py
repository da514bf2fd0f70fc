"""What each route answers, with a fake judge behind it."""

import asyncio
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.verifier_service.server.fakes import FakeBackend, Started, post
from verifier_service.rewards.profile import ProfileError
from verifier_service.schema import GoldsResponse, Info, ScoreResponse
from verifier_service.server.app import create_app
from verifier_service.server.settings import Settings

GOOD = {"id": "g", "completion": "it is 5", "gold": "5"}


def scored(client: TestClient, body: dict[str, Any], path: str = "/score") -> ScoreResponse:
    reply = client.post(path, json=body)
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/json"
    return ScoreResponse.model_validate_json(reply.content)


def problem(reply: Any, status: int, name: str) -> dict[str, Any]:
    """The problem document of a reply, whole and without a trace of Python."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = reply.json()
    assert document["type"] == f"urn:verifier-service:problem:{name}"
    assert document["status"] == status
    assert document["title"]
    assert document["detail"]
    assert document["request_id"] == reply.headers["x-request-id"]
    assert "Traceback" not in reply.text
    return document


def test_a_batch_is_answered_item_by_item(client: TestClient) -> None:
    response = scored(client, {"items": [GOOD, 5, {"completion": "no", "gold": 7}]})
    assert response.rewards == [1.0, None, 0.0]
    assert [result.index for result in response.results] == [0, 1, 2]
    assert [result.id for result in response.results] == ["g", None, None]
    assert response.errors == 1
    assert response.engine == "fake-engine"
    assert response.profile_hash


def test_an_empty_batch_is_200(client: TestClient) -> None:
    response = scored(client, {"items": []})
    assert (response.results, response.rewards, response.errors) == ([], [], 0)


def test_options_of_the_body_reach_the_judge(client: TestClient, backend: FakeBackend) -> None:
    scored(client, {"items": [], "rules": {"echo_guard": False}, "deadline_s": 2.5, "explain": True})
    (asked,) = backend.asked
    assert asked["rules"].echo_guard is False
    assert (asked["deadline_s"], asked["explain"], asked["echo_info"]) == (2.5, True, False)


def test_unknown_keys_are_echoed_as_info_on_request(client: TestClient) -> None:
    item = {**GOOD, "level": 3, "info": {"a": 1}}
    assert scored(client, {"items": [item], "echo_info": True}).results[0].info == {"level": 3, "a": 1}
    assert scored(client, {"items": [item]}).results[0].info is None


def test_a_misspelt_key_of_an_item_is_a_warning(client: TestClient) -> None:
    (result,) = scored(client, {"items": [{**GOOD, "prefiled_think": True}]}).results
    assert 'misspelling of "prefilled_think"' in result.warnings[0]


def test_the_profile_of_the_url_counts_where_the_body_names_none(client: TestClient) -> None:
    assert scored(client, {"items": []}, "/score?profile=r1-zero").profile == "r1-zero"
    assert (
        scored(client, {"items": [], "profile": "accuracy"}, "/score?profile=r1-zero").profile == "accuracy"
    )
    assert scored(client, {"items": [], "profile": None}, "/score?profile=r1-zero").profile == "r1-zero"
    assert scored(client, {"items": [], "profile": {"rewards": {"accuracy": {}}}}).profile == "inline"


@pytest.mark.parametrize("path", ["/score", "/score?profile=r1"])
def test_an_unknown_profile_is_422_and_names_the_known_ones(client: TestClient, path: str) -> None:
    body = {"items": [GOOD]} if "?" in path else {"items": [GOOD], "profile": "r1-zreo"}
    document = problem(client.post(path, json=body), 422, "unknown-profile")
    assert "r1-zero" in document["detail"]
    assert document["errors"][0]["path"] == "profile"


def test_a_profile_that_cannot_be_used_is_422(client: TestClient, backend: FakeBackend) -> None:
    backend.fault = ProfileError("rewards.format has no option null_value")
    document = problem(client.post("/score", json={"items": []}), 422, "invalid-request")
    assert "null_value" in document["detail"]


@pytest.mark.parametrize("query", ["profil=r1", "profile=a&profile=b", "deadline_s=3"])
def test_a_parameter_that_is_not_known_is_422(client: TestClient, query: str) -> None:
    problem(client.post(f"/score?{query}", json={"items": []}), 422, "invalid-request")


def test_a_deadline_beyond_the_largest_is_422_and_names_the_setting(started: Started) -> None:
    client = started(max_deadline_s=20)
    assert scored(client, {"items": [], "deadline_s": 20})
    document = problem(client.post("/score", json={"items": [], "deadline_s": 21}), 422, "invalid-request")
    assert document["setting"] == "VERIFIER_MAX_DEADLINE_S"
    assert document["limit"] == 20


@pytest.mark.parametrize(
    ("body", "status", "name", "path"),
    [
        (b"", 422, "invalid-body", None),
        (b"\xff", 422, "invalid-body", None),
        (b'{"items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422, "invalid-body", None),
        (b"[]", 422, "invalid-request", None),
        (b"{}", 422, "invalid-request", "items"),
        (b'{"items": 5}', 422, "invalid-request", "items"),
        (b'{"items": [], "rules": {"extraction": "x"}}', 422, "invalid-request", "rules.extraction"),
        (b'{"items": [], "\\ud800": 5}', 422, "invalid-request", "\ufffd"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem(
    client: TestClient, body: bytes, status: int, name: str, path: str | None
) -> None:
    document = problem(post(client, body), status, name)
    assert [error["path"] for error in document.get("errors", [])] == ([path] if path else [])


@pytest.mark.parametrize(
    "media_type",
    ["application/json", "application/json; charset=utf-8", "application/vnd.api+json", "", None],
)
def test_json_is_taken_under_each_of_its_names_and_under_none(
    client: TestClient, media_type: str | None
) -> None:
    headers = {} if media_type is None else {"content-type": media_type}
    assert client.post("/score", content=b'{"items": []}', headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "+json"},
        {"content-type": "application/+json"},
        {"content-encoding": "gzip"},
    ],
)
def test_another_media_type_or_coding_is_415(client: TestClient, headers: dict[str, str]) -> None:
    reply = client.post("/score", content=b'{"items": []}', headers=headers)
    problem(reply, 415, "unsupported-media-type")


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_413_and_names_the_setting(started: Started, declared: bool) -> None:
    client = started(max_body_bytes=2000)
    fits = json.dumps({"items": [], "profile": ""}).encode()
    fits = fits.replace(b'""', b'"accuracy"') + b" " * (2000 - len(fits) - 8)
    assert len(fits) == 2000
    assert post(client, fits).status_code == 200
    over = fits + b" "
    reply = post(client, over) if declared else client.post("/score", content=iter([over[:900], over[900:]]))
    document = problem(reply, 413, "body-too-large")
    assert (document["limit"], document["setting"]) == (2000, "VERIFIER_MAX_BODY_BYTES")


def test_too_many_items_are_413(started: Started) -> None:
    client = started(max_items=2)
    assert scored(client, {"items": [GOOD, GOOD]})
    document = problem(client.post("/score", json={"items": [GOOD] * 3}), 413, "too-many-items")
    assert document["limit"] == 2
    problem(client.post("/golds", json={"golds": [{"gold": 1}] * 3}), 413, "too-many-items")


def test_golds_are_checked_one_by_one(client: TestClient) -> None:
    reply = client.post("/golds", json={"golds": [{"gold": "5"}, {}, {"answer": 7, "question": "why?"}]})
    assert reply.status_code == 200
    response = GoldsResponse.model_validate_json(reply.content)
    assert [result.ok for result in response.results] == [True, False, True]
    assert [result.index for result in response.results] == [0, 1, 2]
    assert response.results[1].code == "invalid_item"
    assert response.engine == "fake-engine"


def test_info_tells_what_runs_and_what_it_takes(started: Started) -> None:
    info = Info.model_validate_json(started(max_items=7, deadline_s=3).get("/info").content)
    assert info.engine == "fake-engine"
    assert info.pid > 0
    assert (info.limits.max_items, info.limits.deadline_s) == (7, 3)
    assert set(info.profiles) == {"accuracy", "r1-zero"}
    assert info.default_profile == "accuracy"


def test_the_probes_tell_living_from_ready(client: TestClient, backend: FakeBackend) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ready"}
    backend.ready = False
    assert client.get("/healthz").status_code == 200
    reply = client.get("/readyz")
    problem(reply, 503, "not-ready")
    assert reply.headers["retry-after"] == "1"
    # A batch waits in the queue while a worker is replaced; it is not turned away.
    assert scored(client, {"items": [GOOD]}).rewards == [1.0]


def test_before_the_first_worker_everything_but_the_probes_waits(
    started: Started, backend: FakeBackend
) -> None:
    backend.never_starts = True
    client = started()
    assert client.get("/healthz").status_code == 200
    assert client.get("/info").status_code == 200
    for reply in (client.get("/readyz"), client.post("/score", json={"items": []})):
        assert "starting" in problem(reply, 503, "not-ready")["detail"]
    problem(client.post("/golds", json={"golds": []}), 503, "not-ready")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_workers_that_cannot_be_started_are_told_to_whoever_asks(backend: FakeBackend) -> None:
    backend.start_error = RuntimeError("no memory")
    failures: list[None] = []
    app = create_app(Settings(), backend=backend, on_failure=lambda: failures.append(None))
    with TestClient(app) as client:
        assert "no memory" in problem(client.get("/readyz"), 503, "not-ready")["detail"]
        problem(client.post("/score", json={"items": []}), 503, "not-ready")
    assert len(failures) == 1


def test_the_backend_is_closed_with_the_app(backend: FakeBackend) -> None:
    with TestClient(create_app(Settings(), backend=backend)):
        assert not backend.closed
    assert backend.closed


def test_whatever_goes_wrong_inside_stays_inside(client: TestClient, backend: FakeBackend) -> None:
    backend.fault = ZeroDivisionError("secret of the house")
    reply = client.post("/score", json={"items": [GOOD]})
    problem(reply, 500, "internal")
    assert "secret" not in reply.text
    assert "ZeroDivision" not in reply.text
    backend.fault = None
    assert scored(client, {"items": [GOOD]}).rewards == [1.0]


def test_a_sender_that_hangs_up_is_no_fault_of_the_service(backend: FakeBackend) -> None:
    app = create_app(Settings(), backend=backend)
    sent: list[Any] = []

    async def exchange() -> None:
        async with app.router.lifespan_context(app):
            await asyncio.sleep(0)
            messages = iter([{"type": "http.request", "body": b'{"it', "more_body": True}])

            async def receive() -> Any:
                return next(messages, {"type": "http.disconnect"})

            async def send(message: Any) -> None:
                sent.append(message)

            await app(_scope("POST", "/score"), receive, send)

    asyncio.run(exchange())
    assert sent[0]["status"] == 400
    assert not backend.asked


def _scope(method: str, path: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


@pytest.mark.parametrize(
    "path", ["/", "/cluster", "/nothing", "/score/", "/docs/nothing.js", "/docs/..%2fapp.py"]
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    problem(client.get(path, follow_redirects=False), 404, "not-found")


@pytest.mark.parametrize(("method", "path"), [("GET", "/score"), ("POST", "/info"), ("DELETE", "/golds")])
def test_a_wrong_method_is_405_and_names_the_right_one(client: TestClient, method: str, path: str) -> None:
    reply = client.request(method, path)
    problem(reply, 405, "method-not-allowed")
    assert reply.headers["allow"] in ("GET", "POST")


def test_under_a_prefix_the_routes_are_where_the_proxy_puts_them(started: Started) -> None:
    client = started(root_path="judge/", api_key="k")
    key = {"Authorization": "Bearer k"}
    for path in ("/judge/score", "/score"):
        assert client.post(path, json={"items": []}, headers=key).status_code == 200
        assert client.post(path, json={"items": []}).status_code == 401
    assert client.get("/judge/healthz").status_code == 200
    assert client.get("/judge/docs").status_code == 200
