"""The judge's processes seen from outside. Real processes: these facts are the system's."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from verifier_service.cases.processes import FORKSERVER, PROC, MemoryWatch, Processes, listens

pytestmark = pytest.mark.skipif(not (PROC / "self" / "stat").exists(), reason="no /proc here")

# Forks one worker, which holds as many bytes as it is told to and says when; ends when that one ends.
FORKS = """
import os, sys
if os.fork():
    os.wait()
else:
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        held = b"x" * int(line)
        print(len(held), flush=True)
"""


@dataclass(frozen=True)
class Worker:
    server: subprocess.Popen[str]
    pid: int

    def send(self, size: int) -> None:
        assert self.server.stdin is not None
        self.server.stdin.write(f"{size}\n")
        self.server.stdin.flush()

    def hold(self, size: int) -> None:
        self.send(size)
        assert self.server.stdout is not None
        assert int(self.server.stdout.readline()) == size


@pytest.fixture
def worker() -> Iterator[Worker]:
    command = [sys.executable, "-c", FORKS, FORKSERVER.decode()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield Worker(server, int(server.stdout.readline()))
        server.communicate()


def test_the_workers_are_found_below_the_fork_server(worker: Worker) -> None:
    own = Processes.own()
    assert worker.pid in own.workers()
    assert own.parents()[0] == os.getpid()
    assert os.getpid() not in own.workers()


def test_the_fork_server_is_one_that_must_live(worker: Worker) -> None:
    assert worker.server.pid in Processes.own().parents()
    assert worker.server.pid not in Processes.own().workers()


def test_workers_stand_still_and_are_lost(worker: Worker) -> None:
    with Processes.own().without_progress():
        worker.send(1)
    answer, _ = worker.server.communicate()
    assert answer == ""


def test_the_peak_of_a_worker_is_measured_even_if_it_lets_go(worker: Worker) -> None:
    with MemoryWatch(Processes.own()) as before:
        pass
    with MemoryWatch(Processes.own()) as during:
        worker.hold(100_000_000)
        worker.hold(0)
    assert during.peak_mb > before.peak_mb + 80


def test_an_old_peak_is_not_held_against_the_next(worker: Worker) -> None:
    worker.hold(100_000_000)
    worker.hold(0)
    with MemoryWatch(Processes.own()) as after:
        pass
    assert 0 < after.peak_mb < 90


def test_a_process_is_known_by_the_port_it_listens_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert listens(os.getpid(), port)
        assert not listens(os.getppid(), port)
        assert Processes.of_service(os.getpid(), port).visible
    assert not listens(os.getpid(), port)


def test_nothing_is_seen_of_a_process_elsewhere() -> None:
    elsewhere = Processes.of_service(2**22 + 1, 80)
    assert not elsewhere.visible
    assert elsewhere.parents() == elsewhere.workers() == []
    with MemoryWatch(elsewhere) as memory:
        pass
    assert memory.peak_mb == 0
