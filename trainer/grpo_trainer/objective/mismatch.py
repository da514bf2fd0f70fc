"""Truncated importance sampling: mending the gap between the engine that sampled and the trainer."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grpo_trainer.objective.masks import check_shapes, kept
from grpo_trainer.objective.ratios import LOG_RATIO_LIMIT

MismatchLevel = Literal["token", "sequence"]
Outside = Literal["truncate", "drop"]


@dataclass(frozen=True, slots=True)
class Correction:
    """weights_BT: factor on each token's loss, without gradient, 0 in padding.

    raw_BT: the same before the bounds, for the log: a weight that is always at its bound tells of
    engines that differ, and the bounded one would hide it.
    """

    weights_BT: Tensor
    raw_BT: Tensor


def mismatch_weights(
    trainer_logprobs_BT: Tensor,
    sampler_logprobs_BT: Tensor,
    mask_BT: Tensor,
    *,
    level: MismatchLevel = "token",
    low: float = 0.0,
    high: float = 2.0,
    outside: Outside = "truncate",
) -> Correction:
    """Probability in the trainer over probability in the engine that sampled, bounded.

    w = exp(log p_trainer - log p_sampler) for the same weights of the model (truncated importance
    sampling, Yao et al. 2025; truncation as in Ionides 2008).
    level: "token", or "sequence" for exp of the SUM over the answer, one weight for all its tokens.
    The sum shrinks or explodes with length: a healthy model can show a mean of 0.06 on long answers.
    low, high: bounds of the weight.
    outside: "truncate" to the nearest bound, or "drop" the token (or answer) by weight 0 (IcePop).
    Raises ValueError if a shape differs or not 0 <= low < high.
    """
    check_shapes(mask_BT, trainer_logprobs_BT=trainer_logprobs_BT, sampler_logprobs_BT=sampler_logprobs_BT)
    if not 0 <= low < high:
        raise ValueError(f"bounds must satisfy 0 <= low < high, got {low} and {high}")
    log_BT = kept((trainer_logprobs_BT - sampler_logprobs_BT).detach(), mask_BT)
    if level == "sequence":
        log_BT = log_BT.sum(-1, keepdim=True).expand(mask_BT.shape)
    raw_BT = torch.exp(log_BT.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))
    inside_BT = (raw_BT >= low) & (raw_BT <= high)
    bounded_BT = raw_BT.clamp(low, high) if outside == "truncate" else kept(raw_BT, inside_BT)
    return Correction(kept(bounded_BT, mask_BT), kept(raw_BT, mask_BT))
