"""A Redis of a test's own, to be killed, frozen and filled."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from tests.services import free_port

READY_S = 10.0


class RedisServer:
    """One process on a port that stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self, *options: str) -> None:
        command = ["redis-server", "--port", str(self._port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self._folder), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self._port), 1) as probe:
                    probe.sendall(b"PING\r\n")
                    if probe.recv(16).startswith(b"+PONG"):
                        return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("redis-server does not answer")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """It keeps its connections, takes what is sent, and answers nothing."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)


@asynccontextmanager
async def impostor(reply: bytes) -> AsyncIterator[str]:
    """The address of something that says OK while a client greets it, and this to everything else."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while asked := await reader.read(65536):
            greetings = asked.count(b"CLIENT") + asked.count(b"HELLO")
            writer.write(b"+OK\r\n" * greetings or reply + b"\r\n")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"


@contextmanager
def running_redis(folder: Path, *options: str) -> Iterator[RedisServer]:
    """Skips the test where Debian's redis-server is not installed."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    pytest.importorskip("redis", reason="the extra [redis] is not installed")
    server = RedisServer(folder)
    server.start(*options)
    try:
        yield server
    finally:
        server.kill()
