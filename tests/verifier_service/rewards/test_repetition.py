import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.rewards import repetition

PROSE = (
    "First we add both sides of the equation and divide by two. The remainder is then an even number, "
    "since every square of an odd number leaves one when divided by four. Hence no such pair exists."
)


def value(text: str) -> float:
    score = repetition.score(text).value
    assert score is not None
    return score


@pytest.mark.parametrize(
    "text", ["", "5", "So it is 42.", PROSE, "x=1, y=2, z=3", "设函数在该点连续，求其最大值和最小值。"]
)
def test_text_that_repeats_nothing_scores_zero(text: str) -> None:
    assert value(text) == 0.0


@pytest.mark.parametrize(
    "loop",
    [
        "The answer is 5. ",
        "所以答案是五。",
        "ดังนั้นคำตอบคือห้า ",
        "no ",
        "x=1, ",
        "Wait, let me check that again.\n",
    ],
)
def test_a_loop_is_punished_the_more_the_longer_it_runs(loop: str) -> None:
    values = [value(PROSE + loop * times) for times in (1, 4, 16, 64, 256)]
    assert values == sorted(values, reverse=True)
    assert values[0] > -0.1
    assert values[-1] < -0.8


def test_a_phrase_said_again_costs_its_share() -> None:
    words = [f"w{number}" for number in range(100)]
    # 20 of the 113 phrases of eight words lie in the part that is said again, seven of them across its edge.
    assert value(" ".join(words + words[40:60])) == pytest.approx(-13 / 113)


def test_letter_case_and_spacing_hide_nothing() -> None:
    assert value("We add ONE to both sides here. " * 4) == value("we  add one to both\nsides here. " * 4)


def test_short_loops_count_too() -> None:
    assert value("no no no no") < -0.5


@given(st.text())
def test_every_text_scores_between_minus_one_and_zero(text: str) -> None:
    assert -1.0 <= value(text) <= 0.0


@pytest.mark.parametrize("unit", ["a ", "字", "ก", "%", "x", "ab cd "])
def test_a_megabyte_takes_well_under_a_second(unit: str) -> None:
    start = time.process_time()
    value(unit * (1_000_000 // len(unit)))
    assert time.process_time() - start < 1.0


def test_long_prose_of_random_words_stays_near_zero() -> None:
    words = random.Random(1).choices([f"word{number}" for number in range(500)], k=5000)
    assert value(" ".join(words)) > -0.001
