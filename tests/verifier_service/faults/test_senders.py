"""Senders that are slow, half closed or gone leave nothing behind, and hold up nobody."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from tests.verifier_service.faults.conftest import RECEIVE_S
from tests.verifier_service.faults.traffic import batch, eventually, inflight, ready_again, traffic
from tests.verifier_service.server.processes import Served

NOTHING = {"requests": 0, "items": 0, "bytes": 0}


BODY = json.dumps({"items": batch("gone", 512)}).encode()
HEAD = (
    "POST /score HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    f"Content-Length: {len(BODY)}\r\n\r\n"
).encode()


@contextmanager
def connection(found: Served) -> Iterator[socket.socket]:
    address = urlsplit(found.url)
    with socket.create_connection((str(address.hostname), address.port or 0), 5) as sender:
        yield sender


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


def test_senders_that_go_away_in_every_way_leave_nothing_behind(judge: Served, client: httpx.Client) -> None:
    with traffic(client) as seen:
        for number in range(30):
            with connection(judge) as sender:
                sender.sendall(HEAD + (BODY if number % 3 else BODY[: len(BODY) // 2]))
                if number % 3 == 1:
                    sender.shutdown(socket.SHUT_WR)
    assert not seen.nulls
    assert eventually(lambda: inflight(client) == NOTHING)
    assert ready_again(client)
    assert not judge.said("Traceback")


def test_senders_that_dribble_are_turned_away_in_time_and_hold_up_nobody(
    judge: Served, client: httpx.Client
) -> None:
    senders = [
        socket.create_connection((urlsplit(judge.url).hostname, urlsplit(judge.url).port), 5)
        for _ in range(50)
    ]
    try:
        with traffic(client) as seen:
            for sender in senders:
                sender.sendall(HEAD + BODY[:10])
            for sender in senders:
                assert status_of(sender.recv(4096)) == 408
    finally:
        for sender in senders:
            sender.close()
    assert not seen.nulls
    assert max(seen.waits) < 2 * RECEIVE_S
    assert eventually(lambda: inflight(client) == NOTHING)
    assert ready_again(client)


def test_a_sender_that_reads_its_reply_slowly_gets_all_of_it_and_holds_up_nobody(
    judge: Served, client: httpx.Client
) -> None:
    with traffic(client) as seen, connection(judge) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)  # the reply is far larger
        sender.sendall(HEAD + BODY)
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += sender.recv(1024)
        head, _, body = reply.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        while len(body) < length:
            body += sender.recv(1024)
    results = json.loads(body)["results"]
    assert [result["id"] for result in results] == [f"gone-{place}" for place in range(512)]
    assert not seen.nulls
    assert ready_again(client)


def test_a_sender_that_closes_its_half_gets_its_reply_or_is_let_go(
    judge: Served, client: httpx.Client
) -> None:
    with connection(judge) as sender:
        sender.sendall(HEAD + BODY)
        sender.shutdown(socket.SHUT_WR)
        reply = b""
        while piece := sender.recv(65536):
            reply += piece
    if reply:
        assert status_of(reply) == 200
        results = json.loads(reply.partition(b"\r\n\r\n")[2])["results"]
        assert [result["index"] for result in results] == list(range(512))
    assert eventually(lambda: inflight(client) == NOTHING)
    assert ready_again(client)


def ended_within(sender: socket.socket, seconds: float) -> bytes:
    """What came before the end of the connection, which has to come in time."""
    sender.settimeout(seconds)
    reply = b""
    try:
        while piece := sender.recv(65536):
            reply += piece
    except ConnectionResetError:  # it ended while more was on its way to it
        pass
    return reply


def is_cut_off(sender: socket.socket, pieces: list[bytes], *, pause_s: float = 0) -> bool:
    try:
        for piece in pieces:
            sender.sendall(piece)
            time.sleep(pause_s)
    except (ConnectionResetError, BrokenPipeError):
        return True
    return False


CHUNKED = b"POST /score HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET /healthz HTTP/1.1\r\nX: ", b"a" * 8192),
        (b"GET /healthz HTTP/1.1\r\n", b"a: b\r\n" * 1024),
        (b"GET /", b"a" * 8192),
        (b"", b"\r\n" * 4096),
        (CHUNKED + b"1;", b"a" * 8192),
        (CHUNKED + b"0\r\nX: ", b"a" * 8192),
    ],
    ids=["field", "fields", "path", "nothing", "chunk", "trailer"],
)
def test_a_head_without_an_end_is_cut_off_and_not_kept(judge: Served, begin: bytes, more: bytes) -> None:
    with connection(judge) as sender:
        sender.sendall(begin)
        assert is_cut_off(sender, [more] * 4096)  # 32 MB


def test_a_head_that_is_too_large_is_told_so(judge: Served) -> None:
    with connection(judge) as sender:
        sender.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 66_000)
        reply = ended_within(sender, RECEIVE_S)
    assert status_of(reply) == 431
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["type"].endswith(":head-too-large")


@pytest.mark.parametrize("begin", [b"", b"GET /heal", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
@pytest.mark.parametrize("earlier", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_head_that_does_not_come_ends_its_connection(judge: Served, earlier: bytes, begin: bytes) -> None:
    if earlier and not begin:
        return  # an idle connection, which is kept
    with connection(judge) as sender:
        sender.sendall(earlier + begin)
        reply = ended_within(sender, 2 * RECEIVE_S)
    replies = [status_of(b"HTTP/1.1" + one) for one in reply.split(b"HTTP/1.1")[1:]]
    assert replies == [200] * bool(earlier) + [408] * bool(begin)


def test_the_rest_of_a_body_that_was_refused_is_not_read_for_ever(judge: Served) -> None:
    with connection(judge) as sender:
        sender.sendall(HEAD.replace(b"application/json", b"text/plain") + BODY[:10])
        assert status_of(sender.recv(65536)) == 415
        assert is_cut_off(sender, [BODY[:1]] * 120, pause_s=RECEIVE_S / 40)


def test_a_reply_that_nobody_reads_is_dropped(judge: Served) -> None:
    item = {"completion": "1", "gold": "1", "info": {"kept": "x" * 15_000_000}}
    body = json.dumps({"items": [item], "echo_info": True}).encode()
    head = HEAD.replace(str(len(BODY)).encode(), str(len(body)).encode())
    with connection(judge) as sender:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        sender.sendall(head + body)
        time.sleep(3 * RECEIVE_S)
        assert len(ended_within(sender, RECEIVE_S)) < len(body) // 2


def test_a_reply_that_is_read_slowly_is_not(judge: Served) -> None:
    item = {"completion": "1", "gold": "1", "info": {"kept": "x" * 15_000_000}}
    body = json.dumps({"items": [item], "echo_info": True}).encode()
    head = HEAD.replace(str(len(BODY)).encode(), str(len(body)).encode())
    began, size = time.monotonic(), 0
    with connection(judge) as sender:
        sender.sendall(head + body)
        while size < len(body) and (piece := sender.recv(1 << 20)):
            size += len(piece)
            time.sleep(RECEIVE_S * 3 * len(piece) / len(body))
    assert size >= len(body)
    assert time.monotonic() - began > 2 * RECEIVE_S
