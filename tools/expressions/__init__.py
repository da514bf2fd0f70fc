"""Answers, their equal spellings and their near misses: what tests and benchmarks feed to the judge.

`answer`, `equal_answer` and `other_answer` make answers of every kind from a seed; `variants` and `near_miss`
work on any answer's text; `independent.same_value` is a second opinion on simple ones. None of it shares code
with the judge.
"""

from .answers import KINDS, Answer, answer, equal_answer, other_answer
from .independent import same_value
from .near_misses import near_miss
from .spelling import TRIVIAL, rewritten, variants
from .writing import Style

__all__ = [
    "KINDS",
    "TRIVIAL",
    "Answer",
    "Style",
    "answer",
    "equal_answer",
    "near_miss",
    "other_answer",
    "rewritten",
    "same_value",
    "variants",
]
