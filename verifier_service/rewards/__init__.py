"""The rewards: one module each, every one a function to a Score; profile.py weighs them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Score:
    """What one reward says of one item, before weights.

    value: the raw score; None where there is no verdict or no evidence, which is not a 0.
    detail: why, for people and for `explanation`; plain JSON values only.
    """

    value: float | None
    detail: dict[str, Any] = field(default_factory=dict)


class RewardFailed(RuntimeError):
    """A reward broke: a fault of the deployment, so the item has no reward, which is not a reward of 0."""

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(name, fault)  # both, or it could not be pickled
        self.name = name
        self.fault = fault

    def __str__(self) -> str:
        return f'reward "{self.name}" {self.fault}'
