"""The arithmetic of grpo plan, held against modules that exist."""

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_trainer.config import ShapeConfig
from grpo_trainer.loading import ConfigError, load_config
from grpo_trainer.plan import (
    GIB,
    activations_per_token,
    adapter_count,
    batch_plan,
    cache_per_token,
    memory_plan,
    parameter_count,
    shape_of,
)

SMALL = ShapeConfig(
    layers=3, hidden=128, intermediate=384, heads=4, kv_heads=2, vocab=64, tied=True, qkv_bias=True
)


def shape(preset: str) -> ShapeConfig:
    found = load_config(preset).model.shape
    assert found is not None
    return found


@pytest.mark.parametrize(
    "preset, billions",
    [("single-gpu-0.5b", 0.494), ("dr-grpo", 7.62), ("dapo", 32.8), ("deepseekmath", 6.91)],
)
def test_parameters_of_known_models(preset: str, billions: float) -> None:
    assert parameter_count(shape(preset)) / 1e9 == pytest.approx(billions, rel=0.005)


def test_batches_of_r1_zero() -> None:
    plan = batch_plan(load_config("r1-zero"))
    assert (plan.rounds, plan.questions_per_rollout, plan.answers_per_rollout) == (650, 512, 8192)
    assert (plan.questions_per_step, plan.micro_batches_per_step) == (32, 64)
    assert plan.longest_answer == 65536
    assert plan.questions == 10400 * 32


def test_a_last_smaller_micro_batch_counts() -> None:
    assert (
        batch_plan(load_config("tiny-cpu", overrides=["batch.micro_batch=100"])).micro_batches_per_step == 2
    )


def test_memory_adds_up() -> None:
    config = load_config("single-gpu-0.5b")
    plan = memory_plan(config, shape("single-gpu-0.5b"))
    assert plan.weights == plan.gradients == 4 * plan.parameters
    assert plan.optimizer == 8 * plan.parameters
    assert plan.gathered == plan.engine == 2 * plan.parameters
    assert plan.reference == 0
    assert plan.cache == 128 * (512 + 512) * cache_per_token(shape("single-gpu-0.5b"), 2)
    assert plan.peak == plan.fixed + max(plan.cache, plan.activations + plan.logits)
    assert plan.peak < 24 * GIB, "the preset promises one GPU of 24 GB"


def test_each_knob_moves_its_part_alone() -> None:
    base, sizes = load_config("deepseekmath"), shape("deepseekmath")
    plan = memory_plan(base, sizes)

    def changed(*words: str) -> set[str]:
        other = memory_plan(load_config("deepseekmath", overrides=words), sizes)
        names = set(plan.__slots__) - {"given_back"}
        return {name for name in names if getattr(plan, name) != getattr(other, name)}

    assert changed("sampling.batch=64") == {"cache"}
    assert changed("model.head_chunk=512") == {"logits"}
    assert changed("model.gradient_checkpointing=false") == {"activations"}
    assert changed("batch.micro_batch=4") == {"activations"}
    assert changed("kl.beta=0", "reference.update=none") == {"reference"}
    stored = {"weights", "gradients", "optimizer"}
    assert changed("lora.rank=8") == {*stored, "trained", "gathered", "reference"}
    eight = ["distributed.world_size=8"]
    assert changed("distributed.engine=fsdp", *eight) == {*stored, "gathered", "reference", "cache"}
    assert changed("distributed.engine=ddp", *eight) == {"cache"}


def test_shards_divide_what_is_stored_and_gather_a_few_layers() -> None:
    sizes = shape("deepseekmath")
    one, eight = (
        memory_plan(load_config("deepseekmath", overrides=words), sizes)
        for words in ([], ["distributed.engine=fsdp", "distributed.world_size=8"])
    )
    assert eight.weights == pytest.approx(one.weights / 8, abs=1)
    assert eight.optimizer == pytest.approx(one.optimizer / 8, abs=1)
    assert eight.reference == pytest.approx(one.reference / 8, abs=1)
    assert eight.gathered < one.gathered
    assert eight.engine == one.engine


def test_adapters_are_all_that_learns() -> None:
    plan = memory_plan(load_config("deepseekmath", overrides=["lora.rank=32"]), shape("deepseekmath"))
    assert plan.weights == 2 * plan.parameters + 4 * plan.trained
    assert plan.gradients == 4 * plan.trained
    assert plan.optimizer == 8 * plan.trained
    assert plan.trained < 0.02 * plan.parameters


def test_each_process_has_its_share_of_the_micro_batches() -> None:
    words = ["distributed.engine=ddp", "distributed.world_size=4", "batch.micro_batch=8"]
    plan = batch_plan(load_config("tiny-cpu", overrides=words))
    assert (plan.processes, plan.micro_batches_per_step) == (4, 4)


def test_the_shape_is_read_from_the_checkpoint_first(tmp_path: Path) -> None:
    values = {
        "model_type": "qwen2",
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 50,
        "tie_word_embeddings": True,
    }
    (tmp_path / "config.json").write_text(json.dumps(values))
    found = shape_of(load_config("tiny-cpu", overrides=[f"model.path={tmp_path}"]))
    assert found == ShapeConfig(
        layers=2, hidden=64, intermediate=128, heads=4, kv_heads=2, vocab=50, tied=True, qkv_bias=True
    )
    del values["intermediate_size"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(ConfigError, match="'intermediate_size'"):
        shape_of(load_config("tiny-cpu", overrides=[f"model.path={tmp_path}"]))


def test_without_checkpoint_and_shape_nothing_is_guessed() -> None:
    assert shape_of(load_config("r1-zero")) is None


def qwen2(layers: int) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = transformers.Qwen2Config(
        hidden_size=SMALL.hidden,
        intermediate_size=SMALL.intermediate,
        num_attention_heads=SMALL.heads,
        num_key_value_heads=SMALL.kv_heads,
        num_hidden_layers=layers,
        vocab_size=SMALL.vocab,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    return transformers.Qwen2ForCausalLM(sizes)


def bytes_kept(layers: int, *, half: bool, tokens: tuple[int, int]) -> int:
    """Bytes that the backward pass keeps, the weights and their half copies apart."""
    import torch

    model, storages = qwen2(layers), {}
    weights = {tuple(p.shape) for p in model.parameters()} | {
        tuple(p.T.shape) for p in model.parameters() if p.ndim == 2
    }

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tuple(tensor.shape) not in weights:
            storages[tensor.untyped_storage().data_ptr()] = (tensor.untyped_storage().nbytes(), tensor)
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=half),
    ):
        model.model(torch.zeros(tokens, dtype=torch.int64))
    return sum(size for size, _ in storages.values())


def test_parameters_are_those_of_the_real_module() -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")
    assert sum(p.numel() for p in qwen2(SMALL.layers).parameters()) == parameter_count(SMALL)


def test_adapters_are_those_that_peft_makes() -> None:
    pytest.importorskip("peft", reason="peft is not installed")
    from grpo_trainer.adapters import add_adapters

    for words in (["lora.rank=8"], ["lora.rank=3", 'lora.targets=["k_proj", "down_proj"]']):
        config, model = load_config("tiny-cpu", overrides=words).lora, qwen2(SMALL.layers)
        add_adapters(model, config, seed=0)
        learning = sum(p.numel() for p in model.parameters() if p.requires_grad)
        assert learning == adapter_count(SMALL, config)


def test_an_adapter_that_the_arithmetic_does_not_know_is_named() -> None:
    config = load_config("tiny-cpu", overrides=["lora.rank=8", 'lora.targets=["w1"]']).lora
    with pytest.raises(ConfigError, match="no w1 in this arithmetic"):
        adapter_count(SMALL, config)


@pytest.mark.parametrize("half", [False, True])
def test_activations_are_those_that_the_real_module_keeps(half: bool) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")
    tokens = (2, 128)
    one, three = (bytes_kept(n, half=half, tokens=tokens) for n in (1, 3))
    measured = (three - one) / 2 / (tokens[0] * tokens[1])
    expected = activations_per_token(SMALL, 2 if half else 4, checkpointing=False) / SMALL.layers
    assert expected == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(
    "words, counted",
    [([], "cache"), (["rollout.engine=vllm"], "all"), (["rollout.engine=vllm", "rollout.sleep=2"], "both")],
)
def test_what_an_engine_keeps_during_the_update_is_counted_on_top(words: list[str], counted: str) -> None:
    config = load_config("single-gpu-0.5b", overrides=words)
    shape = config.model.shape
    assert shape is not None
    plan = memory_plan(config, shape)
    learning, rest = (
        plan.activations + plan.logits,
        plan.weights + plan.gradients + plan.optimizer + plan.gathered,
    )
    expected = {
        "cache": rest + plan.engine + max(plan.cache, learning),
        "all": rest + plan.engine + plan.cache + learning,
        "both": rest + max(plan.engine + plan.cache, learning),
    }
    assert plan.peak == expected[counted]
    assert plan.engine == 2 * plan.parameters


def test_servers_cost_the_trainer_nothing() -> None:
    words = ["rollout.engine=vllm-server", "rollout.servers=['http://gpu1:8000']"]
    config = load_config("single-gpu-0.5b", overrides=words)
    assert config.model.shape is not None
    plan = memory_plan(config, config.model.shape)
    assert (plan.engine, plan.cache, plan.given_back) == (0, 0, 0)
