"""The client on real connections, against servers that drip, cut off, lie or send what is no reply."""

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.verifier_service.test_client import FakeService
from verifier_service.client import AsyncClient, Client, ServiceUnreachable, UnexpectedReply, core

ITEM = {"completion": "5", "gold": "5"}
Ask = Callable[..., Any]
Manner = Callable[[socket.socket], None]


def body(count: int) -> bytes:
    results = [FakeService.result(place, ITEM) for place in range(count)]
    return json.dumps(FakeService().response(results)).encode()


def reply(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + content


@contextmanager
def server(manner: Manner) -> Iterator[str]:
    """Treats every connection in this manner, each in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    open_ones: list[socket.socket] = []

    def treat(connection: socket.socket) -> None:
        try:
            manner(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            open_ones.append(connection)
            threads.append(threading.Thread(target=treat, args=(connection,)))
            threads[-1].start()

    threads = [threading.Thread(target=accept)]
    threads[0].start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in open_ones:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(5)
            assert not thread.is_alive()


def waiting(url: str, count: int = 1, **options: Any) -> Any:
    with Client(url, **options) as client:
        return client.score([ITEM] * count)


def awaiting(url: str, count: int = 1, **options: Any) -> Any:
    async def ask() -> Any:
        async with AsyncClient(url, **options) as client:
            return await client.score([ITEM] * count)

    return asyncio.run(ask())


BOTH = pytest.mark.parametrize("ask", [waiting, awaiting])


def read_request(connection: socket.socket) -> bytes:
    """The whole of it is taken; its head is given."""
    found = b""
    while b"\r\n\r\n" not in found:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError
        found += part
    head, _, rest = found.partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(rest) < length:
        rest += connection.recv(65536)
    return head


def dripping(content: bytes, pause_s: float = 0.02) -> Manner:
    def manner(connection: socket.socket) -> None:
        read_request(connection)
        for place in range(len(content)):
            connection.sendall(content[place : place + 1])
            time.sleep(pause_s)

    return manner


def saying(*replies: bytes) -> Manner:
    """These, each to one request of the connection, and then nothing more."""

    def manner(connection: socket.socket) -> None:
        for one in replies:
            read_request(connection)
            connection.sendall(one)

    return manner


@BOTH
@pytest.mark.parametrize(
    "drips", [reply(body(1)), b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 500], ids=["body", "header"]
)
def test_a_reply_that_drips_ends_with_the_time_of_the_call(ask: Ask, drips: bytes) -> None:
    with server(dripping(drips)) as url:
        began = time.monotonic()
        with pytest.raises(ServiceUnreachable, match="no reply from http"):
            ask(url, total_s=0.4)
        assert 0.3 < time.monotonic() - began < 4


@BOTH
def test_a_request_that_is_not_taken_ends_with_the_time_of_the_call(ask: Ask) -> None:
    never = threading.Event()

    def manner(connection: socket.socket) -> None:
        while connection.recv(1) and not never.wait(0.01):
            pass

    with server(manner) as url:
        began = time.monotonic()
        with pytest.raises(ServiceUnreachable):
            # More than the buffers of a connection hold.
            ask(url, count=200_000, total_s=1.5, retries=0)
        assert time.monotonic() - began < 6
        never.set()


@BOTH
def test_a_connection_is_used_again_and_each_exchange_has_its_own_time(ask: Ask) -> None:
    with server(saying(*[reply(body(1))] * 6)) as url:

        async def in_turn() -> None:
            async with AsyncClient(url, timeout_s=0.4, retries=0) as client:
                for _ in range(6):
                    await client.score([ITEM])
                    await asyncio.sleep(0.1)

        if ask is awaiting:
            asyncio.run(in_turn())
            return
        with Client(url, timeout_s=0.4, retries=0) as client:
            for _ in range(6):
                client.score([ITEM])
                time.sleep(0.1)


@BOTH
@pytest.mark.parametrize(
    ("manner", "error"),
    [
        (saying(reply(b"\xff\xfe{}")), UnexpectedReply),
        (saying(reply(b'{"results": [')), UnexpectedReply),
        (saying(reply(body(2))), UnexpectedReply),
        (saying(reply(body(0))), UnexpectedReply),
        (saying(reply(b"")), UnexpectedReply),
        (saying(reply(b"no gzip", "Content-Encoding: gzip")), ServiceUnreachable),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}"), ServiceUnreachable),
        (saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), ServiceUnreachable),
        (saying(b"SSH-2.0-OpenSSH\r\n"), ServiceUnreachable),
        (saying(b"HTTP/1.1 999999 \r\n\r\n"), ServiceUnreachable),
        (saying(b""), ServiceUnreachable),
        (saying(), ServiceUnreachable),
    ],
)
def test_what_is_no_reply_raises_an_error_of_the_client(
    ask: Ask, manner: Manner, error: type[Exception]
) -> None:
    with server(manner) as url, pytest.raises(error):
        ask(url, retries=0, timeout_s=2)


@BOTH
def test_a_connection_cut_off_in_a_reply_is_tried_again(ask: Ask) -> None:
    connections = iter([saying(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{}"), saying(reply(body(1)))])
    with server(lambda connection: next(connections)(connection)) as url:
        assert ask(url).rewards == [1.0]


@BOTH
def test_a_server_that_is_asked_for_tls_and_speaks_none_is_not_reached(ask: Ask) -> None:
    with server(saying(reply(body(1)))) as url, pytest.raises(ServiceUnreachable):
        ask(url.replace("http:", "https:"), retries=0, timeout_s=2)


@BOTH
def test_proxies_of_the_environment_are_left_alone_unless_asked_for(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with server(saying(reply(body(1)))) as url:
        assert ask(url).rewards == [1.0]
        with pytest.raises(ServiceUnreachable):
            ask(url, trust_env=True, retries=0)
    # Through one, where it is there: a proxy is asked with the whole address.
    with server(saying(reply(body(1)))) as proxy:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, proxy)
        assert ask("http://judge.invalid", trust_env=True).rewards == [1.0]


def test_a_silent_server_leaves_time_for_another_one() -> None:
    silent = threading.Event()
    with (
        server(lambda connection: silent.wait(5) and None) as first,
        server(saying(reply(body(1)))) as second,
    ):
        began = time.monotonic()
        assert waiting(f"{first},{second}", timeout_s=0.3, total_s=5).rewards == [1.0]
        assert time.monotonic() - began < 4
        silent.set()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of 127.0.0.1, signed by itself, with its key."""
    path = tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=judge -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [*command.split(), "-keyout", path, "-out", tmp_path / "own"], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + (tmp_path / "own").read_bytes())
    return path


# No test at all without it: CI takes a skipped one for a failure.
if shutil.which("openssl") is not None:

    @BOTH
    @pytest.mark.parametrize("prefix", ["", "/judge", "/judge/score"])
    def test_https_and_a_path_in_front_with_a_certificate_of_the_environment(
        ask: Ask, prefix: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        paths: list[bytes] = []

        def manner(connection: socket.socket) -> None:
            with context.wrap_socket(connection, server_side=True) as secure:
                paths.append(read_request(secure).split()[1])
                secure.sendall(reply(body(1), "Connection: close"))

        with server(manner) as url:
            secure_url = url.replace("http:", "https:") + prefix
            with pytest.raises(ServiceUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
                ask(secure_url, retries=0)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            core._trust.cache_clear()
            assert ask(secure_url, trust_env=True).rewards == [1.0]
            core._trust.cache_clear()
        assert paths == [prefix.removesuffix("/score").encode() + b"/score"]


def addresses_here() -> list[tuple[socket.AddressFamily, str]]:
    found = [(socket.AF_INET, "127.0.0.1")]
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        found.append((socket.AF_INET6, "::1"))
    return found


@pytest.mark.parametrize(("family", "host"), addresses_here())
def test_an_address_in_numbers_is_reached(family: socket.AddressFamily, host: str) -> None:
    with socket.create_server((host, 0), family=family) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                saying(reply(body(1)))(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        written = f"[{host}]" if ":" in host else host
        assert waiting(f"{written}:{listener.getsockname()[1]}").rewards == [1.0]
        thread.join()


def test_certificates_are_checked() -> None:
    with Client("http://a,https://judge.invalid") as client:
        context = client._session()._transport._pool._ssl_context  # type: ignore[attr-defined]
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
        assert context.get_ca_certs()


def test_a_great_batch_is_sent_in_parts_and_comes_back_in_order() -> None:
    """The replies are as small as they may be: it is about the way there and back."""
    count = 200_000
    service = FakeService()
    client = Client("http://a,http://b", transport=httpx.MockTransport(service.reply))
    items = [{"completion": str(place % 7), "gold": "5"} for place in range(count)]
    response = client.score(items)
    assert response.rewards == [float(place % 7 == 5) for place in range(count)]
    assert [result.index for result in response.results] == list(range(count))
    assert sorted(set(service.sizes))[-1] <= 4096
