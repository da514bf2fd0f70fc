"""A way to a server that can be made slow, mad or impassable while it is in use."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit

Mood = Literal["fair", "slow", "mad"]
PIECE = 65536


class Proxy:
    """Passes bytes to and fro on loopback. Its mood may be changed at any time.

    slow: what the server says comes late.  mad: what comes is not what the server says.
    """

    def __init__(self, target: tuple[str, int], *, late_s: float) -> None:
        self.mood: Mood = "fair"
        self._target = target
        self._late_s = late_s
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _take(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            for ends in ((client, server, False), (server, client, True)):
                threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, back: bool) -> None:
        with suppress(OSError), source, sink:
            while piece := source.recv(PIECE):
                if back and self.mood == "slow":
                    time.sleep(self._late_s)
                sink.sendall(b"\xff$-7\r\n*2:" if back and self.mood == "mad" else piece)


@contextmanager
def proxied(url: str, *, late_s: float) -> Iterator[tuple[Proxy, str]]:
    """A proxy before the server of this URL, and the URL that leads through it."""
    parts = urlsplit(url)
    proxy = Proxy((str(parts.hostname), parts.port or 0), late_s=late_s)
    try:
        yield proxy, parts._replace(netloc=f"127.0.0.1:{proxy.port}").geturl()
    finally:
        proxy.close()
