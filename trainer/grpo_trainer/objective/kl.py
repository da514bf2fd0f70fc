"""How far the policy has moved from the reference model, token by token."""

from typing import Literal

import torch
from torch import Tensor

from grpo_trainer.objective.masks import check_shapes, kept

KlEstimator = Literal["k1", "k2", "k3", "k3+", "abs"]


def kl_estimate(
    logprobs_BT: Tensor,
    ref_logprobs_BT: Tensor,
    mask_BT: Tensor,
    *,
    estimator: KlEstimator = "k3",
    log_ratio_limit: float | None = 20.0,
    value_limit: float | None = None,
) -> Tensor:
    """Estimate of KL(policy || reference) at each sampled token: kl_BT in nats, 0 in padding.

    With d = log policy - log reference (Schulman, "Approximating KL Divergence", 2020):
      "k1"   d: unbiased, of either sign, noisy. As a term of a loss it pulls nowhere: the expected
             gradient of log policy under the policy is 0. Meant for the reward.
      "k2"   d^2 / 2: its gradient is that of the KL itself.
      "k3"   exp(-d) + d - 1: unbiased and never negative, u - log u - 1 with u = reference / policy
             (DeepSeekMath, arXiv 2402.03300, eq. 4).
      "k3+"  the value of k3 with the gradient of k2.
      "abs"  |d|.
    log_ratio_limit: for k3 and k3+, d is held within plus or minus this, so that exp cannot overflow;
    beyond it the gradient of k3 is 0. value_limit: the same for the estimate. None switches either off.
    Raises ValueError if a shape differs.
    """
    check_shapes(mask_BT, logprobs_BT=logprobs_BT, ref_logprobs_BT=ref_logprobs_BT)
    log_ratio_BT = kept(logprobs_BT - ref_logprobs_BT.detach(), mask_BT)
    if estimator == "k3+":
        value_BT = _k3(_within(log_ratio_BT.detach(), log_ratio_limit))
        slope_BT = log_ratio_BT.square() / 2
        return _within(value_BT, value_limit) + slope_BT - slope_BT.detach()
    if estimator == "k3":
        return _within(_k3(_within(log_ratio_BT, log_ratio_limit)), value_limit)
    if estimator == "k2":
        return _within(log_ratio_BT.square() / 2, value_limit)
    return _within(log_ratio_BT.abs() if estimator == "abs" else log_ratio_BT, value_limit)


def rewards_with_kl(
    rewards_B: Tensor,
    logprobs_BT: Tensor,
    ref_logprobs_BT: Tensor,
    mask_BT: Tensor,
    *,
    beta: float,
    estimator: KlEstimator = "k1",
) -> Tensor:
    """Rewards per token with the KL penalty inside, as PPO has it: rewards_BT, without gradient.

    r_t = -beta kl_t, and the answer's reward on its last token as well (Ouyang et al., arXiv
    2203.02155, eq. 2; DeepSeekMath, eq. 2). Summed over tokens the penalty grows with the length of
    the answer, which is why GRPO moved it into the loss.
    rewards_B: one reward an answer. An answer without tokens receives nothing.
    """
    if rewards_B.shape != mask_BT.shape[:1]:
        raise ValueError(f"{tuple(rewards_B.shape)} rewards for a mask of shape {tuple(mask_BT.shape)}")
    penalty_BT = kl_estimate(logprobs_BT.detach(), ref_logprobs_BT, mask_BT, estimator=estimator)
    columns_T = torch.arange(mask_BT.shape[1], device=mask_BT.device)
    last_B1 = torch.where(mask_BT, columns_T, torch.full_like(columns_T, -1)).amax(-1, keepdim=True)
    final_BT = kept(rewards_B[:, None].expand(mask_BT.shape), columns_T == last_B1)
    return final_BT - beta * penalty_BT


def _k3(log_ratio_BT: Tensor) -> Tensor:
    # Rounding alone can take expm1(-d) + d a hair below 0, where the formula never goes.
    return (torch.expm1(-log_ratio_BT) + log_ratio_BT).clamp(min=0)


def _within(values: Tensor, limit: float | None) -> Tensor:
    return values if limit is None else values.clamp(-limit, limit)
