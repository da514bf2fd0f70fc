"""Formulas of other trainers that the objective does not offer, written out for the shared vectors."""

from itertools import combinations
from math import comb

import torch
from torch import Tensor

from grpo_trainer.objective import group_advantages, kept, masked_mean, mismatch_weights, whiten


def weighted_sum(rewards_BF: Tensor, weights_F: Tensor) -> Tensor:
    """Sum over reward functions; a missing score counts as absent, an answer without any stays NaN."""
    sums_B = torch.nansum(rewards_BF * weights_F, dim=-1)
    return torch.where(rewards_BF.isnan().all(-1), torch.nan, sums_B)


def normalise_then_sum(rewards_BF: Tensor, weights_F: Tensor, group_size: int, eps: float) -> Tensor:
    """GDPO: each reward function normalised in its group, then summed, then whitened over the batch."""
    columns = []
    for scores_B in rewards_BF.unbind(-1):
        scores_PG = scores_B.reshape(-1, group_size)
        columns.append(group_advantages(scores_PG, ~scores_PG.isnan(), scale="sample", eps=eps).values_PG)
    sums_B = (torch.stack(columns, -1).reshape(rewards_BF.shape) * weights_F).sum(-1)
    return (sums_B - sums_B.mean()) / (sums_B.std() + eps)


def reinforce_plus_plus(rewards_B: Tensor, mask_BT: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """Discounted return of each token from a reward on the last one, and the same whitened."""
    to_go_BT = kept(mask_BT.long().flip(-1).cumsum(-1).flip(-1) - 1, mask_BT)
    returns_BT = kept(rewards_B[:, None] * gamma**to_go_BT, mask_BT)
    return whiten(returns_BT, mask_BT), returns_BT


def geometric_filter(
    old_BT: Tensor, sampler_BT: Tensor, mask_BT: Tensor, *, low: float, high: float
) -> Tensor:
    """Whole answers dropped by the geometric mean of their weights; the others keep raw weights."""
    lengths_B1 = mask_BT.sum(-1, keepdim=True).clamp(min=1)
    geometric_B1 = (kept(old_BT - sampler_BT, mask_BT).sum(-1, keepdim=True) / lengths_B1).exp()
    raw_BT = mismatch_weights(old_BT, sampler_BT, mask_BT).raw_BT
    return kept(raw_BT, ((geometric_B1 >= low) & (geometric_B1 <= high)).expand(mask_BT.shape))


def clipped_value_loss(
    values_BT: Tensor, old_values_BT: Tensor, returns_BT: Tensor, mask_BT: Tensor, clip: float
) -> tuple[Tensor, Tensor]:
    """PPO's loss of the critic and the share of tokens whose loss the clip decided."""
    near_BT = values_BT.clamp(old_values_BT - clip, old_values_BT + clip)
    plain_BT, cut_BT = (values_BT - returns_BT).square(), (near_BT - returns_BT).square()
    loss = 0.5 * masked_mean(torch.maximum(plain_BT, cut_BT), mask_BT)
    return loss, masked_mean((cut_BT > plain_BT).to(values_BT.dtype), mask_BT)


def overlong_penalty(length: int, *, max_len: int, buffer: int, factor: float) -> float:
    """DAPO's soft punishment: 0 up to max_len - buffer, then linearly down to -factor."""
    over = min(max(length - (max_len - buffer), 0), buffer)
    return -factor * over / buffer


def pass_at_k(correct: int, n: int, k: int) -> float:
    return 1 - comb(n - correct, k) / comb(n, k)


def majority_at_k(answers: list[str], gold: str, k: int) -> float:
    """Share of the k-subsets of answers whose most frequent answer, the first seen in a tie, is gold."""
    subsets = list(combinations(answers, k))
    return sum(max(dict.fromkeys(s), key=s.count) == gold for s in subsets) / len(subsets)
