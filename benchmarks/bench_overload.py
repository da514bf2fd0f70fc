"""More than can be judged, for a minute; and items that run to their limit beside good ones.

    MATH_DATA_DIR=... python benchmarks/bench_overload.py --assert

Ten times as many senders as keep the service busy send as fast as it lets them; what is taken is judged in time and
without a fault, the rest is refused. Service and load generator have a core each, so that the one does not take time
from the other.

    --parts overload flood poison    only some of it
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import standing
import trees

TIMES, BATCH, SENDERS = 10, 64, 8
GOODPUT, MOST_WAIT_S, MOST_GROWTH = 0.9, 2.0, 0.5
SLOWER, SLOWER_S = 2.0, 0.05
Figures = dict[str, Any]


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def load(url: str, options: argparse.Namespace, seed: int, *more: str | int | float) -> Figures:
    return standing.script("load.py", url, "--items", BATCH, "--size", options.size, "--seed", seed, *more)


@contextmanager
def most_memory(pid: int) -> Iterator[list[float]]:
    """The memory of a tree, looked at once a second."""
    seen = [trees.usage(pid).pss_mb]
    done = threading.Event()

    def look() -> None:
        while not done.wait(1.0):
            seen.append(trees.usage(pid).pss_mb)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()


def cache_mb(url: str) -> float:
    """What the cache of results holds, by its own count."""
    held: int = httpx.get(f"{url}/stats", trust_env=False).json()["cache"]["bytes"]
    return held / (1 << 20)


def overload(options: argparse.Namespace) -> Figures:
    """Ten times as many senders as keep it busy, each of which waits as it is asked to where it is refused."""
    return _beyond_peak(options, lambda most: ("--in-flight", TIMES * SENDERS))


def flood(options: argparse.Namespace) -> Figures:
    """Ten times the items of its peak by the clock, from senders that heed nothing. Told, not promised."""
    return _beyond_peak(options, lambda most: ("--in-flight", 512, "--rate", TIMES * most / BATCH))


def _beyond_peak(options: argparse.Namespace, sending: Callable[[float], tuple[str | float, ...]]) -> Figures:
    cores = sorted(os.sched_getaffinity(0))
    with standing.ours("--workers", "1") as server:
        for pid in trees.processes_below(server.pid):
            os.sched_setaffinity(pid, {cores[0]})
        os.sched_setaffinity(0, {cores[-1]})  # ours, and with it the generators'
        load(server.url, options, options.seed, "--calls", 16, "--seconds", options.peak_s / 4)
        full = ("--calls", 32, "--seconds", options.peak_s, "--in-flight", SENDERS)
        before = load(server.url, options, options.seed + 1, *full)
        cached = cache_mb(server.url)
        with most_memory(server.pid) as memory:
            long = ("--calls", 32, "--seconds", options.seconds)
            found = load(
                server.url, options, options.seed + 2, *long, *sending(before["ok"] / before["wall_s"])
            )
        cached = cache_mb(server.url) - cached
        after = load(server.url, options, options.seed + 3, *full)
        os.sched_setaffinity(0, cores)
    sent = sum(found["statuses"].values())
    # The machine may be slower a minute later: its peak is what it does before and after.
    peaks = [peak["ok"] / peak["wall_s"] for peak in (before, after)]
    most = sum(peaks) / len(peaks)
    return {
        "peaks_per_s": peaks,
        "peak_per_s": most,
        "offered_per_s": sent * BATCH / found["wall_s"],
        "goodput_per_s": found["ok"] / found["wall_s"],
        "goodput": found["ok"] / found["wall_s"] / most,
        "p50_s": percentile(found["seconds"], 0.5),
        "p99_s": percentile(found["seconds"], 0.99),
        "statuses": found["statuses"],
        "nulls": {code: count for code, count in found["nulls"].items() if code != "unverifiable_gold"},
        "lost": found["lost"],
        "misplaced": found["misplaced"],
        "unlike": found["unlike"] / max(1, found["ok"]),
        "unlike_at_peak": before["unlike"] / before["ok"],
        "memory_mb": [memory[0], max(memory)],
        "cached_mb": cached,
        "generator_cpu_s": found["cpu_s"],
    }


def poison(options: argparse.Namespace) -> Figures:
    """p99 of good batches alone, and while others come that hold one poison item each."""
    with standing.ours("--workers", str(options.workers)) as server:
        good = ("--calls", 32, "--in-flight", 1, "--seconds", options.poison_s)
        load(server.url, options, options.seed, "--calls", 16, "--seconds", options.peak_s / 4)
        alone = load(server.url, options, options.seed + 1, *good)
        bad = ("--calls", 32, "--in-flight", options.poisoners, "--seconds", options.poison_s + 2, "--poison")
        size = ("--items", BATCH, "--size", options.size)
        with standing.started("load.py", server.url, *size, *bad, "--seed", options.seed + 2) as posting:
            time.sleep(2)
            beside = load(server.url, options, options.seed + 3, *good)
            poisoned = standing.finished(posting)
    return {
        "p50_ms": percentile(alone["seconds"], 0.5) * 1e3,
        "p99_ms": percentile(alone["seconds"], 0.99) * 1e3,
        "p50_beside_ms": percentile(beside["seconds"], 0.5) * 1e3,
        "p99_beside_ms": percentile(beside["seconds"], 0.99) * 1e3,
        "batches": [len(alone["seconds"]), len(beside["seconds"]), len(poisoned["seconds"])],
        "nulls_beside": {code: n for code, n in beside["nulls"].items() if code != "unverifiable_gold"},
        "nulls_of_poison": poisoned["nulls"],
        "lost": beside["lost"] + poisoned["lost"],
        "misplaced": beside["misplaced"] + poisoned["misplaced"],
    }


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "overload": overload,
    "flood": flood,
    "poison": poison,
}


def broken(figures: dict[str, Figures]) -> list[str]:
    kept: dict[str, bool] = {}
    if found := figures.get("overload"):
        kept[f"goodput at least {GOODPUT:.0%} of the peak"] = found["goodput"] >= GOODPUT
        kept[f"p99 of what is taken at most {MOST_WAIT_S:g} s"] = found["p99_s"] <= MOST_WAIT_S
        kept["no null among good items, nothing lost or misplaced"] = not (
            found["nulls"] or found["lost"] or found["misplaced"]
        )
        kept["memory bounded, beside what the cache took within its budget"] = (
            found["memory_mb"][1] - found["cached_mb"] <= (1 + MOST_GROWTH) * found["memory_mb"][0]
        )
        kept["only 200 and 503"] = set(found["statuses"]) <= {"200", "503"}
    if found := figures.get("poison"):
        most = max(SLOWER * found["p99_ms"], found["p99_ms"] + SLOWER_S * 1e3)
        kept[f"p99 of good batches beside poison at most {most:.0f} ms"] = found["p99_beside_ms"] <= most
        kept["no null beside poison, nothing lost or misplaced"] = not (
            found["nulls_beside"] or found["lost"] or found["misplaced"]
        )
    return [promise for promise, holds in kept.items() if not holds]


def last_line(figures: dict[str, Figures]) -> str:
    told = ["bench_overload"]
    if found := figures.get("overload"):
        told += [f"goodput={found['goodput']:.2f}", f"p99_s={found['p99_s']:.2f}"]
        told += [f"ours={found['goodput_per_s']:.0f}", f"peak={found['peak_per_s']:.0f}"]
    if found := figures.get("flood"):
        told += [f"flood_goodput={found['goodput']:.2f}", f"flood_p99_s={found['p99_s']:.2f}"]
    if found := figures.get("poison"):
        told += [f"p99_ms={found['p99_ms']:.0f}", f"p99_beside_poison_ms={found['p99_beside_ms']:.0f}"]
    return " ".join(told)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--assert", dest="check", action="store_true", help="exit 1 where a promise is broken"
    )
    parser.add_argument("--json", type=Path, default=standing.ROOT / "bench-results" / "overload.json")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the items; another one each time"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=4000, help="bytes of a completion")
    parser.add_argument("--seconds", type=float, default=60.0, help="of overload")
    parser.add_argument("--peak-s", type=float, default=10.0, help="for which the peak is measured")
    parser.add_argument("--poison-s", type=float, default=12.0)
    parser.add_argument("--poisoners", type=int, default=2, help="batches with poison under way at a time")
    return parser.parse_args()


def main() -> int:
    options = parsed()
    figures: dict[str, Figures] = {"options": {**vars(options), "json": str(options.json)}}
    for part in options.parts:
        print(f"{part} ...", flush=True)
        figures[part] = PARTS[part](options)
        print(f"  {json.dumps(figures[part])}", flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    failures = broken(figures)
    for failure in failures:
        print(f"BROKEN: {failure}")
    print(last_line(figures))
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
