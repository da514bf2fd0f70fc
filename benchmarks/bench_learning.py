"""Does the trainer learn? Accuracy on unseen sums before and after 100 steps against a live service.

    python benchmarks/bench_learning.py              5 seeds and the control: about 8 minutes on one core
    python benchmarks/bench_learning.py --assert     exit code 1 unless the promise holds
    python benchmarks/bench_learning.py --seeds 1    what CI runs

Promise: at least +0.15 on every seed (sampled, temperature 1, 1,000 questions in no training), each within 4
CPU minutes, the supervised start included. Control: with the rewards shuffled inside each group, so that all
is as before but for which answer is praised, the gain stays below 0.05.
"""

import argparse
import os
import random
import resource
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

# One thread: two that spin on a busy machine are several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "trainer")]

import torch  # noqa: E402
from transformers.utils import logging  # noqa: E402

from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.loop import train  # noqa: E402
from grpo_trainer.observe.live import Quiet  # noqa: E402
from grpo_trainer.preparation import assemble  # noqa: E402
from grpo_trainer.tiny import accuracy_by_judge, make_start, sums, write_questions  # noqa: E402
from grpo_trainer.verdicts import Item, Judge, Judging, Verdict  # noqa: E402
from tools.serving import service  # noqa: E402

WANTED_GAIN, CONTROL_GAIN, CPU_S = 0.15, 0.05, 240.0


@dataclass(frozen=True, slots=True)
class Learning:
    """before, after: accuracy on unseen questions.  cpu_s: of this process, start included."""

    before: float
    after: float
    cpu_s: float
    wall_s: float

    @property
    def gain(self) -> float:
        return self.after - self.before


class Shuffled:
    """The verdicts of a group, dealt out anew among its answers."""

    def __init__(self, judge: Judging) -> None:
        self._judge = judge
        self._random = random.Random(0)

    def submit(self, items: Sequence[Item]) -> "Future[list[Verdict]]":
        shuffled: Future[list[Verdict]] = Future()

        def deal(asked: "Future[list[Verdict]]") -> None:
            if (error := asked.exception()) is not None:
                shuffled.set_exception(error)
            else:
                verdicts = asked.result()
                shuffled.set_result(self._random.sample(verdicts, len(verdicts)))

        self._judge.submit(items).add_done_callback(deal)
        return shuffled


def learn(url: str, seed: int, folder: Path, *, shuffled: bool = False) -> Learning:
    """One run from nothing: start, accuracy, training, accuracy."""
    cpu, wall = time.process_time(), time.perf_counter()
    start, data = folder / "start", folder / "train.jsonl"
    questions = sums(seed)
    write_questions(data, questions.seen)
    make_start(start, seed)
    words = [f"model.path={start}", f"data.train={data}", f"output={folder / 'run'}", f"reward.url={url}"]
    config = load_config("tiny-cpu", overrides=[*words, f"seed={seed}", "log.tensorboard=false"])
    with Judge(config.reward) as judge:
        parts = assemble(config, judge, lambda text: None, through=Shuffled if shuffled else None)

        def accuracy() -> float:
            return accuracy_by_judge(parts.engine, judge, parts.tokenizer, questions.unseen, seed=seed)

        before = accuracy()
        train(parts, Quiet())
        after = accuracy()
    return Learning(before, after, time.process_time() - cpu, time.perf_counter() - wall)


def told(name: str, result: Learning) -> str:
    return (
        f"{name:<10} {result.before:.3f} -> {result.after:.3f}  gain {result.gain:+.3f}  "
        f"{result.cpu_s:.0f} CPU s, {result.wall_s:.0f} s"
    )


def run(seeds: int, *, control: bool) -> list[str]:
    """Prints every result; returns what was promised and does not hold."""
    broken = []
    with TemporaryDirectory() as scratch, service(Path(scratch) / "service.log") as url:
        for seed in range(seeds):
            result = learn(url, seed, Path(scratch) / f"seed-{seed}")
            print(told(f"seed {seed}", result), flush=True)
            if result.gain < WANTED_GAIN:
                broken.append(f"seed {seed}: gain {result.gain:+.3f}, promised {WANTED_GAIN:+.2f}")
            if result.cpu_s > CPU_S:
                broken.append(f"seed {seed}: {result.cpu_s:.0f} CPU s, promised {CPU_S:.0f}")
        if control:
            result = learn(url, 0, Path(scratch) / "control", shuffled=True)
            print(told("control", result), flush=True)
            if result.gain >= CONTROL_GAIN:
                broken.append(f"control: gain {result.gain:+.3f} with shuffled rewards")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"the service took {used.ru_utime + used.ru_stime:.0f} CPU s in all")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-control", action="store_true", help="leave out the run with shuffled rewards")
    parser.add_argument(
        "--assert", dest="asserting", action="store_true", help="fail if the promise is broken"
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    broken = run(args.seeds, control=not args.no_control)
    for line in broken:
        print(f"broken: {line}")
    return 1 if broken and args.asserting else 0


if __name__ == "__main__":
    sys.exit(main())
