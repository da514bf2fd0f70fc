"""One client in threads, forked and spawned processes, under several event loops, and where Ctrl-C comes."""

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.verifier_service.test_client import FakeService
from verifier_service.adapters.common import Remote
from verifier_service.client import AsyncClient, Client

ROOT = Path(__file__).parents[2]
# Forking with threads is what is tested here.
FORKING = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["items"]
        results = [FakeService.result(place, item) for place, item in enumerate(sent)]
        content = json.dumps(FakeService().response(results)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def items(seed: int) -> tuple[list[dict[str, Any]], list[float]]:
    """Of a seed their own, so that a reply to somebody else would be seen."""
    numbers = [(seed * 7 + place) % 11 for place in range(20 + seed % 5)]
    return [{"completion": str(one), "gold": "5"} for one in numbers], [float(one == 5) for one in numbers]


def asked(client: Client, seed: int) -> bool:
    for turn in range(10):
        sent, expected = items(seed + turn)
        if client.score(sent).rewards != expected:
            return False
    return True


async def awaited(client: AsyncClient, seed: int) -> bool:
    sent, expected = items(seed)
    return (await client.score(sent)).rewards == expected


def asked_anyhow(clients: tuple[Client, AsyncClient], seed: int) -> bool:
    """In the manner of a worker that loads data: in another process, twice under a loop of its own."""
    waiting, awaiting = clients
    both = [asyncio.run(awaited(awaiting, seed + turn)) for turn in range(2)]
    found = asked(waiting, seed) and all(both)
    waiting.close()
    return found


def test_threads_get_their_own_replies(url: str) -> None:
    with Client(url) as client, ThreadPoolExecutor(16) as pool:
        assert all(pool.map(partial(asked, client), range(64)))


@FORKING
@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_other_processes_get_their_own_replies(url: str, how: str) -> None:
    with Client(url) as client:
        clients = (client, AsyncClient(url))
        # The parent holds connections open, which a child must not use.
        assert asked_anyhow(clients, 0)
        assert asked(client, 0)
        context = multiprocessing.get_context(how)
        with ProcessPoolExecutor(3, mp_context=context) as pool:
            replies = pool.map(partial(asked_anyhow, clients), range(1, 7))
            assert asked(client, 9)
            assert all(replies)
        assert asked(client, 10)


@FORKING
def test_children_that_are_forked_in_mid_call_go_their_own_way(url: str) -> None:
    """Of a parent whose threads are calling, as a loader of data forks its workers."""
    with Client(url) as client, ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(asked, client, seed) for seed in range(24)]
        children = []
        for seed in range(4):
            child = os.fork()
            if child == 0:
                os._exit(0 if asked(client, 100 + seed) else 1)
            children.append(child)
        assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
        assert all(call.result() for call in calls)


def test_loops_one_after_the_other_and_side_by_side(url: str) -> None:
    client = AsyncClient(url)
    assert all(asyncio.run(awaited(client, seed)) for seed in range(3))

    def in_a_loop(seed: int) -> bool:
        return all(asyncio.run(awaited(client, seed + turn)) for turn in range(3))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(in_a_loop, range(32)))


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_loop_that_is_closed_in_between(url: str) -> None:
    """Without `asyncio.run`, nobody closes its connections; they end with the loop all the same."""
    client = AsyncClient(url)
    for seed in range(3):
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(awaited(client, seed))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(awaited(client, 5))
    loop.run_until_complete(client.aclose())
    loop.close()
    assert asyncio.run(awaited(client, 6))


def test_under_uvloop(url: str) -> None:
    uvloop = pytest.importorskip("uvloop")
    remote = Remote(url, on_no_verdict="raise")

    async def ask() -> list[float | None]:
        sent, _ = items(3)
        return [
            results[0].reward for results in await asyncio.gather(*(remote.ajudge([one]) for one in sent))
        ]

    for _ in range(2):
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            assert runner.run(ask()) == items(3)[1]
    remote.close()


PROGRAM = """
import asyncio, sys
from verifier_service.client import AsyncClient, Client
item, how, url = {"completion": "5", "gold": "5"}, sys.argv[1], sys.argv[2]
print("asking", flush=True)
try:
    if how == "awaiting":
        asyncio.run(AsyncClient(url).score([item]))
    else:
        Client(url).score([item] * int(how))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", ["1", "10000", "awaiting"])
def test_ctrl_c_ends_a_call_at_once(how: str) -> None:
    """Also one whose parts are under way in threads."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-c", PROGRAM, how, url]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        with subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as one:
            connection, _ = silent.accept()
            one.send_signal(signal.SIGINT)
            began = time.monotonic()
            output, errors = one.communicate(timeout=20)
            assert time.monotonic() - began < 5
            connection.close()
    assert (output, errors, one.returncode) == ("asking\ninterrupted\n", "", 0)
