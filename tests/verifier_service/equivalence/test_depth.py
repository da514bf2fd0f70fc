"""Trees as deep as their tokens allow are refused, whatever builds the depth; nothing overflows the stack."""

import pytest

from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, decide
from verifier_service.equivalence.slow_path import CLOSED

TIMES = 900
DEEP = [
    "\\frac" * TIMES + "12",
    "\\sqrt" * TIMES + "7",
    "\\bar" * TIMES + "x",
    "\\binom" * TIMES + "12",
    "\\sin" * TIMES + "x",
    "7" + "!" * TIMES,
    "7" + "^\\circ" * TIMES,
    "7" + "\\%" * TIMES,
    "1" + "/1" * TIMES,
    "A" + "\\cup A" * TIMES,
    "2" + "^-2" * TIMES,
    "2*" + "-" * TIMES + "3",
    "-" * TIMES + "8",
    "(" * TIMES + "1+1" + ")" * TIMES,
    "|" * TIMES + "1",
]


@pytest.mark.parametrize("text", DEEP, ids=lambda text: text[:6])
@pytest.mark.parametrize("other", ["5", "x+1", "(1,2)"])
def test_a_deep_text_is_wrong_as_an_answer_and_no_overflow_as_a_gold(text: str, other: str) -> None:
    decision = decide(Gold(any_of=(other,)), Offered((Part(text),), 1, "box"), Rules(), Context())
    assert decision.verdict == "incorrect"
    as_gold = decide(
        Gold(any_of=(text,)), Offered((Part(other),), 1, "box"), Rules(), Context(), slow_path=CLOSED
    )
    assert not as_gold.is_correct
