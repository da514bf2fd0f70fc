"""Faults of workers and of the fork server, beside good traffic on the same service."""

import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.faults.traffic import (
    batch,
    crowding,
    eventually,
    fork_server_of,
    nulls_of,
    post,
    ready_again,
    signalled,
    traffic,
    workers_of,
)
from tests.verifier_service.server.processes import Served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and needs a parent-death signal")


def kills(client: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = client.get("/stats").json()["kills"]
    return found


def test_workers_that_are_killed_under_load_cost_no_item(judge: Served, client: httpx.Client) -> None:
    with traffic(client) as seen:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            for pid in workers_of(judge.process)[:1]:
                signalled(pid, signal.SIGKILL)
            time.sleep(0.2)
        assert ready_again(client)
    assert set(seen.nulls) <= {"worker_lost"}  # of an item whose worker dies three times by our hand


POISONS = [
    (["spin"], "answer_timeout"),
    (["hang_in_c"], "answer_timeout"),
    (["bomb"], "answer_timeout"),
    (["grow"], "answer_timeout"),
    (["abort"], "worker_lost"),
    (["fork"], "internal"),
    (["system", "true"], "internal"),
]


@pytest.mark.parametrize("deed, code", POISONS, ids=[deed[0] for deed, _ in POISONS])
def test_a_poison_item_is_a_null_and_its_neighbours_are_judged(
    client: httpx.Client, deed: list[Any], code: str
) -> None:
    tag = f"poison-{deed[0]}"
    with traffic(client) as seen:
        assert nulls_of(post(client, batch(tag, 64, {37: deed})), tag, 64) == {37: code}
        assert ready_again(client)
    assert not seen.nulls


def test_an_item_that_sleeps_in_c_ends_with_its_request_and_not_later(client: httpx.Client) -> None:
    with traffic(client) as seen:
        began = time.monotonic()
        reply = post(client, batch("sleep", 64, {37: ["sleep_in_c"]}), deadline_s=1.5)
        assert nulls_of(reply, "sleep", 64) in ({37: "deadline"}, {37: "answer_timeout"})
        assert time.monotonic() - began < 5
        assert ready_again(client)
    assert not seen.nulls


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_fork_server_that_is_lost_under_load_costs_no_item(
    judge: Served, client: httpx.Client, number: signal.Signals
) -> None:
    with traffic(client) as seen:
        before = fork_server_of(judge.process)
        signalled(before, number)
        assert eventually(lambda: not Path(f"/proc/{before}").exists(), 5 * crowding())
        assert ready_again(client)
        assert fork_server_of(judge.process) != before
    assert not seen.nulls
    assert kills(client)["forkserver"] >= 1


def test_a_service_without_a_fork_server_is_not_ready(judge: Served, client: httpx.Client) -> None:
    before = fork_server_of(judge.process)
    signalled(before, signal.SIGKILL)
    assert eventually(lambda: client.get("/readyz").status_code == 503, 2)
    assert client.get("/healthz").status_code == 200
    assert ready_again(client)


def test_poison_batches_at_once_do_not_touch_the_good_ones_beside_them(client: httpx.Client) -> None:
    """24 of them, each with an item that runs to its limit; their own good items are judged too."""

    deadline_s = 4 * crowding()

    def send(number: int) -> dict[int, str]:
        tag = f"many{number}"
        while (
            reply := post(client, batch(tag, 64, {number: ["spin"]}), deadline_s=deadline_s)
        ).status_code == 503:
            time.sleep(0.1)  # there is no room yet: nothing of it was judged
        return nulls_of(reply, tag, 64)

    with traffic(client) as seen, ThreadPoolExecutor(24) as pool:
        for number, nulls in enumerate(pool.map(send, range(24))):
            assert nulls.keys() == {number}
            assert nulls[number] in {"answer_timeout", "deadline", "queue_timeout"}
        assert ready_again(client)
    assert not seen.nulls
