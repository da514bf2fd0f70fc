"""What a config costs: answers, tokens and memory, by arithmetic alone. Nothing is loaded.

docs/configuration.md explains the parts; the tests count the parameters and the tensors kept for the
backward pass of real modules against these formulas.
"""

import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from grpo_trainer.config import ShapeConfig, TrainConfig
from grpo_trainer.loading import ConfigError

GIB = 1024**3
BYTES = {"bfloat16": 2, "float32": 4, "float64": 8}
ADAM_MOMENTS = 2
LOGITS_ALIVE = 3
"""Copies of a chunk of logits at the peak: the logits, their exponentials, their gradient; all float32."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Counts of a run; tokens are upper bounds, for answers that all reach the limit."""

    rounds: int
    steps: int
    questions_per_step: int
    answers_per_step: int
    micro_batches_per_step: int
    questions_per_rollout: int
    answers_per_rollout: int
    longest_answer: int
    tokens_per_rollout: int
    questions: int
    answers: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes on one device that holds everything, and how the parts come about.

    The engine's cache and the update's activations are never alive together, so the peak counts the larger.
    """

    parameters: int
    weights: int
    gradients: int
    optimizer: int
    half_copy: int
    reference: int
    cache: int
    activations: int
    logits: int

    @property
    def fixed(self) -> int:
        """What is alive from the first to the last step."""
        return self.weights + self.gradients + self.optimizer + self.half_copy + self.reference

    @property
    def peak(self) -> int:
        return self.fixed + max(self.cache, self.activations + self.logits)


def batch_plan(config: TrainConfig) -> BatchPlan:
    """The batch arithmetic of a run."""
    batch, longest = config.batch, config.sampling.longest
    return BatchPlan(
        rounds=config.rounds,
        steps=config.steps,
        questions_per_step=batch.questions_per_step,
        answers_per_step=batch.answers_per_step,
        micro_batches_per_step=ceil(batch.answers_per_step / batch.micro_batch),
        questions_per_rollout=batch.questions_per_rollout,
        answers_per_rollout=batch.answers_per_rollout,
        longest_answer=longest,
        tokens_per_rollout=batch.answers_per_rollout * longest,
        questions=config.rounds * batch.questions_per_rollout,
        answers=config.rounds * batch.answers_per_rollout,
    )


def memory_plan(config: TrainConfig, shape: ShapeConfig) -> MemoryPlan:
    """The memory of a run with a dense model of this shape, on one device without sharding.

    The longest answers count: a full micro-batch of them in the update, a full batch of them in the
    engine's cache.
    """
    parameters = parameter_count(shape)
    compute = BYTES[config.model.precision]
    master = max(compute, BYTES["float32"])
    length = config.data.max_prompt_tokens + config.sampling.longest
    generated = min(
        config.sampling.batch or config.batch.answers_per_rollout, config.batch.answers_per_rollout
    )
    update_tokens = min(config.batch.micro_batch, config.batch.answers_per_step) * length
    return MemoryPlan(
        parameters=parameters,
        weights=parameters * master,
        gradients=parameters * master,
        optimizer=parameters * master * ADAM_MOMENTS,
        half_copy=parameters * compute if compute < master else 0,
        reference=parameters * compute if config.reference.update != "none" else 0,
        cache=generated * length * cache_per_token(shape, compute),
        activations=update_tokens
        * activations_per_token(shape, compute, config.model.gradient_checkpointing),
        logits=min(update_tokens, config.model.head_chunk) * shape.vocab * BYTES["float32"] * LOGITS_ALIVE,
    )


def parameter_count(shape: ShapeConfig) -> int:
    """Weights of a Llama or Qwen2 model: attention, gated feed-forward, two norms a layer, embeddings."""
    head_dim = shape.head_dim or shape.hidden // shape.heads
    queries, keys = shape.heads * head_dim, shape.kv_heads * head_dim
    attention = 2 * shape.hidden * queries + 2 * shape.hidden * keys
    biases = queries + 2 * keys if shape.qkv_bias else 0
    layer = attention + biases + 3 * shape.hidden * shape.intermediate + 2 * shape.hidden
    embeddings = shape.vocab * shape.hidden * (1 if shape.tied else 2)
    return shape.layers * layer + embeddings + shape.hidden


def cache_per_token(shape: ShapeConfig, number: int) -> int:
    """Bytes of keys and values for one token in all layers; number: bytes of one number."""
    head_dim = shape.head_dim or shape.hidden // shape.heads
    return 2 * shape.layers * shape.kv_heads * head_dim * number


def activations_per_token(shape: ShapeConfig, number: int, checkpointing: bool) -> int:
    """Bytes kept for the backward pass for one token; number: bytes of one number in the forward pass.

    A layer keeps four numbers per unit of its feed-forward width, keys and values, and about eight per
    unit of the residual stream, whose norms stay in float32 under half precision. Attention matrices are
    not kept (flash or memory-efficient attention). With checkpointing each layer keeps its input alone,
    and one layer at a time keeps everything.
    """
    head_dim = shape.head_dim or shape.hidden // shape.heads
    residual = 30 if number == BYTES["bfloat16"] else 8 * number
    inside = 4 * shape.intermediate + 2 * shape.kv_heads * head_dim
    layer = residual * shape.hidden + number * inside
    layer_input = shape.hidden * max(number, BYTES["float32"])
    return shape.layers * layer_input + layer if checkpointing else shape.layers * layer


def shape_of(config: TrainConfig) -> ShapeConfig | None:
    """The model's sizes: from the checkpoint directory if there is one, else from model.shape.

    None where neither tells. Raises ConfigError for a checkpoint whose architecture the arithmetic
    does not cover.
    """
    path = Path(config.model.path) / "config.json"
    if not config.model.path or not path.is_file():
        return config.model.shape
    return shape_from(json.loads(path.read_text(encoding="utf-8")), path)


def shape_from(values: dict[str, Any], path: Path) -> ShapeConfig:
    """A shape out of a checkpoint's config.json."""
    try:
        return ShapeConfig(
            layers=values["num_hidden_layers"],
            hidden=values["hidden_size"],
            intermediate=values["intermediate_size"],
            heads=values["num_attention_heads"],
            kv_heads=values.get("num_key_value_heads") or values["num_attention_heads"],
            head_dim=values.get("head_dim"),
            vocab=values["vocab_size"],
            tied=values.get("tie_word_embeddings", False),
            qkv_bias=values.get("attention_bias", False) or values.get("model_type") == "qwen2",
        )
    except KeyError as missing:
        raise ConfigError(
            [f"{path} has no {missing}: this arithmetic covers dense Llama and Qwen2 alike"]
        ) from None
