"""The processes of a run: how many there are, which of them this one is, and what they tell one another.

torchrun and its like start the same program several times and say so in the environment. Each process answers
its own questions; what concerns all of them goes through the few calls of Ranks, in which all take part.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from grpo_trainer.config import TrainConfig
from grpo_trainer.contradictions import uneven

T = TypeVar("T")


class LaunchError(ValueError):
    """Other processes were started than the config asks for; the message says how to start them."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """rank: of this process, from 0.  size: of the run.  local_rank, local_size: the same on this machine."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1

    @property
    def first(self) -> bool:
        """The one that writes files and talks to people."""
        return self.rank == 0

    @property
    def device(self) -> torch.device:
        return torch.device(f"cuda:{self.local_rank}" if torch.cuda.is_available() else "cpu")

    def part(self, items: Sequence[T]) -> list[T]:
        """What this process gets of something that is dealt like cards."""
        return list(items[self.rank :: self.size])

    def together(self, items: Sequence[T]) -> list[T]:
        """The parts of all processes, in the order in which they were dealt."""
        parts = self.gathered(list(items))
        longest = max(map(len, parts))
        return [part[place] for place in range(longest) for part in parts if place < len(part)]

    def gathered(self, value: T) -> list[T]:
        """What each process has, in the order of their ranks."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, value)
        return found

    def total(self, value: float) -> float:
        """The sum over all processes, the same on each to the last bit."""
        if self.size == 1:
            return value
        sums = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(sums)
        return float(sums)

    def from_first(self, value: T | None) -> T:
        """What the first process has, told to all; the others need not know it."""
        found = [value]
        if self.size > 1:
            dist.broadcast_object_list(found, src=0)
        (told,) = found
        return told  # type: ignore[return-value]

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            dist.barrier()

    def turns(self) -> Iterator[None]:
        """One turn for this process, while the others of its machine wait for theirs."""
        # Machines may run different numbers of processes, and all have to wait as often.
        for turn in range(max(self.gathered(self.local_size))):
            if turn == self.local_rank:
                yield
            self.wait()


ALONE = Ranks()


@contextmanager
def joined(config: TrainConfig) -> Iterator[Ranks]:
    """The processes of this run, connected. Raises LaunchError if they are not those that the config asks for."""
    ranks = launched(config, os.environ)
    if ranks.size == 1 and config.distributed.engine == "none":
        yield ranks
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(ranks.device)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, timeout=timedelta(seconds=config.distributed.timeout_s))
    try:
        yield ranks
    finally:
        dist.destroy_process_group()


def launched(config: TrainConfig, environment: Mapping[str, str]) -> Ranks:
    """What the launcher says, held against the config: a launcher may start one process without a word."""
    size = int(environment.get("WORLD_SIZE", "1"))
    engine, wanted = config.distributed.engine, config.distributed.world_size
    if engine == "none" and size > 1:
        raise LaunchError(
            f"{size} processes were started, and each would train a model of its own: set "
            "distributed.engine=fsdp or ddp, or start one process"
        )
    if engine != "none" and (size != wanted if wanted is not None else size < 2):
        asked = "several processes" if wanted is None else f"distributed.world_size={wanted}"
        raise LaunchError(
            f"distributed.engine={engine} asks for {asked}, and {size} was started: torchrun --standalone "
            f"--nproc_per_node {wanted or 'N'} -m grpo_trainer train ... (accelerate launch --cpu is known to "
            "start one, whatever --num_processes says)"
        )
    if problems := list(uneven(config, size)):
        raise LaunchError("\n".join(problems))
    return Ranks(
        rank=int(environment.get("RANK", "0")),
        size=size,
        local_rank=int(environment.get("LOCAL_RANK", "0")),
        local_size=int(environment.get("LOCAL_WORLD_SIZE", "1")),
    )
