"""The arithmetic of GRPO: tensors and floats in, small dataclasses out. Imports torch alone.

Shapes are in the names: P prompts, G answers of a group, B answers, T tokens, V vocabulary.
docs/arithmetic.md works the published numbers with these functions.
"""

from grpo_trainer.objective.advantages import (
    Advantages,
    Baseline,
    Scale,
    group_advantages,
    live_groups,
    on_tokens,
)
from grpo_trainer.objective.entropy import TokenScores, token_scores
from grpo_trainer.objective.gae import Gae, generalised_advantages, whiten
from grpo_trainer.objective.kl import KlEstimator, kl_estimate, rewards_with_kl
from grpo_trainer.objective.losses import (
    Aggregation,
    Loss,
    LossInputs,
    LossSettings,
    Surrogate,
    TokenLosses,
    aggregate,
    cispo_losses,
    clipped_losses,
    grpo_loss,
    loss_divisor,
)
from grpo_trainer.objective.masks import answer_mask, kept, masked_mean
from grpo_trainer.objective.mismatch import Correction, MismatchLevel, Outside, mismatch_weights
from grpo_trainer.objective.ratios import RatioLevel, Ratios, probability_ratios
from grpo_trainer.objective.reference import moved_reference

__all__ = [
    "Advantages",
    "Aggregation",
    "Baseline",
    "Correction",
    "Gae",
    "KlEstimator",
    "Loss",
    "LossInputs",
    "LossSettings",
    "MismatchLevel",
    "Outside",
    "RatioLevel",
    "Ratios",
    "Scale",
    "Surrogate",
    "TokenLosses",
    "TokenScores",
    "aggregate",
    "answer_mask",
    "cispo_losses",
    "clipped_losses",
    "generalised_advantages",
    "group_advantages",
    "grpo_loss",
    "kept",
    "kl_estimate",
    "live_groups",
    "loss_divisor",
    "masked_mean",
    "mismatch_weights",
    "moved_reference",
    "on_tokens",
    "probability_ratios",
    "rewards_with_kl",
    "token_scores",
    "whiten",
]
