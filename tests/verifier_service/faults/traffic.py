"""Senders beside a fault. Every item that is sent is counted: one verdict or one null with a code, in its place."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from tests.verifier_service.server.processes import Served

WAIT_S = 30.0
READY_AGAIN_S = 5.0  # on a machine of its own
# Beside the usual accuracy, the reward that misbehaves where an item asks for it.
SABOTAGED = {"schema": 1, "rewards": {"accuracy": {"weight": 1}, "saboteur": {"weight": 1}}}
# Refusals of a whole request, of which nothing was judged and which may be sent again.
REFUSALS = frozenset({"overloaded", "draining", "not-ready"})

Items = list[dict[str, Any]]


def batch(tag: str, size: int, deeds: Mapping[int, list[Any]] | None = None) -> Items:
    """Items whose answers say which they are; every third is wrong. deeds: what goes wrong, by place."""
    return [
        {
            "id": f"{tag}-{place}",
            "completion": rf"{tag} \boxed{{{place + (place % 3 == 2)}}}",
            "gold": str(place),
            "deed": (deeds or {}).get(place),
        }
        for place in range(size)
    ]


def nulls_of(reply: httpx.Response, tag: str, size: int) -> dict[int, str]:
    """Codes of the items without a verdict, if each item is there once, in its place, and no verdict is wrong."""
    assert reply.status_code == 200, reply.text
    body: dict[str, Any] = reply.json()
    assert [result["id"] for result in body["results"]] == [f"{tag}-{place}" for place in range(size)]
    assert [result["index"] for result in body["results"]] == list(range(size))
    assert body["rewards"] == [result["reward"] for result in body["results"]]
    nulls = {}
    for place, result in enumerate(body["results"]):
        if result["reward"] is None:
            assert (result["status"], result["verdict"]) == ("error", None), result
            nulls[place] = result["error"]["code"]
        else:
            assert (result["status"], result["reward"]) == ("ok", float(place % 3 != 2)), result
    return nulls


@contextmanager
def client_of(found: Served) -> Iterator[httpx.Client]:
    limits = httpx.Limits(max_connections=200)
    with httpx.Client(base_url=found.url, trust_env=False, timeout=WAIT_S, limits=limits) as client:
        yield client


def post(client: httpx.Client, items: Items, **options: Any) -> httpx.Response:
    return client.post("/score", json={"items": items, "profile": SABOTAGED, **options})


@dataclass
class Seen:
    """What the senders have seen so far."""

    replies: int = 0
    refused: int = 0
    nulls: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)  # of batches that were judged, in seconds
    faults: list[BaseException] = field(default_factory=list)


@contextmanager
def traffic(client: httpx.Client, *, senders: int = 3, size: int = 32) -> Iterator[Seen]:
    """Good batches all the while, each one checked. Raises what went wrong with any of them."""
    seen = Seen()
    over = threading.Event()
    numbers = count()
    lock = threading.Lock()

    def send() -> None:
        while not over.is_set():
            tag = f"t{next(numbers)}"
            began = time.monotonic()
            try:
                reply = post(client, batch(tag, size))
                refused = reply.status_code == 503
                if refused:
                    assert reply.json()["type"].rpartition(":")[2] in REFUSALS
                    over.wait(0.05)
                nulls = [] if refused else nulls_of(reply, tag, size).values()
            except BaseException as error:  # noqa: BLE001  raised again in the test's own thread
                seen.faults.append(error)
                return
            with lock:
                seen.replies += 1
                seen.refused += refused
                seen.nulls += nulls
                if not refused:
                    seen.waits.append(time.monotonic() - began)

    with ThreadPoolExecutor(senders) as pool:
        for _ in range(senders):
            pool.submit(send)
        try:
            assert eventually(lambda: seen.replies >= 2 * senders or bool(seen.faults))
            yield seen
        finally:
            over.set()
    for fault in seen.faults:
        raise fault


def eventually(holds: Callable[[], bool], within_s: float = WAIT_S) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


def crowding() -> float:
    """How many times longer things take here because others want the cores too."""
    return max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))


def is_ready(client: httpx.Client) -> bool:
    return client.get("/readyz").status_code == 200


def ready_again(client: httpx.Client) -> bool:
    """Whether it is, in time after the end of a fault, and judges as before."""
    if not eventually(lambda: is_ready(client), READY_AGAIN_S * crowding()):
        return False
    tag = f"after{time.monotonic_ns()}"
    return not nulls_of(post(client, batch(tag, 8)), tag, 8)


def inflight(client: httpx.Client) -> dict[str, int]:
    found: dict[str, int] = client.get("/stats").json()["inflight"]
    return found


def fork_server_of(process: subprocess.Popen[bytes]) -> int:
    [server] = [int(pid) for pid in _children(process.pid)]
    return server


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The grandchildren: the fork server's children. None where there is no fork server just now."""
    return [int(pid) for server in _children(process.pid) for pid in _children(int(server))]


def _children(pid: int) -> list[str]:
    try:
        return [
            child
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def signalled(pid: int, number: signal.Signals) -> None:
    """Sends a signal to a process that may have ended already."""
    with suppress(ProcessLookupError):
        os.kill(pid, number)
