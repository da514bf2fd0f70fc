"""How much likelier the policy has made what was sampled."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grpo_trainer.objective.masks import check_shapes, kept

RatioLevel = Literal["token", "sequence", "sequence_mean"]

LOG_RATIO_LIMIT = 20.0
"""Log ratios are held within this bound: exp of more would overflow, and no gradient there is sane."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """values_BT: the ratio that each token carries, 1 in padding.

    level: "token", or one of the sequence levels, where all tokens of an answer carry its ratio.
    """

    values_BT: Tensor
    level: RatioLevel


def probability_ratios(
    logprobs_BT: Tensor,
    old_logprobs_BT: Tensor | None,
    mask_BT: Tensor,
    *,
    level: RatioLevel = "token",
) -> Ratios:
    """Probability under the policy over probability under the policy that sampled.

    level: over what the ratio is taken.
      "token"          exp(log p_t - log q_t) (PPO, arXiv 1707.06347, eq. 6; DeepSeekMath, eq. 3);
      "sequence"       exp(sum over t), the answer's own ratio (DeepSeek-R1, arXiv 2501.12948, eq. 1);
      "sequence_mean"  exp(mean over t) (GSPO, arXiv 2507.18071, eq. 7).
    logprobs_BT: log-probabilities (nats) of the sampled tokens, with gradient.
    old_logprobs_BT: the same when they were sampled; None means the policy itself, so that every
    ratio is exactly 1 and the gradient is that of the policy.
    mask_BT: bool, True on answer tokens.
    Padding may hold anything, NaN included. Raises ValueError if a shape differs.
    """
    check_shapes(mask_BT, logprobs_BT=logprobs_BT, old_logprobs_BT=old_logprobs_BT)
    old_BT = logprobs_BT if old_logprobs_BT is None else old_logprobs_BT
    log_BT = kept(logprobs_BT - old_BT.detach(), mask_BT)
    if level != "token":
        log_B1 = log_BT.sum(-1, keepdim=True)
        if level == "sequence_mean":
            log_B1 = log_B1 / mask_BT.sum(-1, keepdim=True).clamp(min=1)
        log_BT = kept(log_B1.expand(mask_BT.shape), mask_BT)
    return Ratios(torch.exp(log_BT.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)), level)
