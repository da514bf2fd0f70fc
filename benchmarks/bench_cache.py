"""What each layer of the cache buys: the same batches without one, from memory, from Redis, and within a batch.

    MATH_DATA_DIR=... python benchmarks/bench_cache.py --assert

CPU time of the whole service an item, in batches of 512 items of 8 kB. Redis is a process of its own and counted
apart; a fresh replica finds there what another one has judged.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
import standing
import trees

from tools import serving

# A layer that does not save this much of the CPU time of judging is not worth its upkeep.
WORTH = {"memory": 3.0, "redis": 1.5, "answers of sympy": 3.0}
# What a layer is held against, where that is not the judging of the same items without any.
INSTEAD_OF = {"answers of sympy": "sympy, none"}


@contextmanager
def redis_server() -> Iterator[str]:
    """The address of a Redis that keeps nothing on disk."""
    port = serving.free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "redis-server",
            "--port",
            str(port),
            "--save",
            "",
            "--dir",
            folder,
            "--loglevel",
            "warning",
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                link = redis.Redis(port=port)
                while not _answers(link):
                    time.sleep(serving.LOOK_S)
                yield f"redis://127.0.0.1:{port}/0"
            finally:
                serving.stop(process)


def _answers(link: "redis.Redis") -> bool:
    try:
        return bool(link.ping())
    except redis.ConnectionError:
        return False


def us_per_item(server: standing.Server, options: argparse.Namespace, *more: str | int) -> dict[str, float]:
    before = server.cpu_s()
    load = ("--calls", options.bodies, "--items", options.items, "--seed", options.seed)
    found = standing.script("load.py", server.url, *load, *more)
    # What a small load costs may be less than the clock of /proc can tell.
    spent_s = max(server.cpu_s() - before, trees.TICK_S)
    return {
        "us_per_item": spent_s * 1e6 / found["items"],
        "ms_per_batch": found["wall_s"] * 1e3 / sum(found["statuses"].values()),
    }


def measured(options: argparse.Namespace) -> dict[str, Any]:
    workers = ("--workers", str(options.workers))
    first = (
        "--items",
        options.items,
        "--seed",
        options.seed + 1,
    )  # the first request of a process is its dearest
    figures: dict[str, Any] = {}
    with standing.ours(*workers, "--cache-mb", "0") as server:
        standing.script("load.py", server.url, *first)
        figures["none"] = us_per_item(server, options)
        figures["none, again"] = us_per_item(server, options)
        figures["equal ones in a batch"] = us_per_item(server, options, "--twins")
    with standing.ours(*workers) as server:
        us_per_item(server, options)
        figures["memory"] = us_per_item(server, options, "--repeat", 4)
    figures |= of_sympy(options, workers)
    if shutil.which("redis-server") is None:
        print("  redis-server is not installed: left out")
        return figures
    with redis_server() as url:
        with standing.ours(*workers, "--redis-url", url) as server:
            figures["none, Redis written"] = us_per_item(server, options)
        with standing.ours(*workers, "--redis-url", url) as server:
            standing.script("load.py", server.url, *first)
            figures["redis"] = us_per_item(server, options)
    return figures


def of_sympy(options: argparse.Namespace, workers: tuple[str, str]) -> dict[str, dict[str, float]]:
    """Samples that end in the same formulas by other ways in each call: none of them is a known item."""
    figures = {}
    asked = ("--sums", "--items", 32, "--calls", 6, "--samples", 8)
    for name, more in (("sympy, none", ("--cache-mb", "0")), ("answers of sympy", ())):
        with standing.ours(*workers, *more) as server:
            us_per_item(server, options)
            figures[name] = us_per_item(server, options, *asked)
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--assert", dest="check", action="store_true", help="exit 1 where a promise is broken"
    )
    parser.add_argument("--json", type=Path, default=standing.ROOT / "bench-results" / "cache.json")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--bodies", type=int, default=6)
    parser.add_argument("--items", type=int, default=512, help="items of a body")
    options = parser.parse_args()
    figures = measured(options)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, found in figures.items():
        print(f"  {name:24} {found['us_per_item']:7.1f} us an item {found['ms_per_batch']:7.1f} ms a batch")
    judging = figures["none"]["us_per_item"]
    buys = {
        layer: figures[INSTEAD_OF.get(layer, "none")]["us_per_item"] / figures[layer]["us_per_item"]
        for layer in WORTH
        if layer in figures
    }
    failures = [layer for layer, times in buys.items() if times < WORTH[layer]]
    for layer in failures:
        print(f"BROKEN: {layer} should cost at most 1/{WORTH[layer]:g} of judging")
    print(
        "bench_cache",
        *(f"{layer.replace(' ', '_')}={times:.1f}" for layer, times in buys.items()),
        f"judging_us={judging:.0f}",
    )
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
