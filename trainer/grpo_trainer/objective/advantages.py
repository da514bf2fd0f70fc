"""How much better each answer is than the others to the same prompt."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grpo_trainer.objective.masks import check_shapes, kept

Scale = Literal["population", "sample", "batch", "none"]
Baseline = Literal["mean", "leave_one_out"]


@dataclass(frozen=True, slots=True)
class Advantages:
    """values_PG: advantage of each answer, 0 wherever no verdict was given or the group is dead.

    live_P: bool, groups that carry a gradient: at least two judged answers with unequal rewards.
    """

    values_PG: Tensor
    live_P: Tensor


def group_advantages(
    rewards_PG: Tensor,
    judged_PG: Tensor,
    *,
    scale: Scale = "population",
    baseline: Baseline = "mean",
    eps: float = 0.0,
) -> Advantages:
    """Reward of each answer relative to its own group.

    A = (r - mean r) / std r over the judged answers of one prompt
    (DeepSeekMath, arXiv 2402.03300, section 4.1.2; std with divisor G, as its numbers need).

    rewards_PG: float, P prompts x G answers.  judged_PG: bool, False where the verifier gave no
    verdict; such an answer leaves the group's statistics and gets advantage 0, whatever its reward.
    scale: what the difference is divided by.
      "population"  std of the group, divisor G (the papers);
      "sample"      std of the group, divisor G - 1 (most public trainers);
      "batch"       std of all judged rewards of the batch, divisor N - 1;
      "none"        1 (Dr. GRPO, arXiv 2503.20783).
    baseline: what is subtracted: the group's mean, or the mean of the others (leave one out, RLOO,
    arXiv 2402.14740). The second is the first times n / (n - 1).
    eps: added to the std. 0 by default: a live group has a std above 0.
    Unit: rewards for scale "none", standard deviations otherwise.
    Raises ValueError if a shape differs, G < 2, eps < 0, or a judged reward is not finite.
    """
    _check(rewards_PG, judged_PG, eps)
    rewards_PG = kept(rewards_PG, judged_PG)
    count_P1 = judged_PG.sum(-1, keepdim=True).clamp(min=1)
    centred_PG = kept(rewards_PG - rewards_PG.sum(-1, keepdim=True) / count_P1, judged_PG)
    live_P = live_groups(rewards_PG, judged_PG)
    divisor = _scale(rewards_PG, judged_PG, centred_PG, scale)
    if baseline == "leave_one_out":
        centred_PG = centred_PG * count_P1 / (count_P1 - 1).clamp(min=1)
    # A dead group divides 0 by 0 here; the selection below discards it.
    values_PG = centred_PG / (divisor + eps)
    return Advantages(kept(values_PG, judged_PG & live_P[:, None]), live_P)


def live_groups(rewards_PG: Tensor, judged_PG: Tensor, *, threshold: float = 0.0) -> Tensor:
    """Groups whose judged rewards are not all equal: live_P, bool.

    Equality of rewards, not a zero std, decides: seven rewards of 0.1 have a float std above zero.
    A group with fewer than two judged answers is dead.
    threshold: above 0, a group lives if the sample std of its judged rewards exceeds it; for
    comparison with trainers that filter that way.
    """
    _check(rewards_PG, judged_PG, threshold)
    if threshold > 0:
        count_P1 = judged_PG.sum(-1, keepdim=True).clamp(min=1)
        mean_P1 = kept(rewards_PG, judged_PG).sum(-1, keepdim=True) / count_P1
        centred_PG = kept(rewards_PG - mean_P1, judged_PG)
        return _deviation(centred_PG, count_P1, unbiased=True).squeeze(-1) > threshold
    infinity = torch.full_like(rewards_PG, torch.inf)
    lowest_P = torch.where(judged_PG, rewards_PG, infinity).amin(-1)
    highest_P = torch.where(judged_PG, rewards_PG, -infinity).amax(-1)
    return highest_P > lowest_P


def on_tokens(values_B: Tensor, mask_BT: Tensor) -> Tensor:
    """The advantage of an answer, carried by every one of its tokens: advantages_BT, 0 in padding."""
    if values_B.shape != mask_BT.shape[:1]:
        raise ValueError(f"{tuple(values_B.shape)} advantages for a mask of shape {tuple(mask_BT.shape)}")
    check_shapes(mask_BT)
    return kept(values_B[:, None].expand(mask_BT.shape), mask_BT)


def _scale(rewards_PG: Tensor, judged_PG: Tensor, centred_PG: Tensor, scale: Scale) -> Tensor:
    """What the centred rewards are divided by: one number a group, or one for the batch."""
    count_P1 = judged_PG.sum(-1, keepdim=True).clamp(min=1)
    if scale == "none":
        return torch.ones_like(centred_PG[:, :1])
    if scale == "batch":
        total = judged_PG.sum().clamp(min=1)
        spread = kept(rewards_PG - rewards_PG.sum() / total, judged_PG)
        return _deviation(spread.reshape(1, -1), total.reshape(1, 1), unbiased=True)
    return _deviation(centred_PG, count_P1, unbiased=scale == "sample")


def _deviation(centred_PG: Tensor, count_P1: Tensor, *, unbiased: bool) -> Tensor:
    """Standard deviation of each row from its centred values, of shape P x 1."""
    # Squares of tiny differences vanish in floats, so the row is brought to size one first.
    size_P1 = centred_PG.abs().amax(-1, keepdim=True)
    unit_PG = torch.where(size_P1 > 0, centred_PG / size_P1, torch.zeros_like(centred_PG))
    divisor_P1 = (count_P1 - 1).clamp(min=1) if unbiased else count_P1
    return size_P1 * (unit_PG.square().sum(-1, keepdim=True) / divisor_P1).sqrt()


def _check(rewards_PG: Tensor, judged_PG: Tensor, eps: float) -> None:
    if rewards_PG.ndim != 2 or not rewards_PG.is_floating_point():
        raise ValueError(f"rewards_PG must be float, prompts x answers, not {tuple(rewards_PG.shape)}")
    if rewards_PG.shape[1] < 2:
        raise ValueError("a group needs at least 2 answers: one answer has nothing to be compared with")
    check_shapes(judged_PG, rewards_PG=rewards_PG)
    if eps < 0:
        raise ValueError(f"eps and threshold cannot be negative, got {eps}")
    if not bool(torch.isfinite(kept(rewards_PG, judged_PG)).all()):
        raise ValueError("a judged reward is not finite; an answer without a verdict has judged_PG False")
