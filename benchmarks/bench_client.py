"""What the client costs: CPU per answer, time to import, many single calls in flight, and such calls gathered.

    python benchmarks/bench_client.py --assert

A stand-in for the service runs in a process of its own and has its replies ready, so that the client alone is
measured: CPU time of a fresh process a round, the best of the rounds. The peer, in the same rounds, is the bare
way: json.dumps, one httpx.Client, json.loads.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

BATCH, BATCHES, ROUNDS, IN_FLIGHT = 64, 40, 5, 512
MOST_MS, MOST_IMPORT_MS = 0.2, 150.0
COMPLETION = (
    "<think>" + "84 km in 1.5 h make 84 / 1.5 = 56 km in an hour. " * 40 + "</think>It is \\boxed{56}."
)
ITEM = {"prompt": "A train covers 84 km in 1.5 h. Speed in km/h?", "completion": COMPLETION, "gold": "56"}


def reply_of(count: int) -> bytes:
    """A reply as the service sends it."""
    results: list[dict[str, Any]] = [
        {
            "id": None,
            "index": place,
            "status": "ok",
            "reward": 2.0,
            "components": {"accuracy": 1.0, "format": 1.0},
            "scores": {"accuracy": 1.0, "format": 1.0},
            "verdict": "correct",
            "extracted": "56",
            "method": "text",
            "reason": "equal text",
            "cached": False,
            "elapsed_ms": 0.1,
            "warnings": [],
        }
        for place in range(count)
    ]
    named = {"profile": "r1-zero", "profile_hash": "h", "engine": "e", "errors": 0}
    return json.dumps({"results": results, "rewards": [2.0] * count, **named}).encode()


class StandIn:
    """Answers every request, but none before `hold` of them have come."""

    def __init__(self, hold: int) -> None:
        self._hold = hold
        self._come = 0
        self._all = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                self._come += 1
                if self._come >= self._hold:
                    self._all.set()
                await self._all.wait()
                reply = _REPLIES[body.count(b'"completion"')]
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
                    % (len(reply), reply)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


_REPLIES = {count: reply_of(count) for count in range(1, BATCH + 1)}


async def stand_in(hold: int) -> None:
    server = await asyncio.start_server(
        StandIn(hold).serve, "127.0.0.1", 0, backlog=2 * IN_FLIGHT, limit=2**20
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextmanager
def standing_in(hold: int = 0) -> Iterator[str]:
    """The address of a stand-in for as long as it is needed."""
    command = [sys.executable, __file__, "--stand-in", str(hold)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def ours(url: str) -> Callable[[], None]:
    from verifier_service.client import Client

    client = Client(url)
    items = [ITEM] * BATCH

    def ask() -> None:
        assert client.score(items, profile="r1-zero").rewards == [2.0] * BATCH

    return ask


def bare(url: str) -> Callable[[], None]:
    import httpx

    client = httpx.Client(trust_env=False)
    items = [ITEM] * BATCH

    def ask() -> None:
        content = json.dumps({"profile": "r1-zero", "items": items}).encode()
        reply = client.post(f"{url}/score", content=content, headers={"content-type": "application/json"})
        assert json.loads(reply.content)["rewards"] == [2.0] * BATCH

    return ask


def cost_ms(side: str, url: str) -> float:
    """CPU time of this process for one answer."""
    ask = {"ours": ours, "bare": bare}[side](url)
    ask()
    began = time.process_time()
    for _ in range(BATCHES):
        ask()
    return (time.process_time() - began) * 1000 / (BATCHES * BATCH)


def import_ms() -> float:
    """CPU time of the import, beyond that of httpx."""
    import httpx  # noqa: F401

    began = time.process_time()
    import verifier_service.client  # noqa: F401

    return (time.process_time() - began) * 1000


def in_flight(url: str) -> tuple[int, int, float]:
    """How many of the single calls were answered, how many failed, and the seconds it took."""
    from verifier_service.client import AsyncClient

    async def ask() -> list[Any]:
        async with AsyncClient(url, retries=0, timeout_s=60) as client:
            calls = (client.score([ITEM]) for _ in range(IN_FLIGHT))
            return await asyncio.gather(*calls, return_exceptions=True)

    began = time.perf_counter()
    replies = asyncio.run(ask())
    failed = sum(isinstance(reply, BaseException) for reply in replies)
    return len(replies) - failed, failed, time.perf_counter() - began


def gathered_ms(together: int, url: str) -> float:
    """CPU time of this process for one of as many single calls of an adapter."""
    from verifier_service.adapters.common import Remote

    remote = Remote(url, on_no_verdict="raise", together=together)

    async def ask() -> float:
        await remote.ajudge([ITEM])
        began = time.process_time()
        replies = await asyncio.gather(*(remote.ajudge([ITEM]) for _ in range(IN_FLIGHT)))
        assert [result.reward for (result,) in replies] == [2.0] * IN_FLIGHT
        return (time.process_time() - began) * 1000 / IN_FLIGHT

    return asyncio.run(ask())


def fresh(*arguments: str) -> float:
    """A number measured in a process of its own."""
    command = [sys.executable, __file__, *arguments]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measured() -> dict[str, Any]:
    imports = [fresh("--import") for _ in range(ROUNDS)]
    costs: dict[str, list[float]] = {"ours": [], "bare": []}
    with standing_in() as url:
        for _ in range(ROUNDS):
            for side, found in costs.items():
                found.append(fresh("--cost", side, url))
        gathered, alone = (min(fresh("--gathered", most, url) for _ in range(2)) for most in ("32", "1"))
    with standing_in(hold=IN_FLIGHT) as url:
        answered, failed, seconds = in_flight(url)
    return {
        "ms_per_answer": min(costs["ours"]),
        "bare_ms_per_answer": min(costs["bare"]),
        "ratio": min(costs["ours"]) / min(costs["bare"]),
        "import_ms": min(imports),
        "in_flight_answered": answered,
        "in_flight_failed": failed,
        "in_flight_s": seconds,
        "gathered_ms_per_call": gathered,
        "alone_ms_per_call": alone,
        "rounds": {"ms_per_answer": costs["ours"], "bare_ms_per_answer": costs["bare"], "import_ms": imports},
    }


def broken(figures: dict[str, Any]) -> list[str]:
    promises = {
        f"at most {MOST_MS} ms of CPU an answer": figures["ms_per_answer"] <= MOST_MS,
        f"at most {MOST_IMPORT_MS:g} ms to import": figures["import_ms"] <= MOST_IMPORT_MS,
        f"{IN_FLIGHT} single calls at once": figures["in_flight_answered"] == IN_FLIGHT,
        "gathering makes single calls cheaper": figures["gathered_ms_per_call"]
        < figures["alone_ms_per_call"],
    }
    return [promise for promise, kept in promises.items() if not kept]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--assert", dest="check", action="store_true", help="exit 1 where a promise is broken"
    )
    parser.add_argument("--json", type=Path, default=ROOT / "bench-results" / "client.json")
    parser.add_argument("--stand-in", type=int, metavar="HOLD", help=argparse.SUPPRESS)
    parser.add_argument("--cost", nargs=2, metavar=("SIDE", "URL"), help=argparse.SUPPRESS)
    parser.add_argument("--gathered", nargs=2, metavar=("TOGETHER", "URL"), help=argparse.SUPPRESS)
    parser.add_argument("--import", dest="imports", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stand_in is not None:
        asyncio.run(stand_in(options.stand_in))
    if options.cost is not None:
        print(cost_ms(*options.cost))
        return 0
    if options.gathered is not None:
        print(gathered_ms(int(options.gathered[0]), options.gathered[1]))
        return 0
    if options.imports:
        print(import_ms())
        return 0
    figures = measured()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    failures = broken(figures)
    for failure in failures:
        print(f"BROKEN: {failure}")
    shown = {name: value for name, value in figures.items() if name != "rounds"}
    print("client", *(f"{name}={value:.4g}" for name, value in shown.items()))
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
