"""The rewards: one module each, every one a function to a Score; profile.py weighs them."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Score:
    """What one reward says of one item, before weights.

    value: the raw score; None where there is no verdict or no evidence, which is not a 0.
    detail: why, for people and for `explanation`; plain JSON values only.
    """

    value: float | None
    detail: dict[str, Any] = field(default_factory=dict)
