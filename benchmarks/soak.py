"""Minutes of mixed traffic: does anything grow?

    MATH_DATA_DIR=... python benchmarks/soak.py --minutes 10 --assert

Good batches, batches with an item that runs to its limit, bodies that are no batches, and senders that hang up in
the middle, all at once and without end. Memory, handles and processes of the whole service are counted as it goes;
between the middle and the end none of them may grow. No item may be lost, misplaced or without its verdict.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import standing
import trees
from bodies import Maker
from load import HOLE, Asked, Connection, Outcome, poisoned, requests

GROWTH = 0.05
LOOKS = 12  # over the whole time
# Enough traffic that every kind of it comes along many times between two looks, and the machine stays usable.
PAUSE_S = {"good": 0.05, "poisoned": 0.5, "broken": 0.2, "hung up": 0.1}
BROKEN = (b"", b"{", b'{"items": 5}', b'{"items": [{"gold": 1}, {"completion": 5}]}', b"[" * 5000, b'"\xff"')


class Traffic:
    """What one process sends until it is told to stop."""

    def __init__(self, url: str, seed: int) -> None:
        maker = Maker(seed, size=2000, hole=HOLE.decode())
        self.good, self.poisoned = Outcome(), Outcome()
        self.refused = 0
        self.hung_up = 0
        self._url = url
        self._numbers = count(1)
        self._batches = requests(maker, 16, 64)
        self._bad = poisoned(maker, 4, 16)
        self._end = 0.0

    async def run(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        await asyncio.gather(
            self._score(self._batches, self.good, PAUSE_S["good"]),
            self._score(self._bad, self.poisoned, PAUSE_S["poisoned"]),
            self._send_broken(),
            self._hang_up(),
        )

    async def _score(self, batches: Sequence[Asked], outcome: Outcome, pause: float) -> None:
        connection = Connection(self._url)
        while time.monotonic() < self._end:
            number = next(self._numbers)
            asked = batches[number % len(batches)].anew(number)
            began = time.monotonic()
            outcome.take(asked, await connection.post("/score", asked.content), began, time.monotonic())
            await asyncio.sleep(pause)

    async def _send_broken(self) -> None:
        connection = Connection(self._url)
        while time.monotonic() < self._end:
            content = BROKEN[next(self._numbers) % len(BROKEN)]
            reply = await connection.post("/score", content)
            self.refused += reply.status in (200, 413, 422)
            await asyncio.sleep(PAUSE_S["broken"])

    async def _hang_up(self) -> None:
        """Half a request, or a whole one whose reply nobody reads; a new connection each time."""
        parts = urlsplit(self._url)
        while time.monotonic() < self._end:
            content = self._batches[0].anew(next(self._numbers)).content
            head = f"POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: {len(content)}\r\n\r\n".encode()
            with suppress(OSError):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
                writer.write(head + content[: len(content) // (1 + self.hung_up % 2)])
                await asyncio.sleep(0.005)
                writer.close()
            self.hung_up += 1
            await asyncio.sleep(PAUSE_S["hung up"])


async def watched(traffic: Traffic, pid: int, seconds: float) -> list[trees.Usage]:
    """The traffic, and looks at the service at even distances, when it is at rest for a moment."""
    looks: list[trees.Usage] = []
    for number in range(LOOKS):
        await traffic.run(seconds / LOOKS)
        await asyncio.sleep(0.5)
        looks.append(await asyncio.to_thread(trees.usage, pid))
        last = looks[-1]
        print(
            f"  {(number + 1) / LOOKS:4.0%}  {last.pss_mb:.0f} MB, {last.handles} handles,"
            f" {last.processes} processes",
            flush=True,
        )
    return looks


def measured(options: argparse.Namespace) -> dict[str, Any]:
    with standing.ours("--workers", str(options.workers), "--cache-mb", str(options.cache_mb)) as server:
        traffic = Traffic(server.url, options.seed)
        looks = asyncio.run(watched(traffic, server.pid, options.minutes * 60))
    middle, end = looks[len(looks) // 2 - 2 : len(looks) // 2 + 2], looks[-4:]
    figures: dict[str, Any] = {
        name: [
            round(statistics.median(getattr(look, name) for look in some), 1)
            for some in (looks[:1], middle, end)
        ]
        for name in ("pss_mb", "handles", "processes")
    }
    unexpected = {code: n for code, n in traffic.good.nulls.items() if code != "unverifiable_gold"}
    return figures | {
        "minutes": options.minutes,
        "good_items": traffic.good.items,
        "poisoned_items": traffic.poisoned.items,
        "broken_bodies": traffic.refused,
        "hung_up": traffic.hung_up,
        "lost": traffic.good.lost + traffic.poisoned.lost,
        "misplaced": traffic.good.misplaced + traffic.poisoned.misplaced,
        "nulls": unexpected,
        "statuses": traffic.good.statuses,
        "looks": [asdict(look) for look in looks],
    }


def broken(figures: dict[str, Any]) -> list[str]:
    (_, memory, memory_end) = figures["pss_mb"]
    kept = {
        f"memory grows by less than {GROWTH:.0%} from the middle to the end": memory_end
        < (1 + GROWTH) * memory,
        "no more handles at the end": figures["handles"][2] <= figures["handles"][1] + 4,
        "no more processes at the end": figures["processes"][2] <= figures["processes"][1] + 1,
        "no good item without a verdict": not figures["nulls"] and set(figures["statuses"]) == {200},
        "nothing lost or misplaced": figures["lost"] == figures["misplaced"] == 0,
    }
    return [promise for promise, holds in kept.items() if not holds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--assert", dest="check", action="store_true", help="exit 1 where something grows")
    parser.add_argument("--json", type=Path, default=standing.ROOT / "bench-results" / "soak.json")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--cache-mb", type=int, default=16, help="small, so that it is full long before the middle"
    )
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    figures = measured(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    failures = broken(figures)
    for failure in failures:
        print(f"BROKEN: {failure}")
    shown = {name: figures[name] for name in ("minutes", "good_items", "pss_mb", "handles", "processes")}
    print("soak", *(f"{name}={json.dumps(value).replace(' ', '')}" for name, value in shown.items()))
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
