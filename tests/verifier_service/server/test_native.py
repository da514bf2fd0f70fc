"""The native forms: what the trainers were seen to send, and the replies that they accept."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from tests.verifier_service.server.fakes import FakeBackend, Started, in_loop
from tests.verifier_service.server.processes import Served
from verifier_service.server import incoming
from verifier_service.server.app import create_app
from verifier_service.server.settings import Settings

RECORDED = Path(__file__).parents[2] / "integration" / "recorded"
OPENRLHF = {"query": ["q5", "q6"], "prompts": ["q", "q"], "labels": ["5", "5"]}


def record(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def replay(service: Served, request: dict[str, Any]) -> httpx.Response:
    headers = {name: value for name, value in request.get("headers", {}).items() if name != "authorization"}
    url = service.url + request["path"]
    return httpx.post(url, json=request["json"], headers=headers, timeout=20, trust_env=False)


@pytest.mark.parametrize("name", ["openrlhf", "slime"])
def test_a_recorded_request_gets_the_recorded_reply(service: Served, name: str) -> None:
    recorded = record(name)
    reply = replay(service, recorded["request"])
    assert (reply.status_code, reply.json()) == (200, recorded["response"]["json"])


def test_openrlhf_where_the_tokenizer_begins_the_text_with_a_token(service: Served) -> None:
    """The token stands in the query, not in the prompt, which opens the thinking and shows an answer."""
    prompt = "<|user|>Like this: \\boxed{56}. 84 km in 1.5 h?<|assistant|><think>\n"
    bodies = [
        f"<|begin_of_text|>{prompt}84 / 1.5</think>\\boxed{{{number}}}<|eot_id|>" for number in (56, 42)
    ]
    json = {"query": bodies, "prompts": [prompt] * 2, "labels": ["56"] * 2}
    reply = replay(service, {"path": "/get_reward?profile=r1-zero", "json": json}).json()
    assert reply["rewards"] == [2.0, 1.0]


def test_slime_with_a_reward_key(service: Served) -> None:
    recorded = record("slime")
    request = {**recorded["request"], "path": "/compat/slime?profile=accuracy&format=dict"}
    reply = replay(service, request).json()
    assert set(reply) == set(recorded["response_with_reward_key"]["json"])
    assert (reply["score"], reply["correct"]) == (1.0, 1.0)


def test_nemo_gym_gets_its_request_back_with_the_reward(service: Served) -> None:
    recorded = record("nemo_gym")
    seed, verify = recorded["requests"]
    assert replay(service, seed).json() == {}
    assert replay(service, verify).json() == recorded["response"]["json"]
    several = replay(service, {**verify, "path": "/verify?profile=r1-zero"}).json()
    assert set(recorded["response_multi_reward"]["json"]) <= set(several)
    assert several["reward"] == sum(several["reward_components"].values()) == 1.0


def test_nemo_gym_with_thinking_and_parts(service: Served) -> None:
    verify = copy.deepcopy(record("nemo_gym")["requests"][1])
    verify["path"] = "/verify?profile=r1-zero"
    verify["json"]["response"]["output"] = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "84 / 1.5"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "It is "}]},
        {"type": "function_call", "name": "x", "arguments": "{}"},
        {"type": "message", "content": [{"type": "output_text", "text": "\\boxed{56}."}]},
    ]
    assert replay(service, verify).json()["reward"] == 2.0


@pytest.mark.parametrize("kind", [[], {}, 1, None])
def test_nemo_gym_with_an_entry_of_no_kind(service: Served, kind: object) -> None:
    verify = copy.deepcopy(record("nemo_gym")["requests"][1])
    verify["json"]["response"]["output"].insert(0, {"type": kind})
    assert replay(service, verify).json()["reward"] == 1.0


def test_nemo_gym_is_told_of_a_failure_beside_the_zero(service: Served) -> None:
    recorded = record("nemo_gym")
    verify = copy.deepcopy(recorded["requests"][1])
    verify["json"]["expected_answer"] = None
    reply = replay(service, verify).json()
    for name in ("reward", "_ng_failure_class"):
        assert reply[name] == recorded["response_on_infra_failure"]["json"][name]
    assert reply["response"] == verify["json"]["response"]


def test_eval_protocol_flat_and_nested(service: Served) -> None:
    recorded = record("eval_protocol")
    reply = replay(service, recorded["request"])
    assert reply.status_code == 200
    body = reply.json()
    assert set(body) == set(recorded["response"]["json"])
    assert (body["score"], body["is_score_valid"], body["error"]) == (1.0, True, None)
    assert all(set(metric) == {"score", "is_score_valid", "reason"} for metric in body["metrics"].values())
    nested = copy.deepcopy(recorded["request"])
    nested["json"]["kwargs"] = {"ground_truth": nested["json"].pop("ground_truth")}
    assert replay(service, nested).json()["score"] == 1.0
    del nested["json"]["kwargs"]
    unjudged = replay(service, nested).json()
    assert (unjudged["score"], unjudged["is_score_valid"]) == (0.0, False)
    assert unjudged["error"].startswith("missing_input")


def test_an_empty_shard_of_openrlhf_is_answered(client: TestClient) -> None:
    reply = client.post("/get_reward", json=record("openrlhf")["request_empty_shard"]["json"])
    assert (reply.status_code, reply.json()) == (200, {"rewards": [], "scores": [], "extra_logs": {}})


def test_openrlhf_gets_many_in_order(client: TestClient, backend: FakeBackend) -> None:
    reply = client.post("/get_reward?profile=r1-zero", json=OPENRLHF)
    assert reply.json() == {
        "rewards": [1.0, 0.0],
        "scores": [1.0, 0.0],
        "extra_logs": {"correct": [1.0, 0.0], "verifier_error": [0.0, 0.0]},
    }
    assert backend.asked[0]["profile"] == "r1-zero"
    assert [item.completion for item in backend.asked[0]["items"]] == ["5", "6"]


@pytest.mark.parametrize(("query", "number"), [("", 0.0), ("?fallback=-1", -1.0), ("?fallback=0.5", 0.5)])
def test_openrlhf_is_never_told_a_null(client: TestClient, query: str, number: float) -> None:
    reply = client.post(f"/get_reward{query}", json={**OPENRLHF, "labels": ["5", {"no": "gold"}]}).json()
    assert reply["rewards"] == [1.0, number]
    assert reply["extra_logs"]["verifier_error"] == [0.0, 1.0]


def test_a_prompt_that_opens_the_thinking_is_seen(client: TestClient, backend: FakeBackend) -> None:
    opened = "question\n<think>\n"
    client.post("/get_reward", json={"query": [f"{opened}5</think>5"], "prompts": [opened], "labels": ["5"]})
    client.post("/compat/slime", json={"prompt": opened, "response": "5</think>5", "label": "5"})
    items = [asked["items"][0] for asked in backend.asked]
    assert [item.prefilled_think for item in items] == [True, True]
    assert [item.completion for item in items] == ["5</think>5"] * 2


def test_slime_without_a_verdict(client: TestClient) -> None:
    sent = {"prompt": "", "response": "5", "label": {"no": "gold"}}
    reply = client.post("/compat/slime", json=sent)
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:verifier-service:problem:no-verdict")
    assert client.post("/compat/slime?fallback=-1", json=sent).json() == -1.0


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/get_reward", {}, "query"),
        ("/get_reward", {"query": ["a"], "prompts": [], "labels": ["5"]}, "query"),
        ("/get_reward", {"query": "a", "prompts": "b", "labels": "c"}, "query"),
        ("/get_reward?fallback=nan", OPENRLHF, "?fallback"),
        ("/get_reward?fallback=none", OPENRLHF, "?fallback"),
        ("/get_reward?profil=r1", OPENRLHF, "?profil"),
        ("/compat/slime", {"prompt": "a"}, "response"),
        ("/compat/slime?format=xml", {"prompt": "a", "response": "5", "label": "5"}, "?format"),
        ("/verify", {"response": {}}, "response.output"),
        ("/verify", {}, "response.output"),
        ("/evaluate", {"messages": []}, "messages"),
    ],
)
def test_what_is_missing_is_named(client: TestClient, path: str, body: Any, named: str) -> None:
    reply = client.post(path, json=body)
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["path"] == named


@pytest.mark.parametrize("path", ["/get_reward", "/compat/slime", "/verify", "/seed_session", "/evaluate"])
@pytest.mark.parametrize("body", [b"", b"[]", b"5", b"{", b'{"a": NaN}', b"\xff", b'{"a":' * 5000])
def test_what_is_no_object_is_refused(client: TestClient, path: str, body: bytes) -> None:
    reply = client.post(path, content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 422
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/get_reward", "/compat/slime", "/verify", "/seed_session", "/evaluate"])
def test_a_key_is_needed_where_there_is_one(started: Started, path: str) -> None:
    assert started(api_key="k").post(path, json={}).status_code == 401


def test_a_lone_surrogate_comes_back_as_something_that_can_be_read(client: TestClient) -> None:
    verify = copy.deepcopy(record("nemo_gym")["requests"][1]["json"])
    verify["question"] = "\ud83d?"
    content = json.dumps(verify).encode("ascii")
    reply = client.post("/verify", content=content, headers={"content-type": "application/json"})
    assert reply.json()["question"] == "\ufffd?"


def test_openrlhf_waits_where_others_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "PAUSES_S", (0.0, 0.0))

    async def ask() -> tuple[httpx.Response, httpx.Response]:
        backend = FakeBackend(gate=asyncio.Event())
        async with in_loop(create_app(Settings(queue_items=1), backend=backend)) as client:
            first = asyncio.create_task(client.post("/get_reward", json=OPENRLHF))
            while not backend.asked:
                await asyncio.sleep(0)
            waiting = asyncio.create_task(client.post("/get_reward", json=OPENRLHF))
            refused = await client.post("/score", json={"items": []})
            assert not waiting.done()
            assert backend.gate is not None
            backend.gate.set()
            await first
            return refused, await waiting

    refused, waited = asyncio.run(ask())
    assert refused.status_code == 503
    assert (waited.status_code, waited.json()["rewards"]) == (200, [1.0, 0.0])


def test_openrlhf_loses_no_part_of_its_body_where_the_room_goes_while_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incoming, "PAUSES_S", (0.0, 0.0))
    body = json.dumps(OPENRLHF).encode()
    backend = FakeBackend(gate=asyncio.Event())
    app = create_app(Settings(queue_items=1), backend=backend)

    async def pieces() -> AsyncIterator[bytes]:
        yield body[:20]
        first_in.set()
        while not backend.asked:  # by the other: the room is gone now
            await asyncio.sleep(0)
        yield body[20:]
        sent.set()

    async def ask() -> httpx.Response:
        async with asyncio.timeout(20), in_loop(app) as client:
            headers = {"content-type": "application/json"}
            reply = asyncio.create_task(client.post("/get_reward", content=pieces(), headers=headers))
            await first_in.wait()
            other = asyncio.create_task(client.post("/get_reward", json=OPENRLHF))
            await sent.wait()
            assert backend.gate is not None
            backend.gate.set()
            await other
            return await reply

    first_in, sent = asyncio.Event(), asyncio.Event()
    reply = asyncio.run(ask())
    assert (reply.status_code, reply.json()["rewards"]) == (200, [1.0, 0.0])
    assert (app.state.service.admission.stats.bytes, app.state.service.admission.stats.overloaded) == (0, 0)
