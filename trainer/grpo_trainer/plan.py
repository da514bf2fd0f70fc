"""What a config costs: answers, tokens and memory, by arithmetic alone. Nothing is loaded.

docs/configuration.md explains the parts; the tests count the parameters and the tensors kept for the
backward pass of real modules against these formulas.
"""

import json
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from grpo_trainer.config import LoraConfig, ShapeConfig, TrainConfig
from grpo_trainer.loading import ConfigError

GIB = 1024**3
BYTES = {"bfloat16": 2, "float32": 4, "float64": 8}
ADAM_MOMENTS = 2
LOGITS_ALIVE = 3
"""Copies of a chunk of logits at the peak: the logits, their exponentials, their gradient; all float32."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Counts of a run; tokens are upper bounds, for answers that all reach the limit.

    micro_batches_per_step: on each of the processes.
    """

    processes: int
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
    """Bytes on the device of each process, and how the parts come about.

    parameters: of the model.  trained: those that learn, all of them or the adapters.
    gathered: what a pass needs beside what is stored: copies in half precision, or sharded layers made whole.
    engine: the copy that answers are drawn from, where it is not the policy itself.
    given_back: what the engine takes while it draws and not during the update: the peak counts it or the
    update's activations and logits, whichever is larger.
    """

    parameters: int
    trained: int
    weights: int
    gradients: int
    optimizer: int
    gathered: int
    reference: int
    engine: int
    cache: int
    activations: int
    logits: int
    given_back: int

    @property
    def fixed(self) -> int:
        """What is alive from the first to the last step."""
        stored = self.weights + self.gradients + self.optimizer
        return stored + self.gathered + self.reference + self.engine + self.cache - self.given_back

    @property
    def peak(self) -> int:
        return self.fixed + max(self.given_back, self.activations + self.logits)


def batch_plan(config: TrainConfig) -> BatchPlan:
    """The batch arithmetic of a run."""
    batch, longest = config.batch, config.sampling.longest
    processes = config.distributed.world_size or 1
    return BatchPlan(
        processes=processes,
        rounds=config.rounds,
        steps=config.steps,
        questions_per_step=batch.questions_per_step,
        answers_per_step=batch.answers_per_step,
        micro_batches_per_step=ceil(batch.answers_per_step // processes / batch.micro_batch),
        questions_per_rollout=batch.questions_per_rollout,
        answers_per_rollout=batch.answers_per_rollout,
        longest_answer=longest,
        tokens_per_rollout=batch.answers_per_rollout * longest,
        questions=config.rounds * batch.questions_per_rollout,
        answers=config.rounds * batch.answers_per_rollout,
    )


def memory_plan(config: TrainConfig, shape: ShapeConfig) -> MemoryPlan:
    """The memory of a run with a dense model of this shape, on each device.

    The longest answers count: a full micro-batch of them in the update, a full batch of them in the
    engine's cache.
    """
    parameters = parameter_count(shape)
    adapters = adapter_count(shape, config.lora)
    trained = adapters or parameters
    compute = BYTES[config.model.precision]
    master = max(compute, BYTES["float32"])
    processes = config.distributed.world_size or 1
    shards = processes if config.distributed.engine == "fsdp" else 1
    frozen = parameters * compute if adapters else 0
    copied = config.reference.update != "none" and not adapters
    length = config.data.max_prompt_tokens + config.sampling.longest
    answers = config.batch.answers_per_rollout // processes
    update_tokens = min(config.batch.micro_batch, config.batch.answers_per_step // processes) * length
    elsewhere = config.rollout.engine == "vllm-server"
    engine = parameters * compute if samples_apart(config) and not elsewhere else 0
    at_once = 0 if elsewhere else min(config.sampling.batch or answers, answers)
    cache = at_once * length * cache_per_token(shape, compute)
    return MemoryPlan(
        parameters=parameters,
        trained=trained,
        weights=_share(frozen + trained * master, shards),
        gradients=_share(trained * master, shards),
        optimizer=_share(trained * master * ADAM_MOMENTS, shards),
        gathered=_gathered(config, shape, trained),
        reference=_share(parameters * compute, shards) if copied else 0,
        engine=engine,
        cache=cache,
        activations=update_tokens
        * activations_per_token(shape, compute, config.model.gradient_checkpointing),
        logits=min(update_tokens, config.model.head_chunk) * shape.vocab * BYTES["float32"] * LOGITS_ALIVE,
        given_back=_given_back(config, engine, cache),
    )


def _given_back(config: TrainConfig, engine: int, cache: int) -> int:
    """transformers drops its cache after each round; vLLM keeps all it has, unless it is sent to sleep."""
    if config.rollout.engine == "vllm":
        return engine + cache if config.rollout.sleep else 0
    return cache


def samples_apart(config: TrainConfig) -> bool:
    """Whether answers are drawn from a copy of the policy: its own module is sharded, or not in the precision."""
    apart = config.model.precision == "bfloat16" or config.distributed.engine == "fsdp"
    return apart or config.lora.rank is not None or config.rollout.engine != "transformers"


def _share(size: int, shards: int) -> int:
    return ceil(size / shards)


def _gathered(config: TrainConfig, shape: ShapeConfig, trained: int) -> int:
    """Sharded: the layer at work, the next one, and what belongs to no layer; and the gradients of one layer and
    of the rest, which are summed over the processes in float32 at least. Else copies in half precision."""
    compute = BYTES[config.model.precision]
    half = compute < BYTES["float32"]
    if config.distributed.engine != "fsdp":
        return trained * compute if half else 0
    layer = layer_count(shape)
    outside = parameter_count(shape) - shape.layers * layer
    summed = 0 if config.lora.rank is not None else compute + (BYTES["float32"] if half else 0)
    return (min(shape.layers, 2) * layer + outside) * compute + (layer + outside) * summed


def parameter_count(shape: ShapeConfig) -> int:
    """Weights of a Llama or Qwen2 model: its layers, the last norm, embeddings."""
    embeddings = shape.vocab * shape.hidden * (1 if shape.tied else 2)
    return shape.layers * layer_count(shape) + embeddings + shape.hidden


def layer_count(shape: ShapeConfig) -> int:
    """Weights of one layer: attention, gated feed-forward, two norms."""
    queries, keys = _widths(shape)
    biases = queries + 2 * keys if shape.qkv_bias else 0
    return sum(i * o for i, o in _linears(shape).values()) + biases + 2 * shape.hidden


def adapter_count(shape: ShapeConfig, config: LoraConfig) -> int:
    """Weights of the adapters: rank x (inputs + outputs) of each layer named; 0 where there are none.

    Raises ConfigError for a layer that this arithmetic does not know.
    """
    if config.rank is None:
        return 0
    linears = _linears(shape)
    if unknown := [name for name in config.targets if name not in linears]:
        raise ConfigError(
            [f"lora.targets: no {unknown[0]} in this arithmetic, which knows {', '.join(linears)}"]
        )
    return shape.layers * config.rank * sum(sum(linears[name]) for name in config.targets)


def _linears(shape: ShapeConfig) -> dict[str, tuple[int, int]]:
    """Inputs and outputs of the linear layers inside a transformer layer."""
    queries, keys = _widths(shape)
    return {
        "q_proj": (shape.hidden, queries),
        "k_proj": (shape.hidden, keys),
        "v_proj": (shape.hidden, keys),
        "o_proj": (queries, shape.hidden),
        "gate_proj": (shape.hidden, shape.intermediate),
        "up_proj": (shape.hidden, shape.intermediate),
        "down_proj": (shape.intermediate, shape.hidden),
    }


def _widths(shape: ShapeConfig) -> tuple[int, int]:
    """Of all queries, and of all keys."""
    head_dim = shape.head_dim or shape.hidden // shape.heads
    return shape.heads * head_dim, shape.kv_heads * head_dim


def cache_per_token(shape: ShapeConfig, number: int) -> int:
    """Bytes of keys and values for one token in all layers; number: bytes of one number."""
    _, keys = _widths(shape)
    return 2 * shape.layers * keys * number


def activations_per_token(shape: ShapeConfig, number: int, checkpointing: bool) -> int:
    """Bytes kept for the backward pass for one token; number: bytes of one number in the forward pass.

    A layer keeps four numbers per unit of its feed-forward width, keys and values, and about eight per
    unit of the residual stream, whose norms stay in float32 under half precision. Attention matrices are
    not kept (flash or memory-efficient attention). With checkpointing each layer keeps its input alone,
    and one layer at a time keeps everything.
    """
    _, keys = _widths(shape)
    residual = 30 if number == BYTES["bfloat16"] else 8 * number
    inside = 4 * shape.intermediate + 2 * keys
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
