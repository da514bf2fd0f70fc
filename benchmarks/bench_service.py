"""The service against a FastAPI app around Math-Verify, against decoding alone, and against itself.

    MATH_DATA_DIR=... python benchmarks/bench_service.py --assert

Requests of 512 items of 8 kB that nobody has seen, made of real questions (bodies.py), in the profile of the R1
paper. CPU time of whole process trees, fresh processes a round, the sides alternating; the load generator runs in
a process of its own and is counted apart.

    --parts throughput singles replicas probes memory    only some of it
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import standing
import trees

RATIO, DECODE_RATIO, LONG_TERM, PROBE_RATIO, GROWTH = 30.0, 12.0, 5.0, 5.0, 0.05
Figures = dict[str, Any]


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def per_cpu_s(server: standing.Server, *arguments: str | int | float) -> tuple[float, Figures]:
    """Items that the server's processes judge in a second of their CPU time, and what came of the calls."""
    before = server.cpu_s()
    found = standing.script("load.py", server.url, *arguments)
    return found["items"] / max(trees.TICK_S, server.cpu_s() - before), found


# -- 512 items of 8 kB


def throughput(options: argparse.Namespace) -> Figures:
    """Cold and warm, ours and the peer, and the same bodies decoded alone."""
    rounds = [_round(options, options.seed + number) for number in range(options.rounds)]
    figures: Figures = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    figures["ratio_cold"] = figures["ours_cold"] / figures["peer_cold"]
    figures["ratio_warm"] = figures["ours_warm"] / figures["peer_warm"]
    figures["decode_ratio_cold"] = figures["decode"] / figures["ours_cold"]
    figures["decode_ratio_groups"] = figures["decode_groups"] / figures["ours_groups"]
    figures["decode_ratio_warm"] = figures["decode"] / figures["ours_warm"]
    figures["rounds"] = rounds
    figures["breakdown_us"] = _breakdown(options, figures)
    return figures


def _round(options: argparse.Namespace, seed: int) -> dict[str, float]:
    bodies, workers = options.bodies, options.workers
    found: dict[str, float] = {}
    for samples, name in ((1, ""), (16, "_groups")):
        decoded = standing.script("decoding.py", seed, bodies, options.items, samples)
        found[f"decode{name}"] = bodies * options.items / decoded["cpu_s"]
    load: list[str | int] = ["--calls", bodies, "--items", options.items]
    with standing.ours("--workers", str(workers)) as server:
        per_cpu_s(server, "--items", options.items, "--seed", seed + 1000)  # the first requests of all
        found["ours_cold"], cold = per_cpu_s(server, *load, "--seed", seed)
        found["ours_warm"], warm = per_cpu_s(server, *load, "--seed", seed, "--repeat", 5)
        found["ours_groups"], groups = per_cpu_s(server, *load, "--seed", seed + 2000, "--samples", 16)
    found["ours_unlike"] = cold["unlike"] / cold["items"]
    found["ours_faults"] = sum(one["lost"] + one["misplaced"] for one in (cold, warm, groups))
    load[1] = 1
    with standing.peer(workers) as server:
        per_cpu_s(server, "--items", 32, "--seed", seed + 1000)
        found["peer_cold"], cold = per_cpu_s(server, *load, "--seed", seed)
        found["peer_warm"], _ = per_cpu_s(server, *load, "--seed", seed)
    found["peer_unlike"] = cold["unlike"] / cold["items"]
    return found


def _breakdown(options: argparse.Namespace, figures: Figures) -> dict[str, float]:
    """Microseconds an item by stage; the last entry is what the stages leave of the whole."""
    stages: dict[str, float] = standing.script("breakdown.py", options.seed, options.bodies, options.items, 1)
    whole = 1e6 / figures["ours_cold"]
    stages["transport, loop, HTTP"] = whole - sum(stages.values())
    for stage, microseconds in stages.items():
        print(f"  {stage:24} {microseconds:7.1f} us an item {100 * microseconds / whole:5.1f}%")
    print(f"  {'all':24} {whole:7.1f} us an item; decoding alone {1e6 / figures['decode']:.1f}")
    return stages


# -- single items


def singles(options: argparse.Namespace) -> Figures:
    """Calls with one item of 8 kB each, 64 and 512 of them in flight."""
    figures: Figures = {}
    for in_flight in (64, 512):
        load = ("--in-flight", in_flight, "--calls", options.calls, "--seed", options.seed + in_flight)
        with standing.ours("--workers", str(options.workers)) as server:
            rate, found = per_cpu_s(server, *load)
        with standing.peer(options.workers) as server:
            few = ("--in-flight", in_flight, "--calls", max(in_flight, options.calls // 8))
            peer_rate, _ = per_cpu_s(server, *few, "--seed", options.seed + in_flight)
        figures[str(in_flight)] = {
            "per_cpu_s": rate,
            "peer_per_cpu_s": peer_rate,
            "per_s": found["items"] / found["wall_s"],
            "p50_ms": percentile(found["seconds"], 0.5) * 1e3,
            "p99_ms": percentile(found["seconds"], 0.99) * 1e3,
            "answered": found["statuses"].get("200", 0),
            "generator_cpu_s": found["cpu_s"],
        }
    return figures


# -- replicas


def replicas(options: argparse.Namespace) -> Figures:
    """One and two replicas of one worker, each held to the same share of one core."""
    figures: Figures = {}
    for number in (1, 2, 1, 2):
        with standing.replicas(number, "--workers", "1") as servers:
            urls = [server.url for server in servers]
            load = ("--items", 64, "--calls", 24, "--seconds", options.replica_s, "--in-flight", 4 * number)
            with standing.capped(servers, options.cap):
                found = standing.script("load.py", *urls, *load, "--seed", options.seed + number)
        rate = found["items"] / found["wall_s"]
        figures.setdefault(f"per_s_{number}", []).append(rate)
        figures[f"generator_cores_{number}"] = found["cpu_s"] / found["wall_s"]
    figures["scaling"] = statistics.mean(figures["per_s_2"]) / statistics.mean(figures["per_s_1"])
    return figures


# -- probes


def probes(options: argparse.Namespace) -> Figures:
    """/healthz while bodies of 4 MB come in one behind the other on two connections."""
    decoded = standing.script("decoding.py", options.seed, 8, options.items, 1)
    with standing.ours("--workers", "1") as server:
        load = ("--items", options.items, "--calls", 6, "--in-flight", 2, "--seconds", options.probe_s)
        with standing.started("load.py", server.url, *load, "--seed", options.seed + 1) as posting:
            while trees.cpu_s(server.pid) < 4:  # the first bodies have come
                time.sleep(0.05)
            took = standing.script("prober.py", server.url, options.probe_s / 2)["seconds"]
            found = standing.finished(posting)
    p99 = percentile(took, 0.99)
    return {
        "decode_ms": decoded["body_s"] * 1e3,
        "body_mb": decoded["bytes"] / 1e6,
        "p50_ms": percentile(took, 0.5) * 1e3,
        "p99_ms": p99 * 1e3,
        "max_ms": max(took) * 1e3,
        "p99_over_decode": p99 / decoded["body_s"],
        "posts": found["statuses"].get("200", 0),
        "probes": len(took),
    }


# -- memory


def memory(options: argparse.Namespace) -> Figures:
    """Memory of all processes while small items, none like another, go through."""
    steps, per_call = 20, 1024
    points: list[float] = []
    with standing.ours("--workers", str(options.workers)) as server:
        for step in range(steps):
            calls = -(-options.memory_items // (steps * per_call))
            load = ("--items", per_call, "--calls", calls, "--size", 120, "--in-flight", 2)
            found = standing.script("load.py", server.url, *load, "--seed", options.seed + step)
            usage = trees.usage(server.pid)
            points.append(usage.pss_mb)
            share = (step + 1) / steps
            print(f"  {share:4.0%} of {options.memory_items} items: {usage.pss_mb:.0f} MB", flush=True)
            assert found["lost"] == found["misplaced"] == 0
    # Workers are replaced as they go: three looks in a row are steadier than one.
    middle = statistics.median(points[steps // 2 - 1 : steps // 2 + 2])
    end = statistics.median(points[-3:])
    return {"items": options.memory_items, "pss_mb": points, "growth_second_half": end / middle - 1}


PARTS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "throughput": throughput,
    "singles": singles,
    "replicas": replicas,
    "probes": probes,
    "memory": memory,
}


def broken(figures: dict[str, Figures]) -> list[str]:
    """The promises that these figures do not keep."""
    kept: dict[str, bool] = {}
    if cold := figures.get("throughput"):
        kept[f"{RATIO:g} times the peer's items a CPU second, cold"] = cold["ratio_cold"] >= RATIO
        kept[f"within {DECODE_RATIO:g} times the CPU of decoding, cold"] = (
            cold["decode_ratio_cold"] <= DECODE_RATIO
        )
        kept["no item lost or misplaced"] = cold["ours_faults"] == 0
        kept["verdicts as the answers were made, at least as often as the peer"] = (
            cold["ours_unlike"] <= cold["peer_unlike"]
        )
    if found := figures.get("singles"):
        kept["every single call answered"] = all(
            one["answered"] >= figures["options"]["calls"] for one in found.values()
        )
    if found := figures.get("probes"):
        kept[f"/healthz p99 within {PROBE_RATIO:g} times the decoding of a body"] = (
            found["p99_over_decode"] <= PROBE_RATIO
        )
    if found := figures.get("memory"):
        kept[f"memory grows by less than {GROWTH:.0%} in the second half"] = (
            found["growth_second_half"] < GROWTH
        )
    return [promise for promise, holds in kept.items() if not holds]


def last_line(figures: dict[str, Figures]) -> str:
    told = ["bench_service"]
    if cold := figures.get("throughput"):
        told += [
            f"ratio={cold['ratio_cold']:.1f}",
            f"ours={cold['ours_cold']:.0f}",
            f"peer={cold['peer_cold']:.1f}",
        ]
        told += [f"warm={cold['ours_warm']:.0f}"]
        told += [f"decode_ratio={cold['decode_ratio_cold']:.1f}", f"groups={cold['decode_ratio_groups']:.1f}"]
    if found := figures.get("singles"):
        told += [f"p99_ms_at_{number}={one['p99_ms']:.0f}" for number, one in found.items()]
    if found := figures.get("replicas"):
        told += [f"two_replicas={found['scaling']:.2f}"]
    if found := figures.get("probes"):
        told += [f"healthz_p99={found['p99_over_decode']:.1f}"]
    if found := figures.get("memory"):
        told += [f"growth={found['growth_second_half']:.3f}"]
    return " ".join(told)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--assert", dest="check", action="store_true", help="exit 1 where a promise is broken"
    )
    parser.add_argument("--json", type=Path, default=standing.ROOT / "bench-results" / "service.json")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="of the items; another one each time"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bodies", type=int, default=6, help="bodies a round")
    parser.add_argument("--items", type=int, default=512, help="items of a body")
    parser.add_argument("--calls", type=int, default=4000, help="single calls at each number in flight")
    parser.add_argument("--cap", type=float, default=0.35, help="share of a core that a replica may use")
    parser.add_argument("--replica-s", type=float, default=8.0)
    parser.add_argument("--probe-s", type=float, default=12.0)
    parser.add_argument("--memory-items", type=int, default=1_000_000)
    return parser.parse_args()


def main() -> int:
    options = parsed()
    figures: dict[str, Figures] = {"options": {**vars(options), "json": str(options.json)}}
    for part in options.parts:
        print(f"{part} ...", flush=True)
        figures[part] = PARTS[part](options)
        shown = {name: value for name, value in figures[part].items() if name not in ("rounds", "pss_mb")}
        print(f"  {json.dumps(shown)}", flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    failures = broken(figures)
    for failure in failures:
        print(f"BROKEN: {failure}")
    print(last_line(figures))
    return 1 if failures and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
