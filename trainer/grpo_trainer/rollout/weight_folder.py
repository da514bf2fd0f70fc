"""The folder that weights pass through, from the policy to an engine with weights of its own."""

import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from grpo_trainer.rollout.engine import RolloutError, Weights

PART_BYTES = 2 * 1024**3
"""Weights are written in files of about this size, so that no more than that waits in memory."""
COMPLETE, PARTIAL = "version-*", ".version-*.partial"
"""Folders of versions; of either kind, a run that was killed may have left some."""


class WeightFolder:
    """One folder per policy version, complete as soon as it has its name.

    root: seen under this path by every engine.  dtype: that the engine computes in.  writes: whether this
    process does; of several that hold the weights together, one.
    """

    def __init__(
        self, root: Path, dtype: torch.dtype, *, writes: bool = True, part_bytes: int = PART_BYTES
    ) -> None:
        self.root = root.absolute()
        self._dtype = dtype
        self._writes = writes
        self._part_bytes = part_bytes
        self._made: list[Path] = []

    def write(self, weights: Weights, version: int) -> Path:
        """The folder of this version, in the form of a checkpoint; those of other versions go.

        Raises RolloutError on a full disk.
        """
        final, partial = self.root / f"version-{version}", self.root / f".version-{version}.partial"
        if not self._writes:
            for _ in weights:
                pass
            return final
        try:
            self._write(weights, partial)
            self._drop(COMPLETE)
            partial.rename(final)
        except (OSError, SafetensorError) as error:
            raise RolloutError(
                f"weights cannot be written to {self.root}: {error}. Make room there, or set rollout.weights to "
                "another folder, then go on with --resume"
            ) from error
        return final

    def _write(self, weights: Weights, partial: Path) -> None:
        self._drop(PARTIAL)
        self._made += [folder for folder in (self.root, self.root.parent) if not folder.exists()]
        partial.mkdir(parents=True)
        part: dict[str, Tensor] = {}
        count = 0
        for name, weight in weights:
            # A copy in any case: safetensors refuses weights that share their memory, as tied ones do.
            part[name] = weight.to("cpu", self._dtype, copy=True).contiguous()
            if sum(w.nbytes for w in part.values()) >= self._part_bytes:
                save_file(part, partial / f"model-{count:05d}.safetensors")
                part, count = {}, count + 1
        if part:
            save_file(part, partial / f"model-{count:05d}.safetensors")

    def clear(self) -> None:
        """Removes all versions, and the folders that were made for them and hold nothing else."""
        if not self._writes:
            return
        self._drop(COMPLETE)
        self._drop(PARTIAL)
        for folder in self._made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _drop(self, names: str) -> None:
        for old in self.root.glob(names):
            shutil.rmtree(old, ignore_errors=True)
