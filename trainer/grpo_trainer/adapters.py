"""Low-rank adapters (LoRA, arXiv 2106.09685), as peft puts them beside the linear layers of a model."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

from grpo_trainer.config import LoraConfig
from grpo_trainer.scorer import PolicyError

ADAPTER = "default"


def add_adapters(model: Any, config: LoraConfig, seed: int) -> None:
    """Freezes the model and puts adapters into it, the same for the same seed; at first they change nothing.

    Raises PolicyError if peft is not installed, or if the model has none of the layers named.
    """
    if find_spec("peft") is None:
        raise PolicyError('lora.rank needs peft: pip install "grpo-trainer[lora]"')
    peft = import_module("peft")
    model.requires_grad_(False)
    settings = peft.LoraConfig(r=config.rank, lora_alpha=config.alpha, target_modules=list(config.targets))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            peft.inject_adapter_in_model(settings, model, ADAPTER)
        except ValueError as error:
            raise PolicyError(f"lora.targets={list(config.targets)}: {error}") from error
    _check_mergeable(model, config)
    for layer in adapted_layers(model):
        # What learns is kept in full precision, whatever the weights beside it are kept in.
        for side in (layer.lora_A, layer.lora_B):
            side[ADAPTER].to(torch.promote_types(side[ADAPTER].weight.dtype, torch.float32))


def _check_mergeable(model: Any, config: LoraConfig) -> None:
    """Raises PolicyError where an adapter could not go into the weights of a checkpoint."""
    names = Counter(id(parameter) for _, parameter in model.named_parameters(remove_duplicate=False))
    for layer in adapted_layers(model):
        if ADAPTER not in layer.lora_A:
            raise PolicyError(
                f"lora.targets={list(config.targets)} names a {type(layer.base_layer).__name__}: name linear layers "
                "alone, for example q_proj"
            )
        # Merged, the two would differ, and a checkpoint holds one of them for both.
        if names[id(layer.base_layer.weight)] > 1:
            raise PolicyError(
                f"lora.targets={list(config.targets)} names a layer that shares its weights with another one, as "
                "lm_head with the embedding where they are tied: leave it out"
            )


def adapted_layers(model: Any) -> list[Any]:
    return [module for module in model.modules() if hasattr(module, "lora_A")]


@contextmanager
def without_adapters(model: Any) -> Iterator[None]:
    """The model as it was before it had any.

    By their scale alone: peft's own switch also takes their gradients away, which a sharded model remembers.
    """
    layers = adapted_layers(model)
    scales = [layer.scaling[ADAPTER] for layer in layers]
    for layer in layers:
        layer.scaling[ADAPTER] = 0.0
    try:
        yield
    finally:
        for layer, scale in zip(layers, scales, strict=True):
            layer.scaling[ADAPTER] = scale
