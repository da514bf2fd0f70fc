"""What holds of any two answers: made by grammar, respelled, perturbed, swapped, and broken."""

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tools.expressions import KINDS, Style, answer, equal_answer, other_answer
from tools.expressions.pairs import generated_pairs
from tools.expressions.spelling import as_decimal, as_fraction, as_mixed, plus_sign, thousands
from verifier_service.equivalence import (
    Context,
    Decision,
    Gold,
    Offered,
    Part,
    Rules,
    Tolerance,
    check_gold,
    decide,
    explain,
)

RULES = Rules()
NO_CONTEXT = Context()
SEEDS = st.integers(0, 10**9)
# Kinds whose answers a person may also write without TeX.
PLAIN_KINDS = ("scalar", "expression", "polynomial", "tuple", "assignment", "equation")
# A reproducible run of fixed size: CI looks for regressions, the bench for news.
settings.register_profile("equivalence", derandomize=True, deadline=None, max_examples=150)
judging = settings(
    settings.get_profile("equivalence"),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def judged(gold: str, offered: str, rules: Rules = RULES, prompt: str = "") -> Decision:
    return decide(Gold(any_of=(gold,)), Offered((Part(offered),), 1, "box"), rules, Context(prompt=prompt))


def verdict_of(gold: str, offered: str, prompt: str = "") -> str | None:
    return judged(gold, offered, prompt=prompt).verdict


# -- answers made by grammar


@judging
@given(SEEDS, st.sampled_from(KINDS))
def test_an_answer_equals_itself(seed: int, kind: str) -> None:
    text = answer(Random(seed), kind).written(Random(seed))
    assert verdict_of(text, text) == "correct"


@judging
@given(SEEDS, st.sampled_from(KINDS))
def test_another_spelling_is_the_same_answer(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    assert verdict_of(made.written(rng), made.written(rng)) == "correct"


@judging
@given(SEEDS, st.sampled_from(PLAIN_KINDS))
def test_plain_notation_is_the_same_answer(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    assert verdict_of(made.written(rng), made.written(rng, Style(plain=True))) == "correct"


@judging
@given(SEEDS, st.sampled_from(KINDS))
def test_a_law_of_arithmetic_keeps_the_answer(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    gold = made.written(rng)
    assert verdict_of(gold, equal_answer(equal_answer(made, rng), rng).written(rng)) == "correct"


@judging
@given(SEEDS, st.sampled_from(KINDS))
def test_another_value_is_never_paid(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    assert verdict_of(made.written(rng), other_answer(made, rng).written(rng)) == "incorrect"


@judging
@given(SEEDS, st.sampled_from(("tuple", "matrix")))
def test_places_matter_where_the_answer_is_ordered(seed: int, kind: str) -> None:
    rng = Random(seed)
    made = answer(rng, "tuple")
    turned = type(made)(made.kind, made.parts[::-1])
    assert verdict_of(made.written(rng), turned.written(rng)) == "incorrect"


# -- numbers

NUMBERS = st.fractions(max_denominator=400).filter(lambda number: abs(number) < 10**9)
OFFSETS = st.one_of(
    st.integers(-1000, 1000).map(Fraction),
    st.fractions(max_denominator=10**6),
    st.integers(1, 60).map(lambda digits: Fraction(1, 10**digits)),
).filter(bool)


def tex(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator)
    sign = "-" if number < 0 else ""
    return f"{sign}\\frac{{{abs(number.numerator)}}}{{{number.denominator}}}"


@judging
@given(NUMBERS, OFFSETS)
@example(Fraction(0), Fraction(1, 10**60))
@example(Fraction(10**8), Fraction(1))
def test_a_changed_number_is_never_paid(gold: Fraction, offset: Fraction) -> None:
    assert verdict_of(tex(gold), tex(gold + offset)) == "incorrect"


@judging
@given(NUMBERS, OFFSETS)
def test_a_changed_number_is_never_paid_inside_a_surd(gold: Fraction, offset: Fraction) -> None:
    assert verdict_of(f"{tex(gold)}+\\sqrt{{2}}", f"\\sqrt{{2}}+{tex(gold + offset)}") == "incorrect"


@judging
@given(NUMBERS, st.sampled_from((as_decimal, as_fraction, as_mixed, thousands, plus_sign)), SEEDS)
def test_a_number_is_the_same_in_every_spelling(
    number: Fraction, spell: Callable[[str, Random], str | None], seed: int
) -> None:
    spelled = spell(tex(number), Random(seed))
    if spelled is not None:
        assert verdict_of(tex(number), spelled) == "correct"
        assert verdict_of(spelled, tex(number)) == "correct"


@judging
@given(st.integers(2, 11), st.integers(1, 10**6), st.integers(2, 997))
def test_an_exact_gold_takes_no_rounding(digits: int, top: int, bottom: int) -> None:
    """Up to 14 significant digits; a correct rounding to 15 is taken for the value itself."""
    exact = Fraction(top, bottom) % 1000
    scaled = round(exact * 10**digits)
    if Fraction(scaled, 10**digits) != exact:
        decimal = f"{scaled // 10**digits}.{scaled % 10**digits:0{digits}}"
        assert verdict_of(tex(exact), decimal) == "incorrect"


@judging
@given(st.integers(1, 10**6), st.fractions(min_value=0, max_value=Fraction(1, 4), max_denominator=1000))
def test_a_tolerance_is_kept_to(gold: int, off: Fraction) -> None:
    rules = Rules(tolerance=Tolerance(absolute=0.125))
    wanted = "correct" if off <= Fraction(1, 8) else "incorrect"
    assert judged(str(gold), tex(gold + off), rules).verdict == wanted


# -- what TeX does not show


def _braced(text: str) -> str:
    return re.sub(r"\^(\d)(?!\d)", r"^{\1}", text)


# Each changes how an answer is typed and nothing that a reader sees.
INVISIBLE: list[Callable[[str], str]] = [
    lambda text: f" {text} ",
    lambda text: f"${text}$",
    lambda text: f"\\({text}\\)",
    lambda text: f"{{{text}}}",
    lambda text: f"\\, {text}\\;",
    lambda text: f"\\displaystyle {text}",
    lambda text: f"\u200b{text}",
    lambda text: f"{text}.",
    lambda text: text.replace("\\frac", "\\dfrac"),
    lambda text: text.replace(" ", "  "),
    lambda text: text.replace("=", " = ").replace(",", ", "),
    lambda text: text.replace("-", "−"),
    lambda text: text.replace("\\cdot", "\\times"),
    lambda text: text.replace("\\pi", "π"),
    _braced,
]


@judging
@given(SEEDS, st.sampled_from(KINDS), st.sampled_from(range(len(INVISIBLE))), st.booleans())
def test_what_a_reader_does_not_see_changes_no_verdict(seed: int, kind: str, at: int, equal: bool) -> None:
    rng = Random(seed)
    made = answer(rng, kind)
    gold = made.written(rng)
    offered = (equal_answer if equal else other_answer)(made, rng).written(rng)
    wanted = "correct" if equal else "incorrect"
    change = INVISIBLE[at]
    assert verdict_of(gold, change(offered)) == wanted
    assert verdict_of(change(gold), offered) == wanted
    assert verdict_of(change(gold), change(offered)) == wanted


# Each maps different values to different values, so that the verdict on the images is that on the originals.
INJECTIVE: list[tuple[str, Callable[[str], str]]] = [
    ("doubled", lambda text: f"2({text})"),
    ("moved", lambda text: f"({text})+\\sqrt{{3}}"),
    ("negated", lambda text: f"-({text})"),
    ("cubed", lambda text: f"({text})^3"),
    ("in a pair", lambda text: f"(7, {text})"),
    ("in a set", lambda text: f"\\{{{text}, \\pi^7\\}}"),
    ("named", lambda text: f"x = {text}"),
    ("an end", lambda text: f"(-\\infty, {text}]"),
    ("halved", lambda text: f"\\frac{{{text}}}{{2}}"),
    ("an entry", lambda text: f"\\begin{{pmatrix}} {text} \\\\ 1 \\end{{pmatrix}}"),
]


@judging
@given(SEEDS, st.sampled_from(range(len(INJECTIVE))), st.booleans())
def test_the_same_done_to_both_sides_keeps_the_verdict(seed: int, at: int, equal: bool) -> None:
    rng = Random(seed)
    made = answer(rng, "scalar")
    offered = (equal_answer if equal else other_answer)(made, rng)
    name, change = INJECTIVE[at]
    if name == "cubed" and not equal:
        change = INJECTIVE[0][1]  # a cube is injective on the reals, which roots of negatives may leave
    verdict = verdict_of(change(made.written(rng)), change(offered.written(rng)))
    assert verdict == ("correct" if equal else "incorrect"), name


@judging
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=6, unique=True), SEEDS)
def test_a_set_has_no_order_and_no_repeats(members: list[int], seed: int) -> None:
    turned = Random(seed).sample(members, len(members))
    gold = f"\\{{{', '.join(map(str, members))}\\}}"
    assert verdict_of(gold, f"\\{{{', '.join(map(str, [*turned, turned[0]]))}\\}}") == "correct"
    assert verdict_of(gold, f"\\{{{', '.join(map(str, turned[1:]))}\\}}") == "incorrect"


@judging
@given(st.lists(st.integers(-12, 12).filter(bool), min_size=2, max_size=5), SEEDS)
def test_terms_have_no_order(factors: list[int], seed: int) -> None:
    terms = [f"{factor:+}x^{power}" for power, factor in enumerate(factors, 1)]
    turned = Random(seed).sample(terms, len(terms))
    assert verdict_of("".join(terms), "".join(turned)) == "correct"
    assert verdict_of("".join(terms), "".join(turned) + "+1") == "incorrect"


# -- any text at all

ANY_TEXT = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="0123456789xyi+-*/^_{}()[]|\\,.;:=<>$%!& abcdfrtqgs\n", max_size=120),
    st.lists(
        st.sampled_from(
            r"\frac \sqrt \left( \right) \{ \} { } ( ) [ ] ^ _ 1 2 x \pi \infty , = < \le \cup | ! ' \text{a}"
            r" \begin{pmatrix} \end{pmatrix} & \\ \pm \sum \int \binom \log \sin ^\circ % $ \boxed{ / - + .".split(
                " "
            )
        ),
        max_size=40,
    ).map("".join),
)
PROMPTS = st.sampled_from(["", "What percent of x is y?", "Solve for x in order, in base two: $x^2=4$."])


@judging
@given(ANY_TEXT, ANY_TEXT, PROMPTS)
@example("x^3+6=0", "y=e+1", "")
@example(r"\sin(-1.4)", r"\sin(-1;4)", "")
@example("\ud800", "\x00", "")
@example("1" * 150, "9" * 150 + "!", "")
def test_no_text_raises(gold: str, offered: str, prompt: str) -> None:
    decision = judged(gold, offered, prompt=prompt)
    assert (decision.verdict is None) is (decision.code is not None)
    assert decision.verdict is not None or decision.code == "unverifiable_gold"
    check = check_gold(Gold(any_of=(gold,)), RULES, Context(prompt=prompt))
    assert check.ok is (decision.verdict is not None)
    assert explain(Gold(any_of=(gold,)), Offered((Part(offered),), 1, "box"), RULES, Context(prompt=prompt))


@judging
@given(ANY_TEXT)
def test_no_answer_makes_a_readable_gold_unverifiable(offered: str) -> None:
    assert verdict_of("42", offered) in ("correct", "incorrect", "no_answer")


@judging
@given(ANY_TEXT)
def test_a_gold_that_can_be_judged_equals_itself(text: str) -> None:
    decision = judged(text, text)
    assert decision.verdict in (None, "correct") or decision.method == "rule"


@pytest.mark.parametrize("seed", range(5))
def test_swapping_gold_and_answer_changes_no_verdict(seed: int) -> None:
    """1,000 pairs a seed; the bench swaps 200,000. Rules of form are one-directional by intent."""
    rules = Rules(rounded_gold=False)
    asymmetric = []
    for one, other in generated_pairs(1000, seed):
        there, back = judged(one, other, rules), judged(other, one, rules)
        if there.verdict is None or back.verdict is None or "rule" in (there.method, back.method):
            continue
        if there.is_correct != back.is_correct:
            asymmetric.append((one, other, there, back))
    assert not asymmetric
