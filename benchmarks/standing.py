"""Processes of a benchmark: our service, the peer, load generators, and what they cost."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import trees

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tools import serving  # noqa: E402

PERIOD_S = 0.02


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    pid: int

    def cpu_s(self) -> float:
        return trees.cpu_s(self.pid)


@contextmanager
def ours(*flags: str) -> Iterator[Server]:
    """`verifier serve` with these flags."""
    port = serving.free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = serving.start(port, Path(folder) / "log", ["--log-level", "error", *flags])
        try:
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            serving.stop(process)


@contextmanager
def peer(workers: int) -> Iterator[Server]:
    """A FastAPI app around Math-Verify with as many processes."""
    port = serving.free_port()
    command = [sys.executable, str(HERE / "math_verify_app.py"), str(port), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            _wait_until_ready(f"http://127.0.0.1:{port}")
            yield Server(f"http://127.0.0.1:{port}", process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # the processes of its pool outlive it otherwise


def _wait_until_ready(url: str) -> None:
    end = time.monotonic() + serving.READY_S
    while True:
        try:
            httpx.get(f"{url}/readyz", trust_env=False, timeout=30).raise_for_status()
            return
        except (httpx.TransportError, httpx.HTTPStatusError):
            if time.monotonic() > end:
                raise
            time.sleep(serving.LOOK_S)


def script(name: str, *arguments: str | int | float) -> dict[str, Any]:
    """What a script of this folder prints, run in a process of its own."""
    with started(name, *arguments) as process:
        return finished(process)


@contextmanager
def started(name: str, *arguments: str | int | float) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def finished(process: "subprocess.Popen[str]") -> dict[str, Any]:
    printed = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{process.args!r} failed")
    return dict(json.loads(printed))


@contextmanager
def capped(servers: Sequence[Server], share: float) -> Iterator[None]:
    """Each server with its processes on one core, and stopped for part of the time: as much CPU for each."""
    trees_of = [trees.processes_below(server.pid) for server in servers]
    cores = sorted(os.sched_getaffinity(0))
    for place, pids in enumerate(trees_of):
        for pid in pids:
            os.sched_setaffinity(pid, {cores[place % len(cores)]})
    done = threading.Event()
    pids = [pid for tree in trees_of for pid in tree]
    thread = threading.Thread(target=_stop_and_go, args=(pids, share, done))
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _stop_and_go(pids: Sequence[int], share: float, done: threading.Event) -> None:
    while not done.wait(PERIOD_S * share):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(PERIOD_S * (1 - share))
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def replicas(number: int, *flags: str) -> Iterator[list[Server]]:
    with ExitStack() as stack:
        yield [stack.enter_context(ours(*flags)) for _ in range(number)]
