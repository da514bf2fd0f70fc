"""The knobs of the judge. Frozen: one item is judged under one set of rules."""

from dataclasses import dataclass
from typing import Literal

Extraction = Literal["boxed", "lenient"]
GoldFrom = Literal["auto", "literal"]
OnTimeout = Literal["incorrect", "null"]
Template = Literal["think", "think_answer"]
LanguagePart = Literal["thinking", "response", "both"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A data set's own idea of close enough; a number is accepted if any given bound holds.

    absolute: |answer - gold| at most this.  relative: at most this share of |gold|.
    digits: equal after rounding both to so many significant digits.
    """

    absolute: float | None = None
    relative: float | None = None
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """How strictly an answer is held against its gold (docs/equivalence.md).

    extraction: "boxed" reads a box or an answer block only; "lenient" also reads "the answer is ..." and kin.
    gold_from: "auto" finds the answer inside a worked gold; "literal" takes the whole gold.
    echo_guard: an answer copied from the prompt is not paid.
    rounded_gold: an exact answer may meet a gold that is its rounding.
    require_evaluated: refuse unevaluated closed forms such as 2^10 or C(14,3).
    tolerance: numeric tolerance of the data set, None for exact.
    on_answer_timeout: verdict for an answer whose judging ran out of time twice.
    template: layout that the format reward demands.
    language_part: text whose language is measured.
    """

    extraction: Extraction = "boxed"
    gold_from: GoldFrom = "auto"
    echo_guard: bool = True
    rounded_gold: bool = True
    require_evaluated: bool = False
    tolerance: Tolerance | None = None
    on_answer_timeout: OnTimeout = "incorrect"
    template: Template = "think"
    language_part: LanguagePart = "thinking"
