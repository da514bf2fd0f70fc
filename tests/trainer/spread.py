"""Whole runs on one process or several, whose answers depend on nothing but their question.

python -m torch.distributed.run --standalone --nproc_per_node 2 -m tests.trainer.spread FOLDER: every case of CASES,
each with its losses and its first gradient written to FOLDER/NAME.pt. The start is in FOLDER already.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from grpo_trainer.config import TrainConfig
from grpo_trainer.loop import Summary, train
from grpo_trainer.observe.live import Quiet
from grpo_trainer.observe.metrics import read_metrics
from grpo_trainer.preparation import Parts, assemble
from grpo_trainer.ranks import ALONE, Ranks, joined
from grpo_trainer.rollout.engine import Answer, Group, Sampling, Weights
from grpo_trainer.weights import whole
from tests.trainer.fake_vllm import FakeVllm, fake_vllm
from tests.trainer.runs import config_on, judged_by, odd_pays

COMMON = [
    "steps=5",
    "batch.micro_batch=3",
    "loss.aggregation=token",
    "optimizer.max_grad_norm=none",
    "advantage.scale=batch",
]
KL = ["kl.beta=0.1", "reference.update=fixed"]
LORA = ["lora.rank=4", "lora.alpha=16", "optimizer.lr=1e-2"]
CASES = {
    "fsdp": ["distributed.engine=fsdp", *KL],
    "fsdp-recomputed": ["distributed.engine=fsdp", "model.gradient_checkpointing=true", "batch.passes=5"],
    "fsdp-lora": ["distributed.engine=fsdp", *LORA, *KL],
    "fsdp-moving": [
        "distributed.engine=fsdp", "kl.beta=0.1", "reference.update=ema", "reference.every=2", "reference.alpha=0.5"
    ],
    "ddp": ["distributed.engine=ddp", *KL],
    "ddp-filtered": ["distributed.engine=ddp", "sampling.filter=accuracy", "sampling.max_refills=9"],
    "ddp-lora": ["distributed.engine=ddp", *LORA, "model.gradient_checkpointing=true"],
}  # fmt: skip

RESUMED = ("fsdp-moving", "fsdp-lora")
SAMPLED = {
    "fsdp-half": ["distributed.engine=fsdp", "model.precision=bfloat16", *KL],
    "fsdp-whole": ["distributed.engine=fsdp"],
    "fsdp-half-lora": ["distributed.engine=fsdp", "model.precision=bfloat16", *LORA],
    "ddp-half-lora": ["distributed.engine=ddp", "model.precision=bfloat16", *LORA],
    "ddp-whole": ["distributed.engine=ddp"],
}
"""Runs whose answers are drawn from the policy, by each process for itself."""

SERVED = {
    "fsdp-served": ["distributed.engine=fsdp", "steps=2"],
    "fsdp-served-ahead": ["distributed.engine=fsdp", "steps=3", "rollout.staleness=1", "optimizer.lr=1e-2"],
    "ddp-served-lora": ["distributed.engine=ddp", "steps=2", *LORA],
}
"""Runs whose answers are drawn by one server for all processes."""


class Scripted:
    """An engine that answers each question in its own way, whoever asks and whenever."""

    version = 0

    def sync(self, weights: Weights, version: int) -> None:
        self.last = {name: weight.clone() for name, weight in weights}
        self.version = version

    def rest(self) -> None: ...

    def numbers(self) -> dict[str, float]:
        return {}

    def close(self) -> None: ...

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        for place, prompt in enumerate(prompts):
            random = Random(str(list(prompt)))
            yield Group(place, tuple(self._answer(random, sampling) for _ in range(group_size)))

    def _answer(self, random: Random, sampling: Sampling) -> Answer:
        ids = tuple(random.choices(range(2, 24), k=random.randint(1, sampling.max_tokens)))
        return Answer(ids, (-1.0,) * len(ids), "stop", self.version)


def exact(words: Sequence[str]) -> list[str]:
    return ["model.precision=float64", *words]


def config_in(folder: Path, name: str, *words: str) -> TrainConfig:
    """A run in `folder`/`name`, from the start that was written into `folder`."""
    return config_on(folder, f"output={folder / name}", *COMMON, *words)


def alone(words: Sequence[str]) -> list[str]:
    """The same run on one process."""
    return exact([word for word in words if not word.startswith("distributed.")])


def sampled(config: TrainConfig, ranks: Ranks) -> dict[str, Any]:
    """The metrics of every step."""
    with judged_by(odd_pays, config) as judge:
        parts = assemble(config, judge, lambda text: None, ranks=ranks)
        with closing(parts.engine):
            train(parts, Quiet())
    return {"rows": read_metrics(Path(config.output) / "metrics.jsonl")}


def served(folder: Path, name: str, words: Sequence[str], ranks: Ranks) -> dict[str, Any]:
    """The metrics of every step, and what each process has asked the server for."""
    with fake_vllm() if ranks.first else nullcontext(FakeVllm()) as fake:
        (url,) = {url for url in ranks.gathered(fake.url) if url}
        places = ["rollout.engine=vllm-server", f"rollout.servers=['{url}']"]
        found = sampled(config_in(folder, name, *places, *words), ranks)
        ranks.wait()
        return found | {"asked": fake.asked}


def run(config: TrainConfig, ranks: Ranks = ALONE, *, resume: bool = False) -> dict[str, Any]:
    """losses and metrics of every step, the gradient before the first, the weights behind the last."""
    with judged_by(odd_pays, config) as judge:
        parts = assemble(config, judge, lambda text: None, resume=resume, ranks=ranks)
        engine = Scripted()
        engine.version = parts.state.step
        parts.engine = parts.syncing.engine = parts.sampler.engine = engine
        gradients = first_gradient(parts)
        summary: Summary = train(parts, Quiet())
    rows = read_metrics(Path(config.output) / "metrics.jsonl")
    return {
        "losses": [row["policy/loss"] for row in rows],
        "rows": rows,
        "gradient": gradients,
        "weights": engine.last,
        "checkpoint": str(summary.checkpoint),
        "stored": stored(parts),
    }


def stored(parts: Parts) -> int:
    """Bytes of weights and moments that this process keeps."""
    return sum(
        local(tensor).numel() * tensor.element_size()
        for parameter in parts.policy.model.parameters()
        for tensor in (parameter, *parts.policy.optimizer.state.get(parameter, {}).values())
    )


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def first_gradient(parts: Parts) -> dict[str, torch.Tensor]:
    """Filled at the first step, from all processes."""
    found: dict[str, torch.Tensor] = {}

    def note(*_: Any) -> None:
        for name, parameter in parts.policy.model.named_parameters():
            if parameter.grad is not None and name not in found:
                found[name] = whole(parameter.grad).clone()

    parts.policy.optimizer.register_step_pre_hook(note)
    return found


def interrupted(config: TrainConfig, ranks: Ranks = ALONE) -> dict[str, Any]:
    """A run that loses all behind its last checkpoint but one, and is resumed."""
    last = run(config, ranks)["checkpoint"]
    if ranks.first:
        shutil.rmtree(last)
    ranks.wait()
    return run(config, ranks, resume=True)


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    with joined(config_in(folder, "none", "distributed.engine=fsdp")) as ranks:
        for name, words in CASES.items():
            keep(folder / f"{name}.pt", run(config_in(folder, name, *exact(words)), ranks), ranks)
        for name in RESUMED:
            config = config_in(folder, f"{name}-resumed", *exact(CASES[name]), "checkpoint.every=2")
            keep(folder / f"{name}-resumed.pt", interrupted(config, ranks), ranks)
        for name, words in SAMPLED.items():
            config = config_in(folder, name, *words, "batch.passes=5")
            keep(folder / f"{name}.pt", sampled(config, ranks), ranks)
        for name, words in SERVED.items():
            keep(folder / f"{name}.pt", served(folder, name, words, ranks), ranks)


def keep(path: Path, found: dict[str, Any], ranks: Ranks) -> None:
    if ranks.first:
        torch.save(found, path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
