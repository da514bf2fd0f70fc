"""A real process, real workers, real HTTP."""

import asyncio
import json
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.server.processes import COMMAND, Served, environment, served
from verifier_service.client import AsyncClient, Client, RequestRefused
from verifier_service.keyfile import new_key
from verifier_service.schema import Info, ScoreResponse

RIGHT = {"completion": r"<think>2+3=5</think>\boxed{5}", "gold": 5}
WRONG = {"completion": r"<think>2+3=6</think>\boxed{6}", "gold": 5}
BARE = {"completion": r"the answer is \boxed{5}", "gold": 5}


@pytest.fixture
def http(service: Served) -> Any:
    with httpx.Client(base_url=service.url, trust_env=False, timeout=30) as client:
        yield client


def scored(http: httpx.Client, body: Any, path: str = "/score") -> ScoreResponse:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = http.post(path, content=content, headers={"content-type": "application/json"})
    assert reply.status_code == 200, reply.text
    response = ScoreResponse.model_validate_json(reply.content)
    assert [result.index for result in response.results] == list(range(len(response.results)))
    assert response.rewards == [result.reward for result in response.results]
    return response


def test_the_published_example_scores_as_published(http: httpx.Client) -> None:
    response = scored(http, {"items": [RIGHT, WRONG, BARE]}, "/score?profile=r1-zero-half-format")
    assert [result.scores["accuracy"] for result in response.results] == [1, 0, 1]
    assert [result.components["format"] for result in response.results] == [0.5, 0.5, 0]
    assert response.rewards == [1.5, 0.5, 1.0]
    assert response.engine == Info.model_validate_json(http.get("/info").content).engine


def test_bad_items_cost_themselves_and_nobody_else(http: httpx.Client) -> None:
    good = json.dumps(RIGHT)
    bad = [
        "5",
        "{}",
        '{"completion": NaN}',
        '{"completion": "", "gold": Infinity}',
        '{"completion": "", "info": {"a": NaN}}',
        '{"completion": "", "max_tokens": "many"}',
        '{"completion": "", "gold": "5", "profile": "no-such"}',
        '{"completion": "", "gold": "5", "zz": ' + "[" * 300 + "]" * 300 + "}",
    ]
    body = f'{{"items": [{",".join(f"{good},{item}" for item in bad)}]}}'
    response = scored(http, body.encode())
    assert response.rewards == [1.0, None] * len(bad)
    assert response.errors == len(bad)
    for place, result in enumerate(response.results[1::2]):
        assert result.error is not None, bad[place]
        assert (result.error.code, result.error.retryable) == ("invalid_item", False)


def test_a_lone_surrogate_a_null_gold_and_a_long_box_are_judged(http: httpx.Client) -> None:
    surrogate = r'{"completion": "\ud83d \\boxed{5}", "gold": "5"}'
    long = json.dumps({"completion": r"\boxed{" + "1+" * 50_000 + "1}", "gold": "5"})
    no_gold = json.dumps({"completion": r"\boxed{5}", "gold": None})
    body = f'{{"items": [{surrogate}, {long}, {no_gold}, {json.dumps(RIGHT)}]}}'
    results = scored(http, body.encode()).results
    assert results[0].verdict == "correct"
    assert results[0].warnings
    assert results[1].verdict == "incorrect"
    assert results[2].error is not None
    assert results[2].error.code == "missing_input"
    assert results[3].reward == 1.0


def test_a_body_of_forty_megabytes_is_refused_and_the_connection_lives(http: httpx.Client) -> None:
    pid = http.get("/info").json()["pid"]
    reply = http.post("/score", content=b" " * 40_000_000, headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert reply.json()["setting"] == "VERIFIER_MAX_BODY_BYTES"
    chunks = (b" " * 1_000_000 for _ in range(40))
    reply = http.post("/score", content=chunks, headers={"content-type": "application/json"})
    assert reply.status_code == 413
    assert scored(http, {"items": [RIGHT]}).rewards == [1.0]
    assert http.get("/info").json()["pid"] == pid


def test_the_process_answers_while_hostile_bodies_come_in(http: httpx.Client) -> None:
    lists = b'{"items": [{"completion": "", "gold": [' + b",".join([b"[]"] * 5_000_000) + b"]}]}"
    few = b'{"items": [{"completion": "", "gold": [' + b",".join([b"[]"] * 60_000) + b"]}]}"
    waits: list[float] = []
    with ThreadPoolExecutor(1) as sender:
        sent = [
            sender.submit(httpx.post, f"{http.base_url}/score", content=body, timeout=60, trust_env=False)
            for body in (lists, few, lists)
        ]
        while not all(one.done() for one in sent):
            began = time.monotonic()
            assert http.get("/healthz").status_code == 200
            waits.append(time.monotonic() - began)
    refused, judged, again = (one.result() for one in sent)
    assert (refused.status_code, judged.status_code, again.status_code) == (413, 200, 413)
    assert refused.json()["setting"] == "VERIFIER_MAX_VALUES"
    assert judged.json()["results"][0]["error"]["code"] == "invalid_item"
    # Such a body used to hold the process for 2 to 9 seconds.
    assert max(waits) < 1.5


def test_deep_nesting_is_refused_and_nothing_falls(http: httpx.Client) -> None:
    for body in (b"[" * 100_000, b'{"items": ' + b'[{"a":' * 50_000):
        reply = http.post("/score", content=body)
        assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")
    assert scored(http, {"items": []}).results == []


def test_sigterm_ends_it_well(tmp_path: Path) -> None:
    with served(tmp_path / "log") as found:
        found.process.send_signal(signal.SIGTERM)
        assert found.process.wait(20) == 0
        assert not found.said("Traceback")


def test_a_taken_port_is_told_before_any_worker_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = subprocess.run(
            COMMAND, env=environment(port=port), capture_output=True, text=True, timeout=60
        )
    assert ended.returncode != 0
    assert f"error: cannot listen on 127.0.0.1 port {port}" in ended.stderr
    assert "VERIFIER_PORT" in ended.stderr


def test_an_open_address_without_a_key_is_warned_of_loudly(tmp_path: Path) -> None:
    with served(tmp_path / "open", host="0.0.0.0") as found:
        assert found.said("WARNING .*WITHOUT AN API KEY")
    with served(tmp_path / "short", host="0.0.0.0", api_key="k") as found:
        assert found.said("WARNING .*WITH A SHORT API KEY")
    with served(tmp_path / "keyed", host="0.0.0.0", api_key=new_key()) as found:
        assert not found.said("WARNING")
        assert httpx.get(f"{found.url}/info", trust_env=False).status_code == 401


def test_both_clients_speak_to_it(service: Served) -> None:
    items = [RIGHT, WRONG, {"completion": "\ud83d", "gold": 5}, {"gold": 5}]
    with Client(service.url + "/score") as client:
        response = client.score(items, profile="r1-zero", deadline_s=20, request_id="run7")
        assert [result.outcome for result in response.results] == ["right", "wrong", "wrong", "no_verdict"]
        assert response.results[2].warnings
        assert [gold.ok for gold in client.check_golds(["5", "see figure"]).results] == [True, False]
        with pytest.raises(RequestRefused, match="r1-zero") as caught:
            client.score(items, profile="r1-zreo")
        assert caught.value.problem.type.endswith(":unknown-profile")
        assert client.info().engine == response.engine

    async def ask() -> list[float | None]:
        async with AsyncClient(service.url) as client:
            many = await asyncio.gather(*(client.score([item], profile="r1-zero") for item in items))
            return [one.rewards[0] for one in many]

    assert asyncio.run(ask()) == response.rewards
