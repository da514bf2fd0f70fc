"""The model that learns: its log-probabilities, its gradient, its optimizer, its reference."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grpo_trainer.adapters import add_adapters, without_adapters
from grpo_trainer.batches import Rows, Sequences, micro_batches
from grpo_trainer.config import LossConfig, OptimizerConfig, TrainConfig
from grpo_trainer.objective import (
    Loss,
    LossInputs,
    LossSettings,
    TokenScores,
    grpo_loss,
    loss_divisor,
    moved_reference,
    on_tokens,
)
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.scorer import PolicyError, Scorer
from grpo_trainer.sharding import averages_late, spread
from grpo_trainer.tally import Tally, merged
from grpo_trainer.weights import full_weights, whole

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True, slots=True)
class Experience:
    """A round of answers with everything that the objective asks of it; tensors B answers x T tokens.

    mask_BT: tokens in the loss: of answers with a verdict, and of truncated ones where those count.
    advantages_B: 0 where there is no verdict.  old_BT: None where the policy itself sampled.
    """

    sequences: Sequences
    mask_BT: Tensor
    advantages_B: Tensor
    old_BT: Tensor | None = None
    ref_BT: Tensor | None = None
    weights_BT: Tensor | None = None


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What one update did. grad_norm: before clipping. stepped: False where nothing asked for a change."""

    loss: float
    grad_norm: float
    lr: float
    tokens: int
    stepped: bool
    means: dict[str, float]
    highest: dict[str, float]


class Policy:
    """A causal language model under training.

    model: in float32 or float64; with precision bfloat16 its forward and backward run in half precision over
    weights that stay in float32. Under lora its own weights are frozen, and may be in half precision.
    ranks: the processes that train it together; each calls every method at the same time, with answers of its own.
    """

    def __init__(self, model: Any, config: TrainConfig, ranks: Ranks = ALONE) -> None:
        self.model = model
        self.config = config
        self.ranks = ranks
        scorer = Scorer(model, config)
        scorer.check_head()
        self.reference = self._reference_of(model)
        if config.lora.rank is not None:
            add_adapters(model, config.lora, config.seed)
        if config.model.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.config.use_cache = False
        self._scorer = spread(scorer, config, ranks)
        self._reference_scorer = None
        if self.reference is not None:
            self._reference_scorer = spread(Scorer(self.reference, config), config, ranks)
        self.device = next(model.parameters()).device
        self.optimizer = make_optimizer(model, config.optimizer)

    def _reference_of(self, model: Any) -> Any:
        """A copy of the model, where one is needed: under lora the policy without its adapters will do."""
        if self.config.reference.update == "none" or self.config.lora.rank is not None:
            return None
        return deepcopy(model).requires_grad_(False).to(DTYPES[self.config.model.precision]).eval()

    # --- log-probabilities ---------------------------------------------------------------------------

    def logprobs(self, sequences: Sequences) -> Tensor:
        """Log-probability of every sampled token: B x T, on the CPU."""
        return self._logprobs(self._scorer, sequences)

    def reference_logprobs(self, sequences: Sequences) -> Tensor:
        """The same under the reference. Raises PolicyError where the run keeps none."""
        if self.config.reference.update == "none":
            raise PolicyError("the run keeps no reference model")
        if self._reference_scorer is not None:
            return self._logprobs(self._reference_scorer, sequences)
        with without_adapters(self.model):
            return self._logprobs(self._scorer, sequences)

    @torch.no_grad()
    def _logprobs(self, scorer: Any, sequences: Sequences) -> Tensor:
        result_BT = torch.zeros(len(sequences), sequences.width, dtype=self._wide())
        for part in micro_batches(sequences, range(len(sequences)), self.config.batch.micro_batch):
            scores = self._scores(scorer, part, entropy=False)
            width = part.mask_BT.shape[1]
            result_BT[part.rows, :width] = scores.logprobs_BT.to("cpu", self._wide())
        return result_BT

    def _wide(self) -> torch.dtype:
        return torch.promote_types(DTYPES[self.config.model.precision], torch.float32)

    def _scores(self, scorer: Any, part: Rows, *, entropy: bool) -> TokenScores:
        """The one place where log-probabilities are computed, at the sampling temperature."""
        mask_BT = part.mask_BT.to(self.device)
        targets_N = part.targets_BT.to(self.device)[mask_BT]
        columns_N = scorer(
            part.ids_BL.to(self.device), part.predictors_BL.to(self.device), targets_N, entropy
        )
        columns_BT = [
            torch.zeros(mask_BT.shape, dtype=values_N.dtype, device=self.device).masked_scatter(
                mask_BT, values_N
            )
            for values_N in columns_N
        ]
        return TokenScores(columns_BT[0], columns_BT[1] if entropy else None)

    # --- the update ----------------------------------------------------------------------------------

    def update(self, experience: Experience, rows: Sequence[int], step: int) -> UpdateReport:
        """One step of the optimizer on these answers. step: counted from 1."""
        rate = learning_rate(self.config.optimizer, step, self.config.steps)
        loss, tally = self.accumulate(experience, rows)
        grad_norm = self._clip()
        if not math.isfinite(grad_norm):
            raise PolicyError(f"the gradient of step {step} is not finite: lower optimizer.lr or check data")
        # A batch that teaches nothing makes no update: Adam's momentum alone would go on moving the weights.
        stepped = grad_norm > 0
        if stepped:
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        tokens = int(tally.counts["ratio"])
        return UpdateReport(loss, grad_norm, rate, tokens, stepped, tally.means(), tally.highest)

    def accumulate(self, experience: Experience, rows: Sequence[int]) -> tuple[float, Tally]:
        """The gradient of these answers, however they are cut: all parts on all processes share one divisor.

        Loss and tally are those of all processes.
        """
        loss_config, ranks = self.config.loss, self.ranks
        self.model.train()
        divisor = ranks.total(
            loss_divisor(experience.mask_BT[list(rows)], loss_config.aggregation, length=loss_config.length)
        )
        tally, total = Tally(), 0.0
        parts = list(micro_batches(experience.sequences, rows, self.config.batch.micro_batch))
        for number, part in enumerate(parts, 1):
            with self._apart() if number < len(parts) else nullcontext():
                loss, mask_BT, scores = self._loss(experience, part, divisor)
                # Gradients are averaged over the processes, and the divisor is of all of them already.
                (loss.total * ranks.size).backward()  # type: ignore[no-untyped-call]
            total += float(loss.total.detach())
            _note(tally, loss, mask_BT, scores)
        return ranks.total(total), merged(ranks.gathered(tally))

    def _apart(self) -> AbstractContextManager[Any]:
        """Gradients stay with their process for now, where that saves something."""
        return self._scorer.no_sync() if averages_late(self._scorer) else nullcontext()  # type: ignore[operator]

    def _loss(self, experience: Experience, part: Rows, divisor: float) -> tuple[Loss, Tensor, TokenScores]:
        scores = self._scores(self._scorer, part, entropy=True)
        width = part.mask_BT.shape[1]

        def cut(values_BT: Tensor | None) -> Tensor | None:
            return None if values_BT is None else values_BT[part.rows, :width].to(self.device)

        mask_BT = experience.mask_BT[part.rows, :width].to(self.device)
        inputs = LossInputs(
            mask_BT=mask_BT,
            logprobs_BT=scores.logprobs_BT,
            advantages_BT=on_tokens(experience.advantages_B[part.rows].to(scores.logprobs_BT), mask_BT),
            old_logprobs_BT=cut(experience.old_BT),
            ref_logprobs_BT=cut(experience.ref_BT),
            entropy_BT=scores.entropy_BT,
            weights_BT=cut(experience.weights_BT),
        )
        return grpo_loss(inputs, loss_settings(self.config), divisor=divisor), mask_BT, scores

    def _clip(self) -> float:
        """The norm of the gradient, which is scaled down to the limit."""
        limit = self.config.optimizer.max_grad_norm
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        if not parameters:
            return 0.0
        norm = torch.nn.utils.clip_grad_norm_(parameters, math.inf if limit is None else limit)
        return float(whole(norm))

    # --- what leaves the trainer -----------------------------------------------------------------------

    def full_weights(self) -> Iterator[tuple[str, Tensor]]:
        """Every weight, whole, by its name in a checkpoint: what an engine of its own takes over.

        In a sharded run all processes have to go through it together (grpo_trainer.weights).
        """
        return full_weights(self.model)

    # --- the reference -------------------------------------------------------------------------------

    def move_reference(self, first: int, last: int) -> bool:
        """Moves the reference if its time fell into these steps. Whether it did."""
        settings = self.config.reference
        if self.reference is None or settings.every is None:
            return False
        times = last // settings.every - (first - 1) // settings.every
        alpha = 1.0 if settings.update == "replace" else settings.alpha or 1.0
        with torch.no_grad():
            for _ in range(times):
                for mine, theirs in zip(self.reference.parameters(), self.model.parameters(), strict=True):
                    mine.copy_(moved_reference(mine, theirs, alpha=alpha))
        return times > 0


def loss_settings(config: TrainConfig) -> LossSettings:
    """The objective that the config names."""
    loss: LossConfig = config.loss
    in_loss = config.kl.place == "loss"
    return LossSettings(
        ratio=loss.ratio,
        surrogate=loss.surrogate,
        clip_low=loss.clip_low,
        clip_high=loss.clip_high,
        dual_clip=loss.dual_clip,
        aggregation=loss.aggregation,
        kl_beta=config.kl.beta if in_loss else 0.0,
        kl_estimator=config.kl.estimator,
        kl_times_ratio=config.kl.times_ratio,
        entropy_coef=loss.entropy_coef,
    )


def make_optimizer(model: Any, config: OptimizerConfig) -> torch.optim.AdamW:
    """AdamW; weights that are not matrices (norms, biases) do not decay."""
    return torch.optim.AdamW(
        [
            {"params": list(_parameters(model, matrices=True)), "weight_decay": config.weight_decay},
            {"params": list(_parameters(model, matrices=False)), "weight_decay": 0.0},
        ],
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        eps=config.eps,
        fused=True,
    )


def _parameters(model: Any, *, matrices: bool) -> Iterator[torch.nn.Parameter]:
    return (p for p in model.parameters() if p.requires_grad and (p.ndim >= 2) == matrices)


def learning_rate(config: OptimizerConfig, step: int, steps: int) -> float:
    """The rate of a step, counted from 1: a function of the step alone, so that a resumed run agrees."""
    if step <= config.warmup_steps:
        return config.lr * step / config.warmup_steps
    if config.schedule == "constant":
        return config.lr
    share = (step - 1 - config.warmup_steps) / max(steps - config.warmup_steps, 1)
    return config.lr * (1 - share if config.schedule == "linear" else (1 + math.cos(math.pi * share)) / 2)


def _note(tally: Tally, loss: Loss, mask_BT: Tensor, scores: TokenScores) -> None:
    tally.add("ratio", loss.ratios_BT, mask_BT)
    tally.top("ratio", loss.ratios_BT, mask_BT)
    tally.add("clipped_low", loss.tokens.below_BT, mask_BT)
    tally.add("clipped_high", loss.tokens.above_BT, mask_BT)
    tally.add("clipped_dual", loss.tokens.capped_BT, mask_BT)
    if scores.entropy_BT is not None:
        tally.add("entropy", scores.entropy_BT, mask_BT)
    if loss.kl_BT is not None:
        tally.add("kl", loss.kl_BT, mask_BT)
