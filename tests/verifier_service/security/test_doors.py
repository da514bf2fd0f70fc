"""Requests that are made to be misread: games with headers and paths, guessed keys, bodies that swell."""

import gzip
import hmac
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.verifier_service.security.conftest import KEY
from tests.verifier_service.server.processes import Served
from verifier_service.keyfile import Key, digest_of, new_key, write_keys
from verifier_service.server.keyring import Keyring

BODY = json.dumps({"items": [{"completion": r"\boxed{5}", "gold": "5"}]}).encode()
BOMB_BYTES = 100_000_000


def sent(found: Served, request: bytes) -> bytes:
    """What comes back for these bytes until the other side closes or falls silent."""
    address = urlsplit(found.url)
    with socket.create_connection((str(address.hostname), address.port or 0), 5) as sender:
        sender.settimeout(1)
        reply = b""
        with suppress(OSError):  # it may have hung up before it has read all
            sender.sendall(request)
            sender.shutdown(socket.SHUT_WR)
        with suppress(OSError):
            while piece := sender.recv(65536):
                reply += piece
        return reply


def statuses(reply: bytes) -> list[int]:
    return [int(part[:3]) for part in reply.split(b"HTTP/1.1 ")[1:]]


@pytest.fixture
def alive(guarded: Served, holder: httpx.Client) -> Iterator[None]:
    """After the test it judges as before, and its log is whole."""
    yield
    assert holder.post("/score", content=BODY).json()["rewards"] == [1.0]
    assert guarded.process.poll() is None
    for line in guarded.log.read_text().splitlines():
        assert isinstance(json.loads(line), dict)


HEAD = b"POST /score HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n"
SMUGGLED = b"GET /info HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + SMUGGLED,
        b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345" + SMUGGLED,
        b"Content-Length: -1\r\n\r\n" + SMUGGLED,
        b"Content-Length: 1e3\r\n\r\n" + SMUGGLED,
        b"Content-Length : 5\r\n\r\n12345" + SMUGGLED,
        b"X-Bad: a\x00b\r\n\r\n",
        b"X-Request-Id: a\nX-Forged: b\r\n\r\n",
        b" folded: x\r\n\r\n",
        b"X: " + b"y" * 1_000_000 + b"\r\n\r\n",
    ],
    ids=lambda headers: ascii(headers[:40]),
)
def test_headers_that_can_be_read_in_two_ways_open_nothing(guarded: Served, headers: bytes) -> None:
    """None is judged, and what is hidden behind such a request is never answered without its key."""
    found = statuses(sent(guarded, HEAD + headers))
    assert all(400 <= status < 500 for status in found), found


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(
    "path",
    [
        b"/healthz/../info",
        b"/healthz/..;/info",
        b"/healthz%2f..%2finfo",
        b"/%2e%2e/info",
        b"//info",
        b"/docs/../info",
        b"/docs/%2e%2e/info",
        b"/docs/..%2f..%2fsettings.py",
        b"/docs/vendor/../../app.py",
        b"/docs//etc/passwd",
        b"/docs/%00",
        b"/info%00/healthz",
        b"http://x/info",
        b"/info?/healthz",
        b"/info#/healthz",
        b"/INFO",
        b"/score/" + b"a" * 60_000,
    ],
    ids=lambda path: path[:24].decode(),
)
def test_no_path_leads_past_the_key(guarded: Served, path: bytes) -> None:
    reply = sent(guarded, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert all(status in (400, 401, 404) for status in statuses(reply)), reply[:300]
    assert b'"engine"' not in reply
    assert b"root:" not in reply


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(
    "line", [b"GET\x1b[31m / HTTP/1.1", b"FORGED /x\x0aINFO\x0a HTTP/1.1", b"\x16\x03\x01\x02", b""]
)
def test_a_request_line_that_is_none_leaves_no_mark_in_the_log(guarded: Served, line: bytes) -> None:
    sent(guarded, line + b"\r\nHost: x\r\n\r\n")
    assert "\x1b" not in guarded.log.read_text()


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize("coding", ["gzip", "GZIP", "deflate", "br", "zstd", "identity, gzip", "x-gzip"])
def test_a_body_that_swells_is_refused_and_never_unpacked(holder: httpx.Client, coding: str) -> None:
    bomb = gzip.compress(b" " * BOMB_BYTES, 1)
    reply = holder.post("/score", content=bomb, headers={"Content-Encoding": coding})
    assert reply.status_code == 415
    assert reply.json()["detail"].startswith("the body should be sent uncompressed")


@pytest.mark.usefixtures("alive")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"items":' * 100_000,
        b'{"items": [' + b"{}," * 2_000_000 + b"{}]}",
        b'{"items": [{"completion": "", "gold": ' + b"9" * 5_000_000 + b"}]}",
        b'{"items": [{"completion": "", "gold": 1e999999999}]}',
        b"{" + b",".join(b'"k%d":1' % number for number in range(300_000)) + b"}",
        b"\xff\xfe" + BODY,
        b'{"items": [{"completion": "\\ud800\\udfff\\ud800", "gold": "\\u0000"}]}',
    ],
    ids=lambda body: ascii(body[:24]),
)
def test_a_body_that_is_a_bomb_is_told_apart_soon(holder: httpx.Client, body: bytes) -> None:
    reply = holder.post("/score", content=body, timeout=5)
    assert reply.status_code in (200, 413, 422)
    if reply.status_code == 200:
        assert all(result["index"] == place for place, result in enumerate(reply.json()["results"]))


@pytest.mark.usefixtures("alive")
def test_guessed_keys_open_nothing_and_lock_nobody_out(guarded: Served, holder: httpx.Client) -> None:
    """Nobody is locked out, since behind a proxy all have one address; a key is too long to be guessed."""

    def guess(number: int) -> int:
        guessed = f"{KEY[:-3]}{number:03}"
        return client.get("/info", headers={"Authorization": f"Bearer {guessed}"}).status_code

    with httpx.Client(base_url=guarded.url, trust_env=False) as client, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(guess, range(300))) == {401}
        assert client.get("/info", headers={"Authorization": "Bearer " + "x" * 60_000}).status_code in (
            400,
            401,
        )
    assert holder.get("/info").status_code == 200
    assert len(new_key()) >= 43  # 256 bits


def test_a_key_is_compared_with_all_there_are_in_constant_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = hmac.compare_digest

    def note(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", note)
    file = tmp_path / "keys"
    write_keys(file, [Key(name, digest_of(name.encode())) for name in ("alice", "bob", "carol")])
    keyring = Keyring("one", file)
    for key in (b"one", b"carol", b"nobody"):
        compared.clear()
        keyring.holder(key)
        assert len(compared) == 4
        assert all(len(one) == len(other) == 32 for one, other in compared)  # digests, never the keys
