"""A real service for a test: its own process on a free port, gone when the test is done."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

READY_S = 60.0
STOP_S = 20.0
VERIFIER = Path(sys.executable).with_name("verifier")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_service(*flags: str, log: Path) -> Iterator[str]:
    """`verifier serve` with these flags; its base URL once it is ready. Its output goes to `log`."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [str(VERIFIER), "serve", "--host", "127.0.0.1", "--port", str(port), *flags]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            wait_until_ready(process, url, log)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + READY_S
    with httpx.Client(trust_env=False, timeout=2) as client:
        while time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            try:
                if client.get(f"{url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
    raise AssertionError(f"not ready within {READY_S} s: {log.read_text()}")
