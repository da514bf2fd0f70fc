"""compose.scale.yaml, built and started for real: replicas behind a balancer lose neither items nor order."""

import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.containers.composed import Compose, running
from tests.services import free_port
from verifier_service.client import Client
from verifier_service.schema import ScoreResponse

pytestmark = pytest.mark.containers

PROJECT = "verifier-scale-test"
BACK_S = 30.0
# Limits, so that Redis is asked for every request, and one worker each, so that a batch takes a while.
SETTINGS = """
services:
  verifier:
    environment:
      VERIFIER_WORKERS: "1"
      VERIFIER_RATE_ITEMS: "10000000"
      VERIFIER_RATE_ON_FAILURE: {on_failure}
"""
# Run inside a replica: the service dies by SIGKILL in the moment when it has items to judge.
KILL_AT_WORK = r"""
import json, os, re, signal, urllib.request
def ask(path):
    return urllib.request.urlopen("http://127.0.0.1:8000" + path, timeout=5).read().decode()
pid = json.loads(ask("/info"))["pid"]
while not (items := float(re.search(r"^verifier_inflight_items (\S+)", ask("/metrics"), re.M)[1])):
    pass
print(int(items), flush=True)
os.kill(pid, signal.SIGKILL)
"""
ASK = "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=5).read().decode())"
NEW = count(1000)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("scale") / "settings.yaml"
    file.write_text(SETTINGS.format(on_failure="fail_open"))
    return file


@pytest.fixture(scope="module")
def compose(engine: None, root: Path, settings: Path) -> Iterator[Compose]:
    files = (root / "compose.scale.yaml", settings)
    with running(Compose(root, PROJECT, files, free_port())) as project:
        yield project


def in_time(holds: Callable[[], bool], seconds: float = BACK_S) -> float:
    """Seconds until it holds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < seconds, f"not within {seconds} s"
        time.sleep(0.1)
    return time.monotonic() - began


def replicas_that_answer(compose: Compose) -> set[str]:
    replies = [compose.get("/healthz") for _ in range(8)]
    return {reply.headers["x-replica"] for reply in replies if reply.status_code == 200}


def both_answer(compose: Compose) -> bool:
    return len(replicas_that_answer(compose)) == 2


def score_once(compose: Compose) -> httpx.Response:
    """A right answer that nobody has asked about before."""
    value = next(NEW)
    item = {"completion": rf"so \boxed{{{value}}}", "gold": str(value)}
    return httpx.post(f"{compose.url}/score", json={"items": [item]}, trust_env=False, timeout=30)


def figures(compose: Compose, address: str, container: str) -> str:
    return compose.inside("python", "-c", ASK, address, container=container).stdout


def redis_up(compose: Compose) -> list[str]:
    """What each replica says of Redis, after it was asked something."""
    pages = [figures(compose, "http://127.0.0.1:8000/metrics", one) for one in compose.containers()]
    return re.findall(r"^verifier_redis_up (\S+)", "\n".join(pages), re.M)


def test_two_replicas_answer_behind_one_address(compose: Compose) -> None:
    in_time(lambda: both_answer(compose))
    assert compose.get("/readyz").status_code == 200
    assert score_once(compose).json()["rewards"] == [1.0]


def test_only_the_balancer_is_published_and_on_loopback(compose: Compose) -> None:
    published = {}
    for service in ("balancer", "verifier", "redis"):
        for container in compose.containers(service):
            for bindings in compose.inspect(container)["NetworkSettings"]["Ports"].values():
                published.setdefault(service, set()).update(one["HostIp"] for one in bindings or ())
    assert published == {"balancer": {"127.0.0.1"}} | {
        name: set() for name in published if name != "balancer"
    }


def test_metrics_of_a_replica_at_random_are_not_given_out(compose: Compose) -> None:
    assert compose.get("/metrics").status_code == 404


@pytest.mark.parametrize("service", ["balancer", "verifier", "redis"])
def test_no_part_runs_as_root_or_can_write_its_root_file_system(compose: Compose, service: str) -> None:
    for container in compose.containers(service):
        assert compose.inside("id", "-u", container=container).stdout.strip() != "0"
        refused = compose.inside("touch", "/x", container=container, check=False)
        assert "Read-only file system" in refused.stderr
        facts = compose.inspect(container)["HostConfig"]
        assert facts["CapDrop"] == ["ALL"]
        assert facts["SecurityOpt"] == ["no-new-privileges:true"]


def test_what_one_replica_has_judged_the_other_need_not(compose: Compose) -> None:
    item = {"completion": r"\boxed{\frac{271828}{3}}", "gold": "271828/3"}
    in_time(lambda: both_answer(compose))
    seen = set()

    def both_have_answered_from_memory() -> bool:
        reply = httpx.post(f"{compose.url}/score", json={"items": [item]}, trust_env=False, timeout=30)
        if reply.json()["results"][0]["cached"]:
            seen.add(reply.headers["x-replica"])
        return len(seen) == 2

    in_time(both_have_answered_from_memory)
    pages = [figures(compose, "http://127.0.0.1:8000/metrics", one) for one in compose.containers()]
    hits = re.findall(r'^verifier_shared_cache_total\{event="hits"\} (\S+)', "\n".join(pages), re.M)
    assert sum(map(float, hits)) >= 1


def test_redis_killed_and_back_the_service_goes_on_says_so_and_recovers(compose: Compose) -> None:
    assert "x-ratelimit-degraded" not in score_once(compose).headers
    compose("kill", "--signal", "SIGKILL", "redis")
    replies = [score_once(compose) for _ in range(8)]
    assert [reply.status_code for reply in replies] == [200] * 8
    assert {reply.headers.get("x-ratelimit-degraded") for reply in replies} == {"redis"}
    assert all(reply.json()["rewards"] == [1.0] for reply in replies)
    assert redis_up(compose) == ["0.0", "0.0"]
    assert compose.get("/readyz").status_code == 200
    compose("start", "redis")

    def recovered() -> bool:
        whole = ["x-ratelimit-degraded" not in score_once(compose).headers for _ in range(4)]
        return all(whole) and redis_up(compose) == ["1.0", "1.0"]

    print(f"\nRedis is used again {in_time(recovered):.1f} s after its start")


class Line(httpx.BaseTransport):
    """The network; counts the replies that did not come."""

    def __init__(self, lost: Counter[str]) -> None:
        self.lost = lost
        self._network = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = self._network.handle_request(request)
        except httpx.TransportError as error:
            self.lost[type(error).__name__] += 1
            raise
        if reply.status_code >= 500:
            self.lost[str(reply.status_code)] += 1
        return reply

    def close(self) -> None:
        self._network.close()


class Load:
    """Several senders of batches through the project's own client, until they are stopped."""

    BATCH = 64
    SENDERS = 6

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = threading.Event()
        self.lost: Counter[str] = Counter()
        self._pool = ThreadPoolExecutor(self.SENDERS)
        self._sent = [self._pool.submit(self._send, sender) for sender in range(self.SENDERS)]

    def stop(self) -> list[tuple[list[dict[str, Any]], ScoreResponse]]:
        self._stop.set()
        self._pool.shutdown()
        return [pair for sender in self._sent for pair in sender.result()]

    def _send(self, sender: int) -> list[tuple[list[dict[str, Any]], ScoreResponse]]:
        pairs = []
        with Client(self._url, retries=10, transport=Line(self.lost)) as judge:
            number = 0
            while not self._stop.is_set():
                items = [self._item(sender, number + place) for place in range(self.BATCH)]
                pairs.append((items, judge.score(items)))
                number += self.BATCH
        return pairs

    @staticmethod
    def _item(sender: int, number: int) -> dict[str, Any]:
        """Its own value, so that no cache knows it; right where its number is even."""
        value = 1_000_000 * (sender + 1) + number
        given = value + number % 2
        text = "step by step " * 300 + rf"\boxed{{\frac{{{2 * given}}}{{2}}}}"
        return {"id": f"{sender}/{number}", "completion": text, "gold": str(value)}


def expected(item: dict[str, Any]) -> str:
    return "incorrect" if int(item["id"].split("/")[1]) % 2 else "correct"


def test_a_replica_killed_in_mid_batch_costs_no_item_and_doubles_none(compose: Compose) -> None:
    in_time(lambda: both_answer(compose))
    victim = compose.containers()[0]
    load = Load(compose.url)
    try:
        killed = compose.inside("python", "-c", KILL_AT_WORK, container=victim, check=False)
        in_flight = int(killed.stdout)
        ready_s = in_time(lambda: compose.get("/readyz").status_code == 200, 5)
        in_time(lambda: compose.inspect(victim)["RestartCount"] == 1)
        back_s = in_time(lambda: both_answer(compose))
    finally:
        pairs = load.stop()
    assert in_flight > 0
    verdicts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for items, response in pairs:
        assert [result.index for result in response.results] == list(range(len(items)))
        assert [result.id for result in response.results] == [item["id"] for item in items]
        assert response.rewards == [result.reward for result in response.results]
        for item, result in zip(items, response.results, strict=True):
            seen[item["id"]] += 1
            if result.verdict is None:
                assert result.error is not None
                assert result.error.code
                assert result.reward is None
                verdicts[result.error.code] += 1
            else:
                assert result.verdict == expected(item)
                verdicts[result.verdict] += 1
    assert set(seen.values()) == {1}
    assert load.lost
    print(
        f"\nkilled with {in_flight} items in flight, asked again after {dict(load.lost)}; "
        f"{len(seen)} items: {dict(verdicts)}; "
        f"ready after {ready_s:.1f} s, both replicas answer {back_s:.1f} s later"
    )


def test_where_limits_must_hold_redis_gone_is_a_refusal_that_ends_by_itself(
    compose: Compose, settings: Path
) -> None:
    """Last: it starts the replicas anew, with another setting."""
    settings.write_text(SETTINGS.format(on_failure="fail_closed"))
    compose.up()
    in_time(lambda: both_answer(compose) and score_once(compose).status_code == 200)
    compose("kill", "--signal", "SIGKILL", "redis")
    reply = score_once(compose)
    assert reply.status_code == 503
    assert reply.json()["type"].endswith(":limiter-unavailable")
    assert int(reply.headers["retry-after"]) >= 1
    compose("start", "redis")
    in_time(lambda: {score_once(compose).status_code for _ in range(4)} == {200})


def test_replicas_leave_one_after_another_and_no_request_is_refused(compose: Compose) -> None:
    """A rolling restart: each drains before it goes."""
    in_time(lambda: both_answer(compose))
    load = Load(compose.url)
    try:
        for container in compose.containers():
            subprocess.run(["docker", "restart", "--time", "20", container], check=True, capture_output=True)
            in_time(lambda: both_answer(compose))
    finally:
        pairs = load.stop()
    assert pairs
    for items, response in pairs:
        assert [result.verdict for result in response.results] == [expected(item) for item in items]
