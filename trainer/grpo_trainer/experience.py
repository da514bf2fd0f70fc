"""From a scored round to the tensors that the policy learns from.

Each process makes them of its own answers. Answers are compared within their group, so processes have to ask one
another only for what concerns the batch: its spread, and the numbers for the log.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from grpo_trainer.batches import Sequences, sampler_logprobs
from grpo_trainer.config import TrainConfig
from grpo_trainer.objective import Advantages, group_advantages, mismatch_weights, rewards_with_kl
from grpo_trainer.policy import Experience, Policy
from grpo_trainer.ranks import Ranks
from grpo_trainer.sampling import Round
from grpo_trainer.tally import Tally, merged

USUAL_BOUND = 2.0
"""Of truncated importance sampling (Yao et al. 2025), where correction.level="auto" turns it on."""


@dataclass(frozen=True, slots=True)
class Learned:
    """experience: for the updates.  live_P: groups of the round, of all processes, with a gradient.
    metrics: what the round tells."""

    experience: Experience
    live_P: Tensor
    metrics: dict[str, float]


def learn_from(drawn: Round, policy: Policy, config: TrainConfig) -> Learned:
    """Advantages, and the log-probabilities that the objective compares with, all before the first update."""
    sequences = Sequences(
        tuple(g.prompt.token_ids for g in drawn.groups for _ in g.answers),
        tuple(a.token_ids for a in drawn.answers),
    )
    answers_BT = sequences.mask()
    sampled_BT = sampler_logprobs(drawn.answers, sequences.width)
    # With one update a round the policy that sampled is the policy itself, and every ratio is exactly 1.
    needs_old = config.batch.steps_per_round > 1 or config.correction_level != "none" or _kl_in_reward(config)
    old_BT = policy.logprobs(sequences) if needs_old else None
    ref_BT = policy.reference_logprobs(sequences) if config.reference.update != "none" else None
    tally = Tally()
    weights_BT = None
    if old_BT is not None:
        gap_BT = (old_BT - sampled_BT).abs()
        tally.add("engine/logprob_gap", gap_BT, answers_BT)
        tally.top("engine/logprob_gap", gap_BT, answers_BT)
        if config.correction_level != "none":
            weights_BT = _correction(old_BT, sampled_BT, answers_BT, config, tally)
    rewards_B, judged_B = rewards_of(drawn)
    if _kl_in_reward(config) and old_BT is not None and ref_BT is not None:
        rewards_B = rewards_with_kl(
            rewards_B, old_BT, ref_BT, answers_BT, beta=config.kl.beta, estimator=config.kl.estimator
        ).sum(-1)
    advantages = _compared(rewards_B, judged_B, len(drawn.groups), config, policy.ranks)
    mine = slice(policy.ranks.rank * len(drawn.groups), (policy.ranks.rank + 1) * len(drawn.groups))
    experience = Experience(
        sequences=sequences,
        mask_BT=answers_BT & counted(drawn, judged_B, config)[:, None],
        advantages_B=advantages.values_PG[mine].flatten(),
        # One update a round: old is left out, since computing it again could only add rounding to a ratio of 1.
        old_BT=old_BT if config.batch.steps_per_round > 1 else None,
        ref_BT=None if _kl_in_reward(config) else ref_BT,
        weights_BT=weights_BT,
    )
    told = merged(policy.ranks.gathered(tally))
    metrics = told.means() | {f"{name}_max": value for name, value in told.highest.items()}
    metrics["groups/live"] = float(advantages.live_P.float().mean())
    metrics["advantage/largest"] = float(advantages.values_PG.abs().max())
    return Learned(experience, advantages.live_P, metrics)


def _compared(
    rewards_B: Tensor, judged_B: Tensor, groups: int, config: TrainConfig, ranks: Ranks
) -> Advantages:
    """Advantages of the groups of all processes, in the order of their ranks, as many groups from each."""
    return group_advantages(
        torch.cat(ranks.gathered(rewards_B.view(groups, -1))),
        torch.cat(ranks.gathered(judged_B.view(groups, -1))),
        scale=config.advantage.scale,
        baseline=config.advantage.baseline,
        eps=config.advantage.eps,
    )


def rewards_of(drawn: Round) -> tuple[Tensor, Tensor]:
    """rewards_B and judged_B; a reward that is not there is NaN, so that no sum can take it for a zero."""
    rewards = [v.reward for v in drawn.verdicts]
    rewards_B = torch.tensor([float("nan") if r is None else r for r in rewards], dtype=torch.float64)
    return rewards_B, torch.tensor([r is not None for r in rewards])


def counted(drawn: Round, judged_B: Tensor, config: TrainConfig) -> Tensor:
    """Answers whose tokens are in the loss: judged ones, and truncated ones unless they are masked."""
    if config.sampling.truncated == "score":
        return judged_B
    return judged_B & ~torch.tensor([a.truncated for a in drawn.answers])


def _kl_in_reward(config: TrainConfig) -> bool:
    return config.kl.beta > 0 and config.kl.place == "reward"


def _correction(
    old_BT: Tensor, sampled_BT: Tensor, mask_BT: Tensor, config: TrainConfig, tally: Tally
) -> Tensor:
    settings, level = config.correction, config.correction_level
    if level == "none":
        raise ValueError("no correction was asked for")
    correction = mismatch_weights(
        old_BT,
        sampled_BT.to(old_BT.dtype),
        mask_BT,
        level=level,
        low=settings.low or 0.0,
        high=settings.high or USUAL_BOUND,
        outside=settings.outside,
    )
    tally.add("engine/weight", correction.weights_BT, mask_BT)
    tally.add("engine/weight_raw", correction.raw_BT, mask_BT)
    tally.top("engine/weight_raw", correction.raw_BT, mask_BT)
    return correction.weights_BT
