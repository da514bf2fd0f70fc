"""Checkpoints: a folder that transformers can load, and beside it what the run needs to go on.

The order of the data, the seeds of sampling and the learning rate are functions of two numbers, the step and
the position in the data; so those two, the weights, the optimizer and the reference are all that is kept.

Every process writes its own shards (torch.distributed.checkpoint), so nothing has to fit into one of them to
go on; any number of processes can. The folder for transformers holds whole weights, adapters merged.
"""

import json
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from grpo_trainer.policy import Policy
from grpo_trainer.ranks import ALONE, Ranks
from grpo_trainer.weights import checkpoint_name

STATE, SHARDS, PREFIX = "state.json", "shards", "step-"


class CheckpointError(ValueError):
    """A run that cannot go on from where it says; the message says what to do."""


@dataclass(slots=True)
class State:
    """step: updates done.  position: questions asked.  engine: of the verifier, None before its first reply.
    reference: whether the run keeps a reference model that moves or has a precision of its own."""

    step: int = 0
    position: int = 0
    engine: str | None = None
    profile_hash: str | None = None
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run, in a folder that all its processes see. keep: how many stay."""

    folder: Path
    keep: int
    ranks: Ranks = ALONE

    def save(self, policy: Policy, tokenizer: Any, state: State) -> Path:
        """Writes a checkpoint; it has its name only once it is complete. Raises CheckpointError on a full disk."""
        try:
            return self._save(policy, tokenizer, state)
        except (OSError, SafetensorError, CheckpointException) as error:
            raise CheckpointError(
                f"no checkpoint of step {state.step} can be written to {self.folder}: {_first_cause(error)}. Make "
                "room, then go on with --resume"
            ) from error

    def _save(self, policy: Policy, tokenizer: Any, state: State) -> Path:
        final = self.folder / f"{PREFIX}{state.step:06d}"
        partial = self.folder / f".{final.name}.partial"
        if self.ranks.first:
            # A run that was killed here may have left one, of this step or of another.
            for left in self.folder.glob(f".{PREFIX}*.partial"):
                shutil.rmtree(left, ignore_errors=True)
            partial.mkdir(parents=True)
        self.ranks.wait()
        with _alone_or_not():
            save(tensors_of(policy), checkpoint_id=partial / SHARDS)
        weights = gathered(policy)
        if self.ranks.first:
            policy.model.save_pretrained(partial, state_dict=weights)
            tokenizer.save_pretrained(partial)
            state.reference = policy.reference is not None
            (partial / STATE).write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
            shutil.rmtree(final, ignore_errors=True)
            partial.rename(final)
            for old in self._all()[: -self.keep]:
                shutil.rmtree(old)
        self.ranks.wait()
        return final

    def newest(self) -> Path | None:
        return self._all()[-1] if self._all() else None

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"{PREFIX}*") if (path / STATE).is_file())


def gathered(policy: Policy) -> dict[str, Tensor]:
    """The whole weights, each once, on the first process in its ordinary memory; nothing on the others."""
    names = {checkpoint_name(name) for name, _ in policy.model.named_parameters()}
    return {
        name: weight.cpu() for name, weight in policy.full_weights() if policy.ranks.first and name in names
    }


def tensors_of(policy: Policy) -> dict[str, Any]:
    """What learns, its moments, and the reference: the very tensors of the run, by name, shards as they are."""
    named = {name: p for name, p in policy.model.named_parameters() if p.requires_grad}
    reference = policy.reference.named_parameters() if policy.reference is not None else ()
    return {
        "weights": {name: parameter.detach() for name, parameter in named.items()},
        "optimizer": {name: _moments(policy.optimizer, parameter) for name, parameter in named.items()},
        "reference": {name: parameter.detach() for name, parameter in reference},
    }


def read_state(path: Path) -> State:
    return State(**json.loads((path / STATE).read_text(encoding="utf-8")))


def restore(policy: Policy, path: Path) -> None:
    """Weights, optimizer and reference, in place, whatever number of processes wrote them."""
    if (policy.reference is not None) != read_state(path).reference:
        raise CheckpointError(
            f"{path} and the config disagree about a reference model: keep reference.update"
        )
    tensors = tensors_of(policy)
    stored = FileSystemReader(path / SHARDS).read_metadata().state_dict_metadata
    if absent := [name for name in tensors["weights"] if f"weights.{name}" not in stored]:
        raise CheckpointError(f"{path} does not hold {absent[0]}: keep model.path and lora as they were")
    with _alone_or_not():
        load(tensors, checkpoint_id=path / SHARDS)


def _first_cause(error: BaseException) -> BaseException:
    """Of one process where several report together: what happened there, without the stacks of all."""
    failures = error.failures if isinstance(error, CheckpointException) else {}
    return next((cause for cause, _ in failures.values()), error)


@contextmanager
def _alone_or_not() -> Iterator[None]:
    """A single process is told each time that it is one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        yield


def _moments(optimizer: torch.optim.AdamW, parameter: Tensor) -> dict[str, Tensor]:
    """AdamW's state of a parameter, made as AdamW would make it where no step has been yet."""
    state: dict[str, Tensor] = optimizer.state[parameter]
    if not state:
        state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
        state["exp_avg"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        state["exp_avg_sq"] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
    return state
