"""The surrogate losses of each token, their aggregation, and the whole objective put together."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from grpo_trainer.objective.kl import KlEstimator, kl_estimate
from grpo_trainer.objective.masks import check_shapes, kept
from grpo_trainer.objective.ratios import RatioLevel, probability_ratios

Surrogate = Literal["clip", "cispo"]
Aggregation = Literal["sequence", "token", "constant"]


@dataclass(frozen=True, slots=True)
class TokenLosses:
    """values_BT: loss of each token before aggregation, 0 in padding.

    below_BT, above_BT: bool, tokens whose ratio was cut at the lower or upper edge.
    capped_BT: bool, tokens whose loss the dual clip decided.
    """

    values_BT: Tensor
    below_BT: Tensor
    above_BT: Tensor
    capped_BT: Tensor


def clipped_losses(
    ratios_BT: Tensor,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> TokenLosses:
    """-min(ratio A, clip(ratio, 1 - clip_low, 1 + clip_high) A) for each token.

    PPO (arXiv 1707.06347, eq. 7) with equal sides; DAPO's clip-higher (arXiv 2503.14476, eq. 10)
    raises clip_high alone, so that unlikely tokens have room to grow.
    dual_clip: c > 1 bounds the loss where A < 0 at -c A (Ye et al., arXiv 1912.09729, section 4.3;
    the same bound as the two-sided clip of INTELLECT-2, arXiv 2505.07291): without it one token
    that became much likelier and was wrong can outweigh a batch.
    ratios_BT, advantages_BT: float.  mask_BT: bool.
    The flags count only cuts that decided the loss: below 1 - clip_low with A < 0, above
    1 + clip_high with A > 0. The gradient of such a token is 0.
    Raises ValueError if a shape differs, an edge is negative, or dual_clip <= 1.
    """
    check_shapes(mask_BT, ratios_BT=ratios_BT, advantages_BT=advantages_BT)
    _check_edges(clip_low, clip_high)
    if dual_clip is not None and dual_clip <= 1:
        raise ValueError(f"dual_clip must exceed 1, got {dual_clip}: below that it would cut plain losses")
    advantages_BT = kept(advantages_BT.detach(), mask_BT)
    cut_BT = ratios_BT.clamp(1 - clip_low, 1 + clip_high)
    values_BT = torch.maximum(-ratios_BT * advantages_BT, -cut_BT * advantages_BT)
    capped_BT = torch.zeros_like(mask_BT)
    if dual_clip is not None:
        bound_BT = -dual_clip * advantages_BT
        capped_BT = mask_BT & (advantages_BT < 0) & (values_BT > bound_BT)
        values_BT = torch.where(capped_BT, bound_BT, values_BT)
    return TokenLosses(
        values_BT=kept(values_BT, mask_BT),
        below_BT=mask_BT & (ratios_BT < 1 - clip_low) & (advantages_BT < 0),
        above_BT=mask_BT & (ratios_BT > 1 + clip_high) & (advantages_BT > 0),
        capped_BT=capped_BT,
    )


def cispo_losses(
    logprobs_BT: Tensor,
    ratios_BT: Tensor,
    advantages_BT: Tensor,
    mask_BT: Tensor,
    *,
    clip_low: float = 1.0,
    clip_high: float = 0.28,
) -> TokenLosses:
    """-stop_gradient(clip(ratio, 1 - clip_low, 1 + clip_high)) A log p for each token.

    CISPO (MiniMax-M1, arXiv 2506.13585, eq. 4): the weight is cut, never the gradient, so that no
    token drops out of the update. clip_low = 1 leaves the lower side open. Trainers that give the
    upper bound as an absolute ratio write 1 + clip_high.
    The flags mark every cut weight, whatever the sign of A. Raises ValueError as clipped_losses.
    """
    check_shapes(mask_BT, logprobs_BT=logprobs_BT, ratios_BT=ratios_BT, advantages_BT=advantages_BT)
    _check_edges(clip_low, clip_high)
    weights_BT = ratios_BT.detach().clamp(1 - clip_low, 1 + clip_high)
    values_BT = -weights_BT * kept(advantages_BT.detach(), mask_BT) * kept(logprobs_BT, mask_BT)
    return TokenLosses(
        values_BT=kept(values_BT, mask_BT),
        below_BT=mask_BT & (ratios_BT < 1 - clip_low),
        above_BT=mask_BT & (ratios_BT > 1 + clip_high),
        capped_BT=torch.zeros_like(mask_BT),
    )


def loss_divisor(
    mask_BT: Tensor, aggregation: Aggregation, *, length: float | None = None, count_empty: bool = False
) -> float:
    """What the sum over a whole optimizer step is divided by.

    Computed once over all answers of the step, those of every micro-batch and every process, and
    handed to each of them: then one, two or eight micro-batches give the same gradient.
      "sequence"  answers;  "token"  tokens;  "constant"  answers x length.
    length: for "constant" only, tokens; commonly the generation limit (Dr. GRPO, arXiv 2503.20783).
    count_empty: whether an answer without a token under the mask counts. By default it does not:
    it has left the sum, so it leaves the divisor.
    Processes that average gradients multiply the result by their number. Where nothing is under the
    mask the divisor is 0, and the loss is 0.
    Raises ValueError if length is missing for "constant", given elsewhere, or not above 0.
    """
    check_shapes(mask_BT)
    if (length is not None) != (aggregation == "constant"):
        raise ValueError('length belongs to aggregation "constant", and only to it')
    if length is not None and length <= 0:
        raise ValueError(f"length must be above 0, got {length}")
    if aggregation == "token":
        return float(mask_BT.sum())
    answers = float(mask_BT.shape[0] if count_empty else mask_BT.any(-1).sum())
    return answers if length is None else answers * length


def aggregate(values_BT: Tensor, mask_BT: Tensor, aggregation: Aggregation, divisor: float) -> Tensor:
    """One number from the tokens of a micro-batch: a scalar that sums over micro-batches.

    "sequence"  (1/N) sum over answers of (1/|o|) sum over tokens (DeepSeekMath, eq. 3): every
                answer weighs the same, so a token of a long one weighs less;
    "token"     (1/tokens) sum over all tokens (DAPO, eq. 8);
    "constant"  1/(N length) sum over all tokens (Dr. GRPO): unbiased by length.
    divisor: from loss_divisor over the whole step, not over this micro-batch.
    """
    check_shapes(mask_BT, values_BT=values_BT)
    if divisor < 0:
        raise ValueError(f"divisor cannot be negative, got {divisor}")
    values_BT = kept(values_BT, mask_BT)
    if aggregation == "sequence":
        values_BT = values_BT / mask_BT.sum(-1, keepdim=True).clamp(min=1)
    return values_BT.sum() / (divisor or 1.0)


@dataclass(frozen=True, slots=True)
class LossInputs:
    """What the objective needs to know of a micro-batch; every tensor B answers x T tokens.

    mask_BT: bool, the tokens that count.
    logprobs_BT: log-probabilities (nats) of the sampled tokens under the policy, with gradient.
    advantages_BT: see on_tokens.
    old_logprobs_BT: under the policy that sampled; None where that is the policy itself.
    ref_logprobs_BT: under the reference model; needed where kl_beta > 0.
    entropy_BT: of the policy at each token, with gradient; needed where entropy_coef is not 0.
    weights_BT: factors on the surrogate of each token, from mismatch_weights.
    """

    mask_BT: Tensor
    logprobs_BT: Tensor
    advantages_BT: Tensor
    old_logprobs_BT: Tensor | None = None
    ref_logprobs_BT: Tensor | None = None
    entropy_BT: Tensor | None = None
    weights_BT: Tensor | None = None


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Which objective. The defaults are DeepSeekMath's, without the KL term.

    ratio, surrogate, clip_low, clip_high, dual_clip, aggregation: see the functions above.
    kl_beta, kl_estimator: weight and form of the KL term.
    kl_times_ratio: multiply the estimate by the ratio, which makes it unbiased off policy too
    (DeepSeek-V3.2, arXiv 2512.02556).
    entropy_coef: weight of an entropy bonus (PPO, eq. 9); 0 in every GRPO paper.
    """

    ratio: RatioLevel = "token"
    surrogate: Surrogate = "clip"
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    aggregation: Aggregation = "sequence"
    kl_beta: float = 0.0
    kl_estimator: KlEstimator = "k3"
    kl_times_ratio: bool = False
    entropy_coef: float = 0.0


@dataclass(frozen=True, slots=True)
class Loss:
    """total: scalar to call backward on; it sums over micro-batches.

    The rest is for the log and carries no gradient: tokens (losses and clip flags), ratios_BT, and
    kl_BT, None where there is no KL term.
    """

    total: Tensor
    tokens: TokenLosses
    ratios_BT: Tensor
    kl_BT: Tensor | None


def grpo_loss(inputs: LossInputs, settings: LossSettings, *, divisor: float) -> Loss:
    """The objective of group relative policy optimization, as a loss to minimise.

    aggregate(surrogate x weights + kl_beta KL - entropy_coef H)
    (DeepSeekMath, arXiv 2402.03300, eq. 3; the variants named in the settings).
    divisor: loss_divisor over all answers of the optimizer step.
    Raises ValueError if a shape differs or a tensor that the settings need is missing.
    """
    mask_BT, logprobs_BT = inputs.mask_BT, inputs.logprobs_BT
    ratios_BT = probability_ratios(
        logprobs_BT, inputs.old_logprobs_BT, mask_BT, level=settings.ratio
    ).values_BT
    tokens = _surrogate(inputs, settings, ratios_BT)
    total_BT = tokens.values_BT
    if inputs.weights_BT is not None:
        check_shapes(mask_BT, weights_BT=inputs.weights_BT)
        total_BT = total_BT * kept(inputs.weights_BT.detach(), mask_BT)
    kl_BT = None
    if settings.kl_beta:
        kl_BT = kl_estimate(
            logprobs_BT,
            _needed(inputs.ref_logprobs_BT, "ref_logprobs_BT", "kl_beta"),
            mask_BT,
            estimator=settings.kl_estimator,
        )
        kl_BT = kl_BT * ratios_BT if settings.kl_times_ratio else kl_BT
        total_BT = total_BT + settings.kl_beta * kl_BT
    if settings.entropy_coef:
        entropy_BT = _needed(inputs.entropy_BT, "entropy_BT", "entropy_coef")
        total_BT = total_BT - settings.entropy_coef * kept(entropy_BT, mask_BT)
    return Loss(
        total=aggregate(total_BT, mask_BT, settings.aggregation, divisor),
        tokens=TokenLosses(tokens.values_BT.detach(), tokens.below_BT, tokens.above_BT, tokens.capped_BT),
        ratios_BT=ratios_BT.detach(),
        kl_BT=None if kl_BT is None else kl_BT.detach(),
    )


def _surrogate(inputs: LossInputs, settings: LossSettings, ratios_BT: Tensor) -> TokenLosses:
    if settings.surrogate == "cispo":
        if settings.dual_clip is not None:
            raise ValueError("dual_clip does nothing with the cispo surrogate; leave it out")
        return cispo_losses(
            inputs.logprobs_BT,
            ratios_BT,
            inputs.advantages_BT,
            inputs.mask_BT,
            clip_low=settings.clip_low,
            clip_high=settings.clip_high,
        )
    return clipped_losses(
        ratios_BT,
        inputs.advantages_BT,
        inputs.mask_BT,
        clip_low=settings.clip_low,
        clip_high=settings.clip_high,
        dual_clip=settings.dual_clip,
    )


def _needed(tensor: Tensor | None, name: str, because: str) -> Tensor:
    if tensor is None:
        raise ValueError(f"{because} is not 0, so {name} is needed")
    return tensor


def _check_edges(clip_low: float, clip_high: float) -> None:
    if clip_low < 0 or clip_high < 0:
        raise ValueError(f"clip edges cannot be negative, got {clip_low} and {clip_high}")
