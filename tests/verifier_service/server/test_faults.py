"""Faults around a real service. Each test counts every item that it sent: one verdict or one code, in place."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.redis_server import running_redis
from tests.services import free_port, wait_until_ready
from tests.verifier_service.server.processes import COMMAND, Served, environment, served

WAIT_S = 30.0
READY_AGAIN_S = 5.0


def batch(tag: str, size: int) -> list[dict[str, Any]]:
    """Items whose answers say which they are; every third is wrong."""
    return [
        {
            "id": f"{tag}-{place}",
            "completion": rf"{tag} \boxed{{{place + (place % 3 == 2)}}}",
            "gold": str(place),
        }
        for place in range(size)
    ]


def checked(reply: httpx.Response, tag: str, size: int) -> int:
    """How many items came back as retryable nulls, if each is there once, in place, and none is wrong."""
    body: dict[str, Any] = reply.json()
    assert [result["id"] for result in body["results"]] == [f"{tag}-{place}" for place in range(size)]
    assert [result["index"] for result in body["results"]] == list(range(size))
    nulls = 0
    for place, result in enumerate(body["results"]):
        if result["reward"] is None:
            assert result["error"]["retryable"], result
            nulls += 1
        else:
            assert result["reward"] == float(place % 3 != 2), result
    return nulls


@contextmanager
def client_of(found: Served) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=64)
    with httpx.Client(base_url=found.url, trust_env=False, timeout=WAIT_S, limits=limits) as client:
        yield client


def eventually(holds: Callable[[], bool], within_s: float = WAIT_S) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def inflight(client: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = client.get("/stats").json()["inflight"]
    return found


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The grandchildren: the fork server's children."""
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    servers = [pid for task in tasks for pid in (task / "children").read_text().split()]
    children = [Path(f"/proc/{pid}/task/{pid}/children").read_text().split() for pid in servers]
    return [int(pid) for pids in children for pid in pids]


def test_workers_that_are_killed_under_load_cost_no_item(tmp_path: Path) -> None:
    with served(tmp_path / "log") as found, client_of(found) as client, ThreadPoolExecutor(4) as pool:
        sent = {
            tag: pool.submit(client.post, "/score", json={"items": batch(tag, 64)})
            for tag in map(str, range(40))
        }
        while not all(one.done() for one in sent.values()):
            for pid in workers_of(found.process)[:1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.2)
        replies = {tag: one.result() for tag, one in sent.items()}
        assert all(reply.status_code == 200 for reply in replies.values())
        nulls = sum(checked(reply, tag, 64) for tag, reply in replies.items())
        assert nulls <= 64  # an item whose worker dies three times by our hand
        assert eventually(lambda: client.get("/readyz").status_code == 200, READY_AGAIN_S)


def test_redis_that_hangs_dies_and_comes_back_under_load_costs_no_item(tmp_path: Path) -> None:
    with (
        running_redis(tmp_path) as redis,
        served(tmp_path / "log", redis_url=redis.url, rate_items="1000000") as found,
        client_of(found) as client,
        ThreadPoolExecutor(4) as pool,
    ):

        def load(phase: str) -> None:
            tags = [f"{phase}{number}" for number in range(12)]
            replies = pool.map(lambda tag: client.post("/score", json={"items": batch(tag, 32)}), tags)
            for tag, reply in zip(tags, replies, strict=True):
                assert reply.status_code == 200
                assert checked(reply, tag, 32) == 0

        load("up")
        assert eventually(lambda: client.get("/stats").json()["shared_cache"]["written"] == 12 * 32)
        redis.freeze()
        load("hung")
        redis.kill()
        load("dead")
        assert "verifier_redis_up 0.0" in client.get("/metrics").text
        redis.start()
        load("back")
        assert client.get("/readyz").status_code == 200


def test_senders_that_go_away_in_every_way_leave_nothing_behind(tmp_path: Path) -> None:
    with served(tmp_path / "log") as found, client_of(found) as client:
        address = urlsplit(found.url)
        body = json.dumps({"items": batch("gone", 512)}).encode()
        head = "POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        for number in range(30):
            with socket.create_connection((str(address.hostname), address.port or 0), 5) as sender:
                sender.sendall(head.encode() + (body if number % 3 else body[: len(body) // 2]))
                if number % 3 == 1:
                    sender.shutdown(socket.SHUT_WR)
        assert eventually(lambda: inflight(client) == {"requests": 0, "items": 0, "bytes": 0})
        assert checked(client.post("/score", json={"items": batch("here", 64)}), "here", 64) == 0
        assert not found.said("Traceback")


def test_overload_is_refused_and_what_is_taken_is_judged(tmp_path: Path) -> None:
    refused = judged = 0
    waits: list[float] = []
    with served(tmp_path / "log", queue_items="256", max_items="64") as found, client_of(found) as client:
        lock = threading.Lock()

        def send(tag: str) -> None:
            nonlocal refused, judged
            began = time.monotonic()
            reply = client.post("/score", json={"items": batch(tag, 64)})
            with lock:
                if reply.status_code == 200:
                    assert checked(reply, tag, 64) == 0
                    waits.append(time.monotonic() - began)
                    judged += 1
                else:
                    assert reply.status_code == 503
                    assert reply.json()["type"].endswith(":overloaded")
                    assert reply.headers["retry-after"] == "1"
                    refused += 1

        with ThreadPoolExecutor(40) as pool:
            list(pool.map(send, map(str, range(400))))
        assert refused + judged == 400
        assert judged >= 4
        assert inflight(client) == {"requests": 0, "items": 0, "bytes": 0}
        assert client.get("/readyz").status_code == 200
        assert max(waits) < WAIT_S / 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_that_cannot_be_written_stops_nothing() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(
            COMMAND, env=environment(port=str(port), workers="1"), stdout=full, stderr=full
        ) as process,
    ):
        try:
            wait_until_ready(process, url, Path("/dev/null"))
            for number in range(5):
                reply = httpx.post(f"{url}/score", json={"items": batch(str(number), 8)}, trust_env=False)
                assert checked(reply, str(number), 8) == 0
        finally:
            process.terminate()
            code = process.wait(WAIT_S)
    assert code in (0, 120)  # 120: Python itself could not flush its last line
