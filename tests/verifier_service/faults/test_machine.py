"""The machine around the service: a log that cannot be written, a clock that jumps, no descriptor left."""

import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.services import free_port, wait_until_ready
from tests.verifier_service.faults.traffic import (
    WAIT_S,
    batch,
    client_of,
    eventually,
    inflight,
    nulls_of,
    ready_again,
    signalled,
    traffic,
    workers_of,
)
from tests.verifier_service.server.processes import COMMAND, Served, environment, served

FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
DESCRIPTORS = 96


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_log_on_a_full_disk_stops_nothing() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    env = environment(port=str(port), workers="1")
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(COMMAND, env=env, stdout=full, stderr=full) as process,
    ):
        try:
            wait_until_ready(process, url, Path("/dev/null"))
            for number in range(5):
                reply = httpx.post(f"{url}/score", json={"items": batch(str(number), 8)}, trust_env=False)
                assert not nulls_of(reply, str(number), 8)
            with httpx.Client(base_url=url, trust_env=False) as client:
                for pid in workers_of(process):
                    signalled(pid, signal.SIGKILL)  # which is logged, or would be
                assert ready_again(client)
        finally:
            process.terminate()
            code = process.wait(WAIT_S)
    assert code in (0, 120)  # 120: Python itself could not flush its last line


@pytest.mark.skipif(
    not FAKETIME.exists(), reason="libfaketime is not installed (apt-get install libfaketime)"
)
def test_a_clock_that_jumps_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = tmp_path / "clock"
    clock.write_text("+0")
    for name, value in {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with (
        served(tmp_path / "log", item_cpu_s="0.3", rate_items="1000000") as found,
        client_of(found) as client,
    ):
        year = _year(client)
        with traffic(client) as seen:
            for jump in ("+10y", "-10y", "+0"):
                clock.write_text(jump)
                assert eventually(lambda: _year(client) == year + int(jump.rstrip("y")))  # noqa: B023
                reply = client.post("/score", json={"items": batch(jump, 64)})
                assert not nulls_of(reply, jump, 64)
                assert ready_again(client)
        assert not seen.nulls
        assert max(seen.waits) < 5
        assert seen.refused == 0
        assert client.get("/stats").json()["kills"] == {}


def _year(client: httpx.Client) -> int:
    """As the service sees it: in the date of its replies."""
    return int(client.get("/healthz").headers["date"].split()[3])


@contextmanager
def few_descriptors() -> Iterator[None]:
    """For processes that are started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_that_take_every_descriptor_stop_it_no_longer_than_they_last(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with few_descriptors():
            found = stack.enter_context(served(tmp_path / "log"))
        client = stack.enter_context(client_of(found))
        assert ready_again(client)
        with ExitStack() as idle:
            _take_all(found, idle)
            for pid in workers_of(found.process):  # new ones cannot be born now
                signalled(pid, signal.SIGKILL)
            reply = client.post("/score", json={"items": batch("full", 64)}, timeout=15)
            assert set(nulls_of(reply, "full", 64).values()) <= {"queue_timeout", "deadline", "worker_lost"}
        assert ready_again(client)
        assert inflight(client) == {"requests": 0, "items": 0, "bytes": 0}


def _take_all(found: Served, idle: ExitStack) -> None:
    """Opens connections until no more of them are taken from the queue of the system."""
    address = urlsplit(found.url)
    held = Path(f"/proc/{found.process.pid}/fd")
    for _ in range(DESCRIPTORS):
        idle.enter_context(socket.create_connection((str(address.hostname), address.port or 0), 5))
    assert eventually(lambda: len(list(held.iterdir())) >= DESCRIPTORS - 1)
