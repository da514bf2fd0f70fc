"""A verifier service for as long as it is needed: the one that VERIFIER_URL names, or one of our own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

READY_S, STOP_S, LOOK_S = 60.0, 10.0, 0.05
VERIFIER = Path(sys.executable).with_name("verifier")


@contextmanager
def service(log: Path, flags: Sequence[str] = ()) -> Iterator[str]:
    """The base URL of a service that is ready. One that is started here writes to `log`, and ends with it."""
    given = os.environ.get("VERIFIER_URL")
    if given:
        yield given
        return
    port = free_port()
    process = start(port, log, flags)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        stop(process)


def start(port: int, log: Path, flags: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """`verifier serve` on this port, ready to answer. Raises RuntimeError with its log if it does not start."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [str(VERIFIER), "serve", "--host", "127.0.0.1", "--port", str(port), *flags]
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    if not _is_ready(process, port):
        stop(process)
        raise RuntimeError(f"the service did not start:\n{log.read_text(errors='replace')[-2000:]}")
    return process


def stop(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    process.send_signal(how)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_ready(process: subprocess.Popen[bytes], port: int) -> bool:
    deadline = time.monotonic() + READY_S
    with httpx.Client(trust_env=False, timeout=2) as client:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if client.get(f"http://127.0.0.1:{port}/readyz").status_code == httpx.codes.OK:
                    return True
            except httpx.TransportError:
                time.sleep(LOOK_S)
    return False
