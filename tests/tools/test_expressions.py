"""The maker of answers: the same seed the same answers, equal ones equal, near misses different, all checked apart."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.expressions import (
    KINDS,
    Style,
    answer,
    equal_answer,
    near_miss,
    other_answer,
    same_value,
    variants,
)
from tools.expressions.independent import evaluated_anywhere, split_top
from tools.expressions.pairs import generated_pairs
from tools.expressions.spelling import as_decimal, decimal_of, is_formula, reordered_sum, sized_brackets
from tools.expressions.trees import Call, Name, Num, Power, Product, Root, Sum, agree, number, value

SEEDS = st.integers(0, 10**6)

SAME = [
    (r"\frac14", "0.25"),
    (r"1\frac{4}{5}", "1.8"),
    ("(x+1)^2", "x^2+2x+1"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"\sqrt[3]{-8}", "-2"),
    (r"\left( 3, \frac{\pi}{2} \right)", r"(3,\pi/2)"),
    (r"\{1,2\}", r"\{2,1\}"),
    ("1{,}000", "1000"),
    (r"\log_2 8", "3"),
    ("√2", r"\sqrt{2}"),
]
DIFFERENT = [
    (r"\frac13", "0.333"),
    ("(x+1)^2", "x^2+2x"),
    ("(1,2)", "(2,1)"),
    (r"\{1,2\}", r"\{1,3\}"),
    ("x", "y"),
    ("-2", "2"),
    (r"\sqrt2", "1.41421356237309504880168872"),
    ("1,2,3", "1,2"),
]
UNREAD = [
    ("x=5", "x=6"),
    (r"\text{yes}", r"\text{no}"),
    ("1,2", "(1,2)"),
    ("f(x)=1", "2"),
    (r"\log 2", r"\log 3"),
]


@pytest.mark.parametrize("one, other", SAME)
def test_the_second_opinion_knows_equal_values(one: str, other: str) -> None:
    assert same_value(one, other) is True
    assert same_value(other, one) is True


@pytest.mark.parametrize("one, other", DIFFERENT)
def test_the_second_opinion_knows_different_values(one: str, other: str) -> None:
    assert same_value(one, other) is False
    assert same_value(other, one) is False


@pytest.mark.parametrize("one, other", UNREAD)
def test_the_second_opinion_leaves_open_what_it_cannot_read(one: str, other: str) -> None:
    assert same_value(one, other) is None


@given(SEEDS, st.sampled_from(KINDS))
def test_a_seed_makes_one_answer(seed: int, kind: str) -> None:
    first, second = (answer(Random(seed), kind) for _ in range(2))
    assert first == second
    assert first.written(Random(seed)) == second.written(Random(seed))


@given(SEEDS, st.sampled_from(KINDS))
def test_an_equal_answer_is_equal_and_another_is_not(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    for part, equal in zip(made.parts, equal_answer(made, rng).parts, strict=True):
        if kind != "equation":
            assert agree(part, equal) is not False
    other = other_answer(made, rng)
    changed = [agree(*both) is False for both in zip(made.parts, other.parts, strict=True)]
    assert other.marks != made.marks or sum(changed) == 1


@given(SEEDS)
def test_every_spelling_of_a_number_is_read_back_as_its_value(seed: int) -> None:
    rng = Random(seed)
    made = answer(rng, "scalar")
    found = [
        evaluated_anywhere(made.written(rng).replace("\\left", "").replace("\\right", "")) for _ in range(3)
    ]
    wanted = value(made.parts[0])
    for read_back in found:
        if read_back is not None:
            assert abs(read_back - wanted) <= abs(wanted) * 1e-12


@given(
    SEEDS, st.sampled_from(["0.75", "12", r"\frac{3}{8}", "x^2+3x-7", r"2\sqrt{3}+1", r"(1, \frac{1}{2})"])
)
def test_a_variant_is_another_text_of_the_same_value(seed: int, text: str) -> None:
    found = variants(text, Random(seed), 3)
    assert found
    for new, _ in found:
        assert new != text
        assert same_value(text, new) is not False


@given(
    SEEDS, st.sampled_from(["0.75", "12", r"\frac{3}{8}", "x^2+3x-7", r"2\sqrt{3}+1", r"(1, \frac{1}{2})"])
)
def test_a_near_miss_has_another_value(seed: int, text: str) -> None:
    found = near_miss(text, Random(seed))
    assert found is not None
    assert same_value(text, found[0]) is False


def test_a_text_without_a_token_to_change_has_no_near_miss() -> None:
    assert near_miss(r"\infty", Random(0)) is None


@given(st.fractions(max_denominator=5000))
def test_a_decimal_is_written_exactly_or_not_at_all(number_: Fraction) -> None:
    decimal = decimal_of(number_)
    rest = number_.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    assert (Fraction(decimal) == number_) if decimal is not None else (rest > 1 or number_.denominator > 4000)


def test_rewrites_keep_off_what_they_would_break() -> None:
    rng = Random(0)
    assert sized_brackets(r"\(1,2\)", rng) is None
    assert sized_brackets(r"\left(1,2\right)", rng) is None
    assert as_decimal(r"\frac{1}{3}", rng) is None
    assert reordered_sum("a=b+c", rng) is None
    assert not is_formula("no solution")
    assert is_formula(r"\frac{x}{2}")
    assert split_top("(1,2),(3,4)") == ["(1,2)", "(3,4)"]


def test_trees_have_the_values_of_arithmetic() -> None:
    two = number(2)
    assert value(Sum((two, Num(Fraction(1, 2))))) == 2.5
    assert value(Product((two, Power((number(3),), 2)))) == 18
    assert value(Root((number(-8),), 3)) == -2
    assert agree(Call((Name("x"),), "sin"), Call((Name("x"),), "cos")) is False
    assert value(Product((two, Power((number(0),), -1)))) is None


def test_plain_notation_holds_no_tex() -> None:
    for seed in range(200):
        rng = Random(seed)
        assert "\\" not in answer(rng, "expression").written(rng, Style(plain=True))


def test_generated_pairs_depend_on_the_seed_alone() -> None:
    assert list(generated_pairs(50, 7)) == list(generated_pairs(50, 7))
    assert list(generated_pairs(50, 7)) != list(generated_pairs(50, 8))
