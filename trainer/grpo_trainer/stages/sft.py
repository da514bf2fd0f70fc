"""Supervised tuning: the cold start before the reinforcement learning."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import cross_entropy

from grpo_trainer.batches import Rows, Sequences, micro_batches


@dataclass(frozen=True, slots=True)
class Sft:
    """steps: updates of `batch` examples.  lr: reached after warm-up, then constant: a rate that falls to 0
    leaves the weights in a valley so narrow that the first updates of the reinforcement throw them out of it."""

    steps: int
    batch: int = 64
    lr: float = 2e-3
    warmup: int = 20
    max_grad_norm: float = 1.0
    seed: int = 0


def supervise(model: torch.nn.Module, examples: Sequences, settings: Sft) -> Iterator[float]:
    """Trains on the answers of the examples, prompts masked; yields the loss of each step (nats a token)."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=0.0, fused=True)
    device = next(model.parameters()).device
    chosen = random.Random(settings.seed)
    model.train()
    for step in range(1, settings.steps + 1):
        rows = chosen.sample(range(len(examples)), min(settings.batch, len(examples)))
        (part,) = micro_batches(examples, rows, len(rows))
        for group in optimizer.param_groups:
            group["lr"] = _rate(settings, step)
        loss = _loss(model, part, device)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield float(loss.detach())


def _loss(model: torch.nn.Module, part: Rows, device: torch.device) -> torch.Tensor:
    logits_BLV = model(input_ids=part.ids_BL.to(device), use_cache=False).logits
    targets_N = part.targets_BT[part.mask_BT].to(device)
    return cross_entropy(logits_BLV[part.predictors_BL.to(device)], targets_N)


def _rate(settings: Sft, step: int) -> float:
    return settings.lr * min(step / max(settings.warmup, 1), 1.0)


def examples_of(pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Sequences:
    """Examples from prompts and answers as token ids, the end of the answer included."""
    return Sequences(tuple(tuple(p) for p, _ in pairs), tuple(tuple(a) for _, a in pairs))
