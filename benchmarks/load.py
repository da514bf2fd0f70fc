"""A load generator, in a process of its own so that its CPU time is counted apart.

    python benchmarks/load.py URL [URL ...] --in-flight 64 --calls 4000 --items 1 --size 800 --seed 7

It makes its bodies first, then keeps so many calls in flight until all are answered (or, with --seconds, sends
what it has over and over, each time with other texts), and prints what came of each call as one JSON object. With
--rate it starts so many calls a second, however many are still open. A bare client on sockets: a tenth of the
time that httpx takes, since it shares the machine with what it measures.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from itertools import count, cycle
from typing import Any
from urllib.parse import urlsplit

from bodies import Made, Maker, body

HOLE = b"0000000000"  # stands in every text, for a number that makes it another text


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    content: bytes
    headers: bytes = b""


class Connection:
    """One HTTP/1.1 connection, opened when it is first used and again where the server hung up."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, content: bytes) -> Reply:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
        return await self._ask(f"{head}\r\n\r\n".encode() + content)

    async def get(self, path: str) -> Reply:
        return await self._ask(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    async def _ask(self, message: bytes) -> Reply:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port, limit=1 << 24)
        reader, writer = self._streams
        try:
            writer.write(message)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            content = await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise
        if b"connection: close" in head:
            self.close()
        return Reply(int(head[9:12]), content, head)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@asynccontextmanager
async def connections(urls: Sequence[str], number: int) -> AsyncIterator[list[Connection]]:
    """So many, dealt out to the addresses in turn."""
    opened = [Connection(url) for url, _ in zip(cycle(urls), range(number), strict=False)]
    try:
        yield opened
    finally:
        for connection in opened:
            connection.close()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the verdicts that it should get."""

    content: bytes
    same: tuple[bool, ...]

    @classmethod
    def of(cls, made: Sequence[Made]) -> "Asked":
        return cls(body(made), tuple(one.same for one in made))

    def anew(self, number: int) -> "Asked":
        """The same items with other texts."""
        return Asked(self.content.replace(HOLE, b"%010d" % number), self.same)


@dataclass
class Outcome:
    """What came of the calls: of each its status and seconds; of all items how many had which fate."""

    statuses: dict[int, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)  # of calls answered with 200
    items: int = 0
    ok: int = 0
    unlike: int = 0  # verdicts that differ from how the answer was made
    misplaced: int = 0
    lost: int = 0
    nulls: dict[str, int] = field(default_factory=dict)
    last: float = 0.0  # when the last of them was answered
    wall_s: float = 0.0  # from the first call to that
    cpu_s: float = 0.0

    def take(self, asked: Asked, reply: Reply, began: float, ended: float) -> None:
        self.statuses[reply.status] = self.statuses.get(reply.status, 0) + 1
        if reply.status != 200:
            return
        self.seconds.append(ended - began)
        self.last = ended
        results = json.loads(reply.content)["results"]
        self.items += len(results)
        self.lost += len(asked.same) - len(results)
        for place, (result, same) in enumerate(zip(results, asked.same, strict=False)):
            self._count(result, place, same)

    def _count(self, result: dict[str, Any], place: int, same: bool) -> None:
        self.misplaced += result.get("index", place) != place
        if result.get("status", "ok") != "ok":
            code = result["error"]["code"]
            self.nulls[code] = self.nulls.get(code, 0) + 1
            return
        self.ok += 1
        right = result["verdict"] == "correct" if "verdict" in result else result["accuracy"] == 1
        self.unlike += right != same


def retry_after(reply: Reply) -> float:
    """Seconds, as the reply asks for; header names are in small letters."""
    return float(reply.headers.split(b"retry-after:")[1].split(b"\r\n")[0])


async def drive(urls: Sequence[str], asked: Iterator[Asked], in_flight: int, rate: float = 0.0) -> Outcome:
    """Keeps that many calls open until the requests are used up; at a rate, at most that many.

    Who is refused waits as he is asked to, save at a rate, which is kept whatever comes back.
    """
    outcome = Outcome()
    numbers = count()

    async def work(connection: Connection) -> None:
        for one in asked:
            if rate:
                await asyncio.sleep(began + next(numbers) / rate - time.monotonic())
            sent = time.monotonic()
            reply = await connection.post("/score", one.content)
            outcome.take(one, reply, sent, time.monotonic())
            if reply.status == 503 and not rate:
                await asyncio.sleep(retry_after(reply))

    async with connections(urls, in_flight) as opened:
        began, cpu = time.monotonic(), time.process_time()
        await asyncio.gather(*map(work, opened))
        outcome.wall_s = outcome.last - began
        outcome.cpu_s = time.process_time() - cpu
    return outcome


def requests(maker: Maker, calls: int, items: int) -> list[Asked]:
    return [Asked.of(maker.batch(items)) for _ in range(calls)]


def poisoned(maker: Maker, calls: int, items: int) -> list[Asked]:
    """The last item of each runs to its limit."""
    return [Asked.of([*maker.batch(items - 1), maker.poison()]) for _ in range(calls)]


def twins(maker: Maker, calls: int, items: int) -> list[Asked]:
    """All items of a request are the same."""
    return [Asked.of(maker.batch(1) * items) for _ in range(calls)]


def sums(maker: Maker, calls: int, items: int) -> list[Asked]:
    """Only sympy can judge them; further samples of the same prompts in each call."""
    first = Asked.of(maker.sums(items))
    return [first.anew(number) for number in range(calls)]


def until(seconds: float, asked: Sequence[Asked]) -> Iterator[Asked]:
    """These over and over, each time with other texts, for so long."""
    end = time.monotonic() + seconds
    for number, one in zip(count(1), cycle(asked), strict=False):
        if time.monotonic() >= end:
            return
        yield one.anew(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("urls", nargs="+", metavar="URL")
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--calls", type=int, default=1, help="bodies that are made")
    parser.add_argument("--items", type=int, default=1, help="items of a body")
    parser.add_argument("--size", type=int, default=8000, help="bytes of a completion")
    parser.add_argument("--samples", type=int, default=1, help="items in a row that share a prompt")
    parser.add_argument(
        "--seconds", type=float, help="send the bodies for so long, with other texts each time"
    )
    parser.add_argument("--rate", type=float, default=0.0, help="calls that are begun in a second")
    parser.add_argument("--twins", action="store_true", help="every item of a body is its first one")
    parser.add_argument("--poison", action="store_true", help="the last item of each body runs to its limit")
    parser.add_argument("--sums", action="store_true", help="only sympy can judge the items")
    parser.add_argument("--repeat", type=int, default=1, help="send all of them as often, as they are")
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    maker = Maker(options.seed, size=options.size, samples=options.samples, hole=HOLE.decode())
    make = poisoned if options.poison else twins if options.twins else sums if options.sums else requests
    made = make(maker, options.calls, options.items)
    asked = (
        until(options.seconds, made)
        if options.seconds
        else (one for _ in range(options.repeat) for one in made)
    )
    json.dump(asdict(asyncio.run(drive(options.urls, asked, options.in_flight, options.rate))), sys.stdout)


if __name__ == "__main__":
    main()
