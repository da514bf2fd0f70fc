"""The mathematical judge: no I/O, no clock, no state. `decide` is the way in."""

from .checking import GoldCheck, Step, check_gold, explain
from .decide import decide
from .decision import Context, Decision, Gold, Offered, Part
from .rules import Rules, Tolerance

__all__ = [
    "Context",
    "Decision",
    "Gold",
    "GoldCheck",
    "Offered",
    "Part",
    "Rules",
    "Step",
    "Tolerance",
    "check_gold",
    "decide",
    "explain",
]
