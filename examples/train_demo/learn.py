"""A model learns arithmetic from verdicts alone, on a CPU, in a few minutes.

Starts the verifier service, makes a tiny model from nothing, supervises it until it is right now and then, and
trains it by GRPO against the live /score. `make train-demo` runs this; what it writes is in .demo/train.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

# One thread: two that spin on a busy machine are several times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "trainer")]

import torch  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, Progress, TextColumn  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402
from transformers.utils import logging  # noqa: E402

from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.preparation import load_model  # noqa: E402
from grpo_trainer.rollout.transformers_engine import TransformersEngine, stop_ids_of  # noqa: E402
from grpo_trainer.tiny import WANTED, accuracy_by_judge, make_start, sums, write_questions  # noqa: E402
from grpo_trainer.training import run_training  # noqa: E402
from grpo_trainer.verdicts import Judge  # noqa: E402
from tools.serving import service  # noqa: E402


def main() -> int:
    args = arguments()
    console, started = Console(), time.perf_counter()
    torch.set_num_threads(1)
    shutil.rmtree(args.out, ignore_errors=True)
    console.print("[bold]1. The verifier service[/bold]")
    with service(args.out / "service.log") as url:
        console.print(f"   {url}")
        config = configured(args, url)
        console.print("[bold]2. A start, supervised until it is right now and then[/bold]")
        supervised(console, Path(config.model.path), args.seed)
        before = measured(config, config.model.path, args.seed)
        console.print("[bold]3. GRPO against /score[/bold]")
        code = run_training(config, console, Console(stderr=True), resume=False, dry_run=False)
        if code:
            return code
        newest = max((Path(config.output) / "checkpoints").iterdir())
        after = measured(config, str(newest), args.seed)
    console.print(f"[bold]Accuracy on 1,000 unseen sums: {before:.1%} -> {after:.1%}[/bold]")
    console.print(
        f"{time.perf_counter() - started:.0f} s in all. Curves: {Path(config.output) / 'report.html'}"
    )
    return 0


def configured(args: argparse.Namespace, url: str) -> TrainConfig:
    data = args.out / "train.jsonl"
    write_questions(data, sums(args.seed).seen)
    return load_config(
        "tiny-cpu",
        overrides=[
            f"model.path={args.out / 'start'}",
            f"data.train={data}",
            f"output={args.out / 'run'}",
            f"reward.url={url}",
            f"seed={args.seed}",
            *args.overrides,
        ],
    )


def supervised(console: Console, folder: Path, seed: int) -> None:
    """Right in a third of its answers: enough to begin with, and much to learn."""
    words = TextColumn(
        "   right in {task.completed:.0%} of its answers; step {task.fields[step]}, loss {task.fields[loss]:.2f}"
    )
    with Progress(BarColumn(), words, console=console) as progress:
        task = progress.add_task("", total=WANTED, step=0, loss=0.0)

        def show(step: int, loss: float, accuracy: float) -> None:
            progress.update(task, completed=accuracy, step=step, loss=loss)

        make_start(folder, seed, progress=show)


def measured(config: TrainConfig, path: str, seed: int) -> float:
    """Accuracy on the sums that no training has seen, judged by the service."""
    model, tokenizer = load_model(path, config), AutoTokenizer.from_pretrained(path)
    engine = TransformersEngine(model, stop_ids_of(model, tokenizer))
    with Judge(config.reward) as judge:
        return accuracy_by_judge(engine, judge, tokenizer, sums(seed).unseen, seed=seed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".demo" / "train", help="folder of all that is written"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="options of the run, such as steps=50"
    )
    args = parser.parse_args()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return args


if __name__ == "__main__":
    sys.exit(main())
