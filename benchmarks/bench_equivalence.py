"""The judge's decide() against Math-Verify's parse + verify: speed, and who is right.

    MATH_DATA_DIR=... python benchmarks/bench_equivalence.py --assert

Every gold of the public sets (docs/data.md) gives two pairs that nobody has seen: the gold against an equal
rewrite of itself, and against a near miss (tools/expressions). Ours judges all of them, each under the row's
own question as a prompt not met before. The peer is slow, so both sides are timed against each other on a
seeded sample of every file: CPU time, in fresh processes, alternating, imports and a first trivial pair left
out. No process sees a gold twice.

    --symmetry N   instead: N generated pairs; swapping gold and answer must not change the verdict, nothing may raise
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.expressions import near_miss, variants  # noqa: E402
from tools.expressions.independent import cleaned  # noqa: E402

RATIO, WORST_RATIO, P99_MS, SLOW_SHARE = 60.0, 30.0, 4.0, 0.005


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold, an answer, whether they are the same, and how the answer was made."""

    id: str
    gold: str
    answer: str
    prompt: str
    same: bool
    how: str


@dataclass(frozen=True, slots=True)
class Judged:
    """True, False or no verdict; CPU seconds; was the slow path taken?"""

    verdict: bool | None
    cpu: float
    slow: bool


@dataclass
class Tally:
    """How one side did on some pairs."""

    pairs: int = 0
    right: int = 0
    false_positive: int = 0
    false_negative: int = 0
    no_verdict: int = 0

    def add(self, pair: Pair, judged: Judged) -> None:
        self.pairs += 1
        self.no_verdict += judged.verdict is None
        self.right += judged.verdict is pair.same
        self.false_positive += judged.verdict is True and not pair.same
        self.false_negative += judged.verdict is False and pair.same


# -- pairs


def data_dir() -> Path:
    """The folder of the public sets; there is no default."""
    folder = os.environ.get("MATH_DATA_DIR", "")
    if not folder or not Path(folder).is_dir():
        sys.exit(
            "MATH_DATA_DIR must name the folder of the public data sets (docs/data.md says how to make it); "
            + (f"{folder} is no folder" if folder else "it is not set")
        )
    return Path(folder)


def is_echo(answer: str, prompt: str) -> bool:
    """Does a rewrite happen to stand in the question? Then refusing it is right, and paying it is too."""
    return not answer.strip().isdigit() and _squeezed(answer) in _squeezed(prompt)


def _squeezed(text: str) -> str:
    return cleaned(text.replace("\\(", "").replace("\\)", "")).replace(" ", "")


def rounds_of(path: Path, seed: int) -> tuple[list[Pair], list[Pair]]:
    """All pairs of a file in two rounds, each gold once in each: as a rewrite in one, as a near miss in the other."""
    rounds: tuple[list[Pair], list[Pair]] = ([], [])
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            rng = Random(f"{seed}:{row['id']}")
            gold, prompt = row["answer"], row["question"]
            for new, how in [made for made in variants(gold, rng, 3) if not is_echo(made[0], prompt)][:1]:
                rounds[number % 2].append(Pair(row["id"], gold, new, prompt, True, how))
            missed = near_miss(gold, rng)
            if missed is not None:
                rounds[1 - number % 2].append(Pair(row["id"], gold, missed[0], prompt, False, missed[1]))
    for pairs in rounds:
        Random(seed).shuffle(pairs)
    return rounds


# -- the two sides, each in a process of its own


def our_side() -> Callable[[Pair], tuple[bool | None, bool]]:
    """decide() with a watch on the slow path."""
    import latex2sympy2_extended  # workers hold it, and sympy with it, before the first answer comes

    from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, decide, symbolic

    asked = 0

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal asked
            asked += 1
            return function(*args)

        return call

    symbolic.symbolic_equal = watched(symbolic.symbolic_equal)
    latex2sympy2_extended.latex2sympy = watched(latex2sympy2_extended.latex2sympy)
    rules = Rules()

    def judge(pair: Pair) -> tuple[bool | None, bool]:
        before = asked
        decision = decide(
            Gold(any_of=(pair.gold,)),
            Offered((Part(pair.answer),), 1, "box"),
            rules,
            Context(prompt=pair.prompt),
        )
        return (None if decision.verdict is None else decision.is_correct), asked > before

    return judge


def peer_side() -> Callable[[Pair], tuple[bool | None, bool]]:
    """Math-Verify with its defaults, both texts in a box, dollars taken off as its grammar wants it."""
    import logging

    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)

    def boxed(text: str) -> str:
        return f"\\boxed{{{text.replace('$', '') if chr(92) + '$' not in text else text}}}"

    def judge(pair: Pair) -> tuple[bool | None, bool]:
        return bool(verify(parse(boxed(pair.gold)), parse(boxed(pair.answer)))), False

    return judge


def serve_side(side: str) -> None:
    """Judge the pairs on standard input, one JSON object a line; answer likewise."""
    judge = our_side() if side == "ours" else peer_side()
    judge(Pair("", "1", "\\frac{2}{3}", "How much?", False, ""))
    # All pairs are here before the first is judged: no waiting on a pipe between two of them.
    pairs = [Pair(**json.loads(line)) for line in sys.stdin]
    for number, pair in enumerate(pairs):
        started = time.process_time()
        verdict, slow = judge(pair)
        cpu = time.process_time() - started
        print(json.dumps(asdict(Judged(verdict, cpu, slow))), flush=number % 64 == 0)


def run_side(side: str, pairs: Sequence[Pair], bar: "Bar") -> list[Judged]:
    """The verdicts of one side, from a fresh process."""
    with subprocess.Popen(
        [sys.executable, __file__, "--side", side], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.writelines(json.dumps(asdict(pair)) + "\n" for pair in pairs)
        process.stdin.close()
        judged = []
        for line in process.stdout:
            judged.append(Judged(**json.loads(line)))
            bar.step(f"{side} {pairs[len(judged) - 1].id}")
    if len(judged) < len(pairs):
        sys.exit(f"{side} died; the last pair it judged was {pairs[len(judged) - 1] if judged else None}")
    return judged


# -- what comes of it


class Bar:
    """Progress on a terminal, nothing elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.shown = total, 0, sys.stderr.isatty()

    def step(self, label: str) -> None:
        self.done += 1
        if self.shown and (self.done % 20 == 0 or self.done >= self.total):
            filled = 30 * self.done // max(1, self.total)
            print(f"\r[{'#' * filled:30}] {self.done}/{self.total} {label[:40]:40}", end="", file=sys.stderr)
        if self.shown and self.done >= self.total:
            print(file=sys.stderr)


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def bench_file(name: str, rounds: tuple[list[Pair], list[Pair]], sample: int, bar: Bar) -> dict[str, Any]:
    """Both sides on the sample, ours on everything."""
    tallies = {"ours": Tally(), "peer": Tally()}
    cpu = {"ours": 0.0, "peer": 0.0}
    differences = []
    for number, pairs in enumerate(rounds):
        chosen = pairs[: sample // 2]
        sides = ("ours", "peer") if number % 2 == 0 else ("peer", "ours")
        answers = {side: run_side(side, chosen, bar) for side in sides}
        for side in sides:
            cpu[side] += sum(judged.cpu for judged in answers[side])
            for pair, judged in zip(chosen, answers[side], strict=True):
                tallies[side].add(pair, judged)
        for pair, ours, peer in zip(chosen, answers["ours"], answers["peer"], strict=True):
            if ours.verdict is not peer.verdict:
                differences.append({**_shown(pair, ours), "peer": peer.verdict})
    whole = Tally()
    times, wrong, slow = [], [], 0
    slowest: list[dict[str, Any]] = []
    for pairs in rounds:
        for pair, judged in zip(pairs, run_side("ours", pairs, bar), strict=True):
            whole.add(pair, judged)
            times.append(1e3 * judged.cpu)
            slow += judged.slow
            slowest.append(_shown(pair, judged))
            if judged.verdict is not pair.same or judged.slow:
                wrong.append(_shown(pair, judged))
    speed = {side: tallies[side].pairs / cpu[side] for side in cpu}
    return {
        "file": name, "sample": tallies["ours"].pairs, "ratio": speed["ours"] / speed["peer"],
        "ours_per_cpu_s": speed["ours"], "peer_per_cpu_s": speed["peer"], "pairs": whole.pairs,
        "all_per_cpu_s": 1e3 * len(times) / sum(times), "p50_ms": percentile(times, 0.5),
        "p99_ms": percentile(times, 0.99), "max_ms": max(times), "slow_share": slow / len(times),
        "ours": asdict(tallies["ours"]), "peer": asdict(tallies["peer"]), "ours_on_all": asdict(whole),
        "slowest": sorted(slowest, key=lambda shown: -shown["ms"])[:10],
        "not_right": wrong, "differences": differences,
    }  # fmt: skip


def _shown(pair: Pair, judged: Judged) -> dict[str, Any]:
    return {
        "id": pair.id, "gold": pair.gold, "answer": pair.answer, "same": pair.same, "how": pair.how,
        "ours": judged.verdict, "ms": round(1e3 * judged.cpu, 3), "slow": judged.slow,
    }  # fmt: skip


def report(result: dict[str, Any]) -> str:
    def tally(name: str) -> str:
        found = result[name]
        return (
            f"{found['right']}/{found['pairs']} fp {found['false_positive']} fn {found['false_negative']}"
            f" null {found['no_verdict']}"
        )

    return (
        f"{result['file']:24} ratio {result['ratio']:6.1f}  ours {result['ours_per_cpu_s']:7.0f}/s"
        f"  peer {result['peer_per_cpu_s']:6.1f}/s  p50 {result['p50_ms']:.3f} p99 {result['p99_ms']:.2f}"
        f" max {result['max_ms']:.1f} ms  slow {100 * result['slow_share']:.2f}%\n"
        f"{'':24} right: sample ours {tally('ours')}; peer {tally('peer')}; all ours {tally('ours_on_all')}"
    )


def broken_promises(results: Sequence[dict[str, Any]], mean: float) -> Iterator[str]:
    """What --assert fails on."""
    if mean < RATIO:
        yield f"geometric mean of the ratios {mean:.1f} < {RATIO}"
    for result in results:
        name = result["file"]
        if result["ratio"] < WORST_RATIO:
            yield f"{name}: ratio {result['ratio']:.1f} < {WORST_RATIO}"
        if result["p99_ms"] > P99_MS:
            yield f"{name}: p99 {result['p99_ms']:.2f} ms > {P99_MS} ms"
        if result["slow_share"] > SLOW_SHARE:
            yield f"{name}: slow path {100 * result['slow_share']:.2f}% > {100 * SLOW_SHARE}%"
        if result["ours"]["right"] < result["peer"]["right"]:
            yield f"{name}: right {result['ours']['right']} < the peer's {result['peer']['right']}"
        if result["ours_on_all"]["false_positive"]:
            yield f"{name}: {result['ours_on_all']['false_positive']} near misses were paid"


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def compare_sides(options: argparse.Namespace) -> int:
    folder = data_dir()
    files = sorted(path for path in folder.glob("*.jsonl") if options.files in path.name)
    if not files:
        sys.exit(f"{folder} holds no .jsonl file whose name contains {options.files!r}")
    rounds = {path.stem: rounds_of(path, options.seed) for path in files}
    sizes = [min(options.pairs // 2, len(pairs)) for both in rounds.values() for pairs in both]
    bar = Bar(2 * sum(sizes) + sum(len(pairs) for both in rounds.values() for pairs in both))
    results = []
    for name, both in rounds.items():
        results.append(bench_file(name, both, options.pairs, bar))
        print(report(results[-1]), flush=True)
    mean = geometric_mean(result["ratio"] for result in results)
    ours, peer = (
        geometric_mean(result[f"{side}_per_cpu_s"] for result in results) for side in ("ours", "peer")
    )
    broken = list(broken_promises(results, mean))
    written = {
        "seed": options.seed,
        "ratio": mean,
        "ours": ours,
        "peer": peer,
        "broken": broken,
        "files": results,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(written, ensure_ascii=False, indent=1), encoding="utf-8")
    for complaint in broken:
        print(f"{'FAILED' if options.check else 'short of the promise'}: {complaint}", file=sys.stderr)
    print(f"bench_equivalence ratio={mean:.1f} ours={ours:.0f} peer={peer:.1f}")
    return 1 if broken and options.check else 0


def swap_sides(options: argparse.Namespace) -> int:
    """--symmetry: generated pairs judged both ways."""
    from symmetry import check_symmetry, generated

    found = check_symmetry(generated(options.symmetry, options.seed), Bar(options.symmetry).step)
    for kind, broken in (("asymmetric", found.asymmetric), ("raised", found.raised)):
        for one, other, what in broken[:40]:
            print(f"{kind}: {one!r} and {other!r}: {what}", file=sys.stderr)
    print(
        f"bench_equivalence symmetry pairs={found.pairs} equal={found.equal} unjudged={found.unjudged}"
        f" asymmetric={len(found.asymmetric)} raised={len(found.raised)}"
    )
    return 1 if found.asymmetric or found.raised else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--assert", dest="check", action="store_true", help="exit 1 where a promise is broken"
    )
    parser.add_argument(
        "--pairs", type=int, default=200, help="sampled pairs a file for the peer (default 200)"
    )
    parser.add_argument("--seed", type=int, default=0, help="other pairs, other sample")
    parser.add_argument("--files", default="", help="only files whose name contains this")
    parser.add_argument("--json", type=Path, default=ROOT / "bench-results" / "bench_equivalence.json")
    parser.add_argument("--symmetry", type=int, default=0, metavar="N", help="swap N generated pairs instead")
    parser.add_argument("--side", choices=("ours", "peer"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.side:
        serve_side(options.side)
        return 0
    return swap_sides(options) if options.symmetry else compare_sides(options)


if __name__ == "__main__":
    sys.exit(main())
