"""One model over several processes: a replica in each (DDP), or a shard of everything in each (FSDP2).

Both average the gradients of the processes, so a loss that is divided by the number of tokens of all of them is
multiplied by their number first (`Policy.accumulate`).
"""

from typing import Any

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from grpo_trainer.config import TrainConfig
from grpo_trainer.ranks import Ranks
from grpo_trainer.scorer import PolicyError, Scorer


def spread(scorer: Scorer, config: TrainConfig, ranks: Ranks) -> torch.nn.Module:
    """The scorer as this process calls it. A sharded one is changed in place: its weights become DTensors."""
    if config.distributed.engine == "fsdp":
        return _sharded(scorer, config, ranks)
    learns = any(p.requires_grad for p in scorer.parameters())
    if config.distributed.engine == "ddp" and learns:
        return DistributedDataParallel(scorer, forward_sync_buffers=False, gradient_as_bucket_view=True)
    return scorer


def _sharded(scorer: Scorer, config: TrainConfig, ranks: Ranks) -> torch.nn.Module:
    """Each layer is gathered when its turn comes and given up behind it; the rest belongs to the root."""
    layers = getattr(scorer.model.get_decoder(), "layers", None)
    if layers is None:
        raise PolicyError(
            f"{type(scorer.model).__name__} names no layers to shard: use distributed.engine=ddp"
        )
    mesh = init_device_mesh(ranks.device.type, (ranks.size,))
    half = config.model.precision == "bfloat16"
    # Gathered in half precision, summed in full: the shards themselves stay in full precision.
    precision = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if half else MixedPrecisionPolicy()
    for layer in layers:
        fully_shard(layer, mesh=mesh, mp_policy=precision)
    # By default a root stays gathered until a backward pass, which a reference never has.
    fully_shard(scorer, mesh=mesh, mp_policy=precision, reshard_after_forward=True)
    return scorer


def averages_late(scorer: Any) -> bool:
    """Whether gradients may stay apart until the last micro-batch of a step."""
    return isinstance(scorer, DistributedDataParallel)
