"""Checkpoints: a folder that transformers can load, and beside it what the run needs to go on.

The order of the data, the seeds of sampling and the learning rate are functions of two numbers, the step and
the position in the data; so those two, the weights, the optimizer and the reference are all that is kept.
"""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from grpo_trainer.policy import Policy

STATE, TENSORS, PREFIX = "state.json", "trainer.pt", "step-"


class CheckpointError(ValueError):
    """A run that cannot go on from where it says; the message says what to do."""


@dataclass(slots=True)
class State:
    """step: updates done.  position: questions asked.  engine: of the verifier, None before its first reply."""

    step: int = 0
    position: int = 0
    engine: str | None = None
    profile_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run. keep: how many stay."""

    folder: Path
    keep: int

    def save(self, policy: Policy, tokenizer: Any, state: State) -> Path:
        """Writes a checkpoint; it has its name only once it is complete."""
        final = self.folder / f"{PREFIX}{state.step:06d}"
        partial = self.folder / f".{final.name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        policy.model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        reference = None if policy.reference is None else policy.reference.state_dict()
        torch.save({"optimizer": policy.optimizer.state_dict(), "reference": reference}, partial / TENSORS)
        (partial / STATE).write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
        for old in self._all()[: -self.keep]:
            shutil.rmtree(old)
        return final

    def newest(self) -> Path | None:
        return self._all()[-1] if self._all() else None

    def _all(self) -> list[Path]:
        return sorted(path for path in self.folder.glob(f"{PREFIX}*") if (path / STATE).is_file())


def read_state(path: Path) -> State:
    return State(**json.loads((path / STATE).read_text(encoding="utf-8")))


def restore(policy: Policy, path: Path) -> None:
    """Optimizer and reference; the weights were loaded from the same folder."""
    tensors = torch.load(path / TENSORS, map_location=policy.device, weights_only=True)
    policy.optimizer.load_state_dict(tensors["optimizer"])
    if (policy.reference is None) != (tensors["reference"] is None):
        raise CheckpointError(
            f"{path} and the config disagree about a reference model: keep reference.update"
        )
    if policy.reference is not None:
        policy.reference.load_state_dict(tensors["reference"])
