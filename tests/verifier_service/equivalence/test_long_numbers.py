"""Numbers of more digits than Python writes in decimal are judged like others: nothing raises, near ones differ."""

import time

import pytest

from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, decide

DIGITS = "7" * 4_400
FORMS = [
    "x+{}",
    "{}",
    "-{}",
    "0.{}",
    "\\frac{{{}}}{{7}}",
    "{}!",
    "\\sqrt{{{}}}",
    "x^{{{}}}",
    "\\log_{{{}}} x",
    "{}i",
    "{}_{{16}}",
    "\\frac{{\\pi}}{{4}}+{}k\\pi",
    "x={},y=2",
    "\\pm {}",
    "{}:30",
    "{}万",
    "(1,{})\\cup(3,\\infty)",
    "0.\\overline{{{}}}",
]
GOLDS = ["5", "x^2+1", "x+1", "101_3", "50\\%", "2x+1=0", "(1,2]", "\\{1,2\\}", "\\frac{\\pi}{4}+k\\pi", "B"]


def verdict(gold: str, answer: str) -> str | None:
    return decide(Gold(any_of=(gold,)), Offered((Part(answer),), 1, "box"), Rules(), Context()).verdict


@pytest.mark.parametrize("form", FORMS)
def test_a_long_number_is_a_wrong_answer_and_no_fault_of_ours(form: str) -> None:
    answer = form.format(DIGITS)
    assert [verdict(gold, answer) for gold in GOLDS] == ["incorrect"] * len(GOLDS)


def test_long_numbers_are_told_apart() -> None:
    assert verdict(f"x+{DIGITS}", f"{DIGITS}+x") == "correct"
    assert verdict(f"x+{DIGITS}", f"{DIGITS[:-1]}8+x") == "incorrect"


@pytest.mark.parametrize("part", ["1", "(", "a", "√", "\\( ", "1.", "aa-"])
def test_formulas_of_a_long_prompt_are_found_in_no_time(part: str) -> None:
    context = Context(prompt=(part * 20_000)[:20_000])
    start = time.process_time()
    decide(Gold(any_of=("5",)), Offered((Part("2+3"),), 1, "box"), Rules(), context)
    assert time.process_time() - start < 1
