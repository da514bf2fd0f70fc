"""Means and maxima over tokens, to which micro-batches and processes contribute their parts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from torch import Tensor

from grpo_trainer.objective import kept


@dataclass(slots=True)
class Tally:
    """sums and counts: for means that do not depend on how a batch is cut.  highest: for maxima."""

    sums: dict[str, float] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    highest: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, values_BT: Tensor, mask_BT: Tensor) -> None:
        """Values that count towards a mean."""
        total = float(kept(values_BT.detach().double(), mask_BT).sum())
        self.sums[name] = self.sums.get(name, 0.0) + total
        self.counts[name] = self.counts.get(name, 0.0) + float(mask_BT.sum())

    def top(self, name: str, values_BT: Tensor, mask_BT: Tensor) -> None:
        """Values that count towards a maximum."""
        if bool(mask_BT.any()):
            value = float(values_BT.detach()[mask_BT].max())
            self.highest[name] = max(self.highest.get(name, -math.inf), value)

    def means(self) -> dict[str, float]:
        """0 where nothing was counted."""
        return {name: total / max(self.counts[name], 1.0) for name, total in self.sums.items()}


def merged(tallies: Iterable[Tally]) -> Tally:
    """One tally of all that went into these."""
    result = Tally()
    for tally in tallies:
        for name, total in tally.sums.items():
            result.sums[name] = result.sums.get(name, 0.0) + total
            result.counts[name] = result.counts.get(name, 0.0) + tally.counts[name]
        for name, value in tally.highest.items():
            result.highest[name] = max(result.highest.get(name, -math.inf), value)
    return result
