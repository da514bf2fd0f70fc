"""Senders that are slow, half closed or gone leave nothing behind, and hold up nobody."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx

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
