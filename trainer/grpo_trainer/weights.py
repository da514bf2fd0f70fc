"""The weights of a policy as they stand in a checkpoint: whole, and by the names that transformers gives them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from grpo_trainer.adapters import ADAPTER

LAYER = ".base_layer"


def full_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Every weight under every name that it has, without gradient, one after the other; adapters merged.

    A sharded weight is gathered as its turn comes, so that no process ever holds more than one of them whole
    beside its shards. That takes all processes: each has to go through to the end.

    Tied weights come once for each of their names, the second time as a copy of its own: an engine that packs
    its output head apart from the embedding would otherwise go on sampling with the old one.
    """
    seen: set[int] = set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if ".lora_" in name:
            continue
        weight = _merged(model, name, whole(parameter))
        yield checkpoint_name(name), weight.clone() if id(parameter) in seen else weight
        seen.add(id(parameter))


def checkpoint_name(name: str) -> str:
    """What a parameter of a model that may have adapters is called in a checkpoint of the model."""
    return name.replace(LAYER, "")


def whole(tensor: Tensor) -> Tensor:
    """The tensor itself, or all of its shards together; without gradient."""
    with torch.no_grad():
        return tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor.detach()


def _merged(model: Any, name: str, weight: Tensor) -> Tensor:
    """The weight with what its adapter adds, in the adapter's precision."""
    if not name.endswith(f"{LAYER}.weight"):
        return weight
    layer = model.get_submodule(name.removesuffix(f"{LAYER}.weight"))
    down_RI, up_OR = (whole(side[ADAPTER].weight) for side in (layer.lora_A, layer.lora_B))
    scale = float(layer.scaling[ADAPTER])
    return weight.to(up_OR.dtype) + scale * (up_OR @ down_RI)
