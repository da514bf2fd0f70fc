"""Generalised advantage estimation: what PPO with a critic uses, kept for comparison with GRPO."""

from dataclasses import dataclass

import torch
from torch import Tensor

from grpo_trainer.objective.masks import check_shapes, kept


@dataclass(frozen=True, slots=True)
class Gae:
    """advantages_BT and returns_BT (advantage + value, the critic's target), both 0 in padding."""

    advantages_BT: Tensor
    returns_BT: Tensor


def generalised_advantages(
    rewards_BT: Tensor, values_BT: Tensor, mask_BT: Tensor, *, gamma: float = 1.0, lam: float = 1.0
) -> Gae:
    """Advantage of each token from a value estimate at each token.

    delta_t = r_t + gamma V_{t+1} - V_t;  A_t = delta_t + gamma lam A_{t+1}
    (Schulman et al., arXiv 1506.02438, eq. 16). V and A after the last token are 0. lam = 1
    is unbiased and noisy; lam = 0 trusts the critic entirely. Columns outside the mask are skipped,
    so the recursion passes over a gap as if it were not there.
    rewards_BT, values_BT: float.  mask_BT: bool.  gamma and lam: in 0..1.
    Raises ValueError if a shape differs or gamma or lam leaves 0..1.
    """
    check_shapes(mask_BT, rewards_BT=rewards_BT, values_BT=values_BT)
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise ValueError(f"gamma and lam must lie in 0..1, got {gamma} and {lam}")
    rewards_BT, values_BT = kept(rewards_BT, mask_BT), kept(values_BT, mask_BT)
    advantages_BT = torch.zeros_like(values_BT)
    next_value_B = torch.zeros_like(values_BT[:, 0])
    next_advantage_B = torch.zeros_like(values_BT[:, 0])
    for t in reversed(range(mask_BT.shape[1])):
        delta_B = rewards_BT[:, t] + gamma * next_value_B - values_BT[:, t]
        advantage_B = delta_B + gamma * lam * next_advantage_B
        advantages_BT[:, t] = kept(advantage_B, mask_BT[:, t])
        next_value_B = torch.where(mask_BT[:, t], values_BT[:, t], next_value_B)
        next_advantage_B = torch.where(mask_BT[:, t], advantage_B, next_advantage_B)
    return Gae(advantages_BT, kept(advantages_BT + values_BT, mask_BT))


def whiten(values_BT: Tensor, mask_BT: Tensor, *, eps: float = 1e-8) -> Tensor:
    """Mean 0 and sample variance 1 over all tokens under the mask: (x - mean) / sqrt(var + eps).

    The customary last step of PPO's advantages. 0 in padding, and everywhere if fewer than two
    tokens are under the mask.
    """
    check_shapes(mask_BT, values_BT=values_BT)
    count = mask_BT.sum()
    centred_BT = kept(values_BT - kept(values_BT, mask_BT).sum() / count.clamp(min=1), mask_BT)
    variance = centred_BT.square().sum() / (count - 1).clamp(min=1)
    return centred_BT * torch.rsqrt(variance + eps)
