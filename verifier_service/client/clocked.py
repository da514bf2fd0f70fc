"""One time for a whole exchange. A timeout of httpx counts for each read anew, so that a reply that comes a byte
at a time would never end; here the way there, the request and the reply share one.
"""

import time
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

# Of a request that is taken slowly: the time is looked at between pieces.
PIECE_BYTES = 2**18


def clocked(session: httpx.Client) -> httpx.Client:
    """The same session, whose connections keep their time. asyncio needs none of this: it has timeouts that cut."""
    for transport in (session._transport, *session._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _Backend(pool._network_backend)
    return session


class _Backend(httpcore.NetworkBackend):
    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        began = time.monotonic()
        return _Stream(self._backend.connect_tcp(host, port, timeout, local_address, socket_options), began)

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """began: of the exchange under way, the first of which includes the way there."""

    def __init__(self, stream: httpcore.NetworkStream, began: float) -> None:
        self._stream = stream
        self._began = began
        self._replied = False

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._replied:
            self._began, self._replied = time.monotonic(), False
        for start in range(0, len(buffer), PIECE_BYTES):
            piece = buffer[start : start + PIECE_BYTES]
            self._stream.write(piece, self._left(timeout, httpcore.WriteTimeout))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._replied = True
        return self._stream.read(max_bytes, self._left(timeout, httpcore.ReadTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, timeout), self._began)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _left(self, timeout: float | None, over: type[httpcore.TimeoutException]) -> float | None:
        if timeout is None:
            return None
        left = self._began + timeout - time.monotonic()
        if left <= 0:
            raise over(f"not done within {timeout:.1f} s")
        return left
