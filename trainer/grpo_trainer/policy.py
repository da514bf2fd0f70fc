"""The model that learns: its log-probabilities, its gradient, its optimizer, its reference."""

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from grpo_trainer.batches import Rows, Sequences, micro_batches
from grpo_trainer.config import LossConfig, OptimizerConfig, TrainConfig
from grpo_trainer.objective import (
    Loss,
    LossInputs,
    LossSettings,
    TokenScores,
    grpo_loss,
    kept,
    loss_divisor,
    moved_reference,
    on_tokens,
    token_scores,
)
from grpo_trainer.weights import full_weights

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}
HEAD_TOLERANCE = 1e-3


class PolicyError(ValueError):
    """A model that cannot be trained as it is; the message says why."""


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


@dataclass(slots=True)
class Totals:
    """Sums over tokens of the loss, for means that do not depend on how a step is cut."""

    tokens: float = 0.0
    sums: dict[str, float] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, values_BT: Tensor, mask_BT: Tensor) -> None:
        kept_BT = kept(values_BT.detach().to(torch.float32), mask_BT)
        self.sums[name] = self.sums.get(name, 0.0) + float(kept_BT.sum())

    def top(self, name: str, values_BT: Tensor, mask_BT: Tensor) -> None:
        if bool(mask_BT.any()):
            value = float(values_BT.detach()[mask_BT].max())
            self.highest[name] = max(self.highest.get(name, -math.inf), value)

    def means(self) -> dict[str, float]:
        return {name: value / max(self.tokens, 1.0) for name, value in self.sums.items()}


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

    model: in float32 or float64; with precision bfloat16 its forward and backward run in half precision
    over weights that stay in float32.
    """

    def __init__(self, model: Any, config: TrainConfig) -> None:
        self.model = model
        self.config = config
        self.device = next(model.parameters()).device
        self.reference = deepcopy(model).requires_grad_(False) if config.reference.update != "none" else None
        if self.reference is not None:
            self.reference.to(DTYPES[config.model.precision]).eval()
        if config.model.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.config.use_cache = False
        self.optimizer = make_optimizer(model, config.optimizer)
        self._check_head()

    # --- log-probabilities ---------------------------------------------------------------------------

    def logprobs(self, sequences: Sequences, *, reference: bool = False) -> Tensor:
        """Log-probability of every sampled token, under the policy or its reference: B x T, on the CPU."""
        model = self.reference if reference else self.model
        if model is None:
            raise PolicyError("the run keeps no reference model")
        result_BT = torch.zeros(len(sequences), sequences.width, dtype=self._wide())
        with torch.no_grad():
            for part in micro_batches(sequences, range(len(sequences)), self.config.batch.micro_batch):
                scores = self._scores(model, part, entropy=False)
                width = part.mask_BT.shape[1]
                result_BT[part.rows, :width] = scores.logprobs_BT.to("cpu", self._wide())
        return result_BT

    def _wide(self) -> torch.dtype:
        return torch.promote_types(DTYPES[self.config.model.precision], torch.float32)

    def _scores(self, model: Any, part: Rows, *, entropy: bool) -> TokenScores:
        """The one place where log-probabilities are computed, at the sampling temperature.

        The head runs over answer tokens alone, a chunk of them at a time, and its logits are computed again
        in the backward pass: all of them together would be by far the largest tensor of a run.
        """
        mask_BT = part.mask_BT.to(self.device)
        with self._precision():
            hidden_NH = self._hidden(model, part.ids_BL)[part.predictors_BL.to(self.device)]
            targets_N = part.targets_BT.to(self.device)[mask_BT]
            parts = [
                self._head(model, hidden_nH, targets_n, entropy)
                for hidden_nH, targets_n in zip(
                    torch.split(hidden_NH, self.config.model.head_chunk),
                    torch.split(targets_N, self.config.model.head_chunk),
                    strict=True,
                )
            ]
        logprobs_N = torch.cat([scores[0] for scores in parts])
        logprobs_BT = torch.zeros(mask_BT.shape, dtype=logprobs_N.dtype, device=self.device)
        logprobs_BT = logprobs_BT.masked_scatter(mask_BT, logprobs_N)
        if not entropy:
            return TokenScores(logprobs_BT, None)
        entropy_N = torch.cat([scores[1] for scores in parts])
        entropy_BT = torch.zeros_like(logprobs_BT).masked_scatter(mask_BT, entropy_N)
        return TokenScores(logprobs_BT, entropy_BT)

    def _precision(self) -> AbstractContextManager[Any]:
        if self.config.model.precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def _hidden(self, model: Any, ids_BL: Tensor) -> Tensor:
        # No attention mask: padding stands on the right, and a causal model never looks there.
        ids_BL = ids_BL.to(self.device)
        positions_BL = torch.arange(ids_BL.shape[1], device=self.device).expand(ids_BL.shape)
        decoder = model.get_decoder()
        output = decoder(input_ids=ids_BL, position_ids=positions_BL, use_cache=False)
        hidden_BLH: Tensor = output.last_hidden_state
        return hidden_BLH

    def _head(self, model: Any, hidden_NH: Tensor, targets_N: Tensor, entropy: bool) -> tuple[Tensor, ...]:
        def scored(hidden_nH: Tensor) -> tuple[Tensor, ...]:
            logits_nV = model.get_output_embeddings()(hidden_nH)
            scores = token_scores(
                logits_nV, targets_N, temperature=self.config.sampling.temperature, entropy=entropy
            )
            if scores.entropy_BT is None:
                return (scores.logprobs_BT,)
            return (scores.logprobs_BT, scores.entropy_BT)

        if not torch.is_grad_enabled():
            return scored(hidden_NH)
        result: tuple[Tensor, ...] = checkpoint(scored, hidden_NH, use_reentrant=False)
        return result

    def _check_head(self) -> None:
        """Some architectures scale or cap their logits after the head, which `_head` would not know."""
        ids_BL = torch.arange(4, device=self.device)[None] % int(self.model.config.vocab_size)
        with torch.no_grad(), self._precision():
            whole = self.model(input_ids=ids_BL, use_cache=False).logits
            ours = self.model.get_output_embeddings()(self._hidden(self.model, ids_BL))
        gap = float((whole.float() - ours.float()).abs().max())
        if gap > HEAD_TOLERANCE * max(1.0, float(whole.float().abs().max())):
            name = type(self.model).__name__
            raise PolicyError(f"{name} changes its logits after the output head: this trainer does not")

    # --- the update ----------------------------------------------------------------------------------

    def update(self, experience: Experience, rows: Sequence[int], step: int) -> UpdateReport:
        """One step of the optimizer on these answers. step: counted from 1."""
        rate = learning_rate(self.config.optimizer, step, self.config.steps)
        loss, totals = self.accumulate(experience, rows)
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
        return UpdateReport(
            loss, grad_norm, rate, int(totals.tokens), stepped, totals.means(), totals.highest
        )

    def accumulate(self, experience: Experience, rows: Sequence[int]) -> tuple[float, Totals]:
        """The gradient of these answers, however they are cut: all parts share one divisor."""
        loss_config = self.config.loss
        self.model.train()
        divisor = loss_divisor(
            experience.mask_BT[list(rows)], loss_config.aggregation, length=loss_config.length
        )
        totals, total = Totals(), 0.0
        for part in micro_batches(experience.sequences, rows, self.config.batch.micro_batch):
            loss, mask_BT, scores = self._loss(experience, part, divisor)
            loss.total.backward()  # type: ignore[no-untyped-call]
            total += float(loss.total.detach())
            _note(totals, loss, mask_BT, scores)
        return total, totals

    def _loss(self, experience: Experience, part: Rows, divisor: float) -> tuple[Loss, Tensor, TokenScores]:
        scores = self._scores(self.model, part, entropy=True)
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
        return float(norm)

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


def _note(totals: Totals, loss: Loss, mask_BT: Tensor, scores: TokenScores) -> None:
    totals.tokens += float(mask_BT.sum())
    totals.add("ratio", loss.ratios_BT, mask_BT)
    totals.top("ratio", loss.ratios_BT, mask_BT)
    totals.add("clipped_low", loss.tokens.below_BT, mask_BT)
    totals.add("clipped_high", loss.tokens.above_BT, mask_BT)
    totals.add("clipped_dual", loss.tokens.capped_BT, mask_BT)
    totals.add("entropy", scores.entropy_BT if scores.entropy_BT is not None else loss.ratios_BT, mask_BT)
    if loss.kl_BT is not None:
        totals.add("kl", loss.kl_BT, mask_BT)
