"""The weights of a policy as they stand in a checkpoint: whole, and by the names that transformers gives them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor


def full_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Every weight under every name that it has, without gradient, one after the other.

    A sharded weight is gathered as its turn comes, so that no process ever holds more than one of them whole
    beside its shards. That takes all processes: each has to go through to the end.

    Tied weights come once for each of their names, the second time as a copy of its own: an engine that packs
    its output head apart from the embedding would otherwise go on sampling with the old one.
    """
    seen: set[int] = set()
    for name, parameter in model.named_parameters(remove_duplicate=False):
        weight = whole(parameter)
        yield name, weight.clone() if id(parameter) in seen else weight
        seen.add(id(parameter))


def whole(tensor: Tensor) -> Tensor:
    """The tensor itself, or all of its shards together; without gradient."""
    with torch.no_grad():
        return tensor.full_tensor().detach() if isinstance(tensor, DTensor) else tensor.detach()
