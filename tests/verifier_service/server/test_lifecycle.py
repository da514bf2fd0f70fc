"""Ends and renewals of a real process, each counting every item that was under way."""

import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.server.processes import Served, served
from verifier_service.keyfile import Key, digest_of, write_keys

# Half a minute of work for the slow path.
HEAVY = (
    r"\boxed{\int_0^1 \sqrt{1+x^{7}} e^{x} \, dx}",
    r"\int_0^1 \sqrt{1+y^{7}} e^{y} \sin^2(y)+\cos^2(y) \, dy",
)
GOOD = {"completion": r"\boxed{5}", "gold": 5}
WAIT_S = 20.0


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def status(found: Served, path: str, **headers: str) -> int:
    return httpx.get(f"{found.url}{path}", headers=headers, trust_env=False, timeout=5).status_code


class Senders:
    """Threads that post batches until the service is gone, and keep every reply."""

    def __init__(self, url: str, count: int, size: int) -> None:
        self.replies: list[httpx.Response] = []
        self.unanswered: list[httpx.TransportError] = []
        self._size = size
        self._url = url
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _send(self, number: int) -> None:
        with httpx.Client(trust_env=False, timeout=WAIT_S) as client:
            for turn in range(100_000):
                items = [
                    {"id": place, "completion": rf"{number} {turn} \boxed{{{place}}}", "gold": str(place)}
                    for place in range(self._size)
                ]
                try:
                    self.replies.append(client.post(f"{self._url}/score", json={"items": items}))
                except httpx.TransportError as error:
                    self.unanswered.append(error)
                    return

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


def whole(reply: httpx.Response, size: int) -> dict[str, int]:
    """How the items of a reply ended, if each is there once, at its place, with a verdict or a code."""
    body: dict[str, Any] = reply.json()
    assert [result["index"] for result in body["results"]] == list(range(size))
    assert [result["id"] for result in body["results"]] == list(range(size))
    assert body["rewards"] == [result["reward"] for result in body["results"]]
    right = sum(result["reward"] == 1.0 for result in body["results"])
    retryable = sum(result["reward"] is None and result["error"]["retryable"] for result in body["results"])
    assert right + retryable == size
    return {"right": right, "retryable": retryable}


@pytest.mark.parametrize("drain_s", ["0", "1"])
def test_sigterm_under_load_loses_no_item_and_ends_with_0(tmp_path: Path, drain_s: str) -> None:
    with served(tmp_path / "log", drain_s=drain_s) as found:
        senders = Senders(found.url, count=4, size=64)
        assert eventually(lambda: len(senders.replies) > 20)
        found.process.send_signal(signal.SIGTERM)
        assert found.process.wait(WAIT_S) == 0
        senders.join()
        assert not found.said("Traceback|ERROR")
    good = [reply for reply in senders.replies if reply.status_code == 200]
    refused = [reply for reply in senders.replies if reply.status_code != 200]
    assert sum(whole(reply, 64)["right"] for reply in good) == 64 * len(good)
    for reply in refused:
        assert (reply.status_code, reply.json()["type"].rpartition(":")[2]) == (503, "draining")
    if drain_s == "1":
        assert refused
    # A connection that is opened when the port is closed, or reset while it rested; no request had begun.
    assert all(
        isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError) for error in senders.unanswered
    )


def test_while_it_drains_it_is_not_ready_but_answers(tmp_path: Path) -> None:
    with served(tmp_path / "log", drain_s="5") as found:
        found.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: status(found, "/readyz") == 503)
        assert status(found, "/healthz") == 200
        assert httpx.post(f"{found.url}/score", json={"items": []}, trust_env=False).status_code == 503
        began = time.monotonic()
        found.process.send_signal(signal.SIGTERM)  # whoever asks twice does not want to wait
        assert found.process.wait(WAIT_S) == 0
        assert time.monotonic() - began < 4


def test_what_is_not_judged_in_the_grace_time_is_a_null_that_may_be_sent_again(tmp_path: Path) -> None:
    with served(tmp_path / "log", shutdown_s="0.5", item_cpu_s="60", deadline_s="60") as found:
        items = [{"completion": HEAVY[0], "gold": HEAVY[1]}]
        items += [{"completion": rf"\boxed{{{place}}}", "gold": str(place)} for place in range(200)]
        replies: list[httpx.Response] = []
        sender = threading.Thread(
            target=lambda: replies.append(
                httpx.post(f"{found.url}/score", json={"items": items}, trust_env=False, timeout=WAIT_S)
            )
        )
        sender.start()
        assert eventually(lambda: json.loads(_stats(found))["inflight"]["items"] > 0 or bool(replies))
        found.process.send_signal(signal.SIGTERM)
        assert found.process.wait(WAIT_S) == 0
        sender.join()
    results = replies[0].json()["results"]
    assert [result["index"] for result in results] == list(range(201))
    assert results[0]["reward"] is None
    assert all(result["error"]["retryable"] for result in results if result["verdict"] is None)


def _stats(found: Served) -> str:
    return httpx.get(f"{found.url}/stats", trust_env=False).text


PROFILE = """schema = 1
[rewards.accuracy]
weight = {weight}
"""


def test_sighup_has_profiles_and_keys_read_again_and_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    keys, profiles = tmp_path / "keys", tmp_path / "profiles"
    profiles.mkdir()
    own = profiles / "own.toml"
    own.write_text(PROFILE.format(weight=2))
    write_keys(keys, [Key("alice", digest_of(b"alice"))])
    with served(tmp_path / "log", keys_file=str(keys), profiles=str(profiles)) as found:

        def reward(key: str) -> float | None:
            reply = httpx.post(
                f"{found.url}/score?profile=own",
                json={"items": [GOOD]},
                headers={"Authorization": f"Bearer {key}"},
                trust_env=False,
            )
            return reply.json()["rewards"][0] if reply.status_code == 200 else None

        assert (reward("alice"), reward("bob")) == (2.0, None)
        own.write_text(PROFILE.format(weight=3))
        write_keys(keys, [Key("bob", digest_of(b"bob"))])
        found.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: reward("bob") == 3.0)
        assert reward("alice") is None
        own.write_text("no profile")
        found.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: found.said("profiles stay as they were"))
        assert reward("bob") == 3.0
