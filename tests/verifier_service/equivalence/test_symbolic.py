"""The slow path: what sympy decides, and what never reaches it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_service.equivalence.symbolic import readable, symbolic_equal

EQUAL = [
    (r"\int_0^1 x dx", r"\frac12"),
    (r"\sum_{n=1}^{\infty}\frac{1}{n^2}", r"\frac{\pi^2}{6}"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"\lim_{x\to 0}\frac{\sin x}{x}", "1"),
    (r"\sqrt2+\sqrt3", r"\sqrt{5+2\sqrt6}"),
    (r"\left(\frac{1}{2}\right)^2", "0.25"),
    (r"\sqrt{x}\sqrt{y}", r"\sqrt{xy}"),
    (r"\sqrt{x^2}", "|x|"),
    (r"\binom{n}{2}", r"\frac{n(n-1)}{2}"),
    ("(n+1)!", "(n+1) n!"),
    ("i^2", "-1"),
    (r"\log x", r"\ln x"),
    ("x=5", "5"),
    ("2x=10", "x=5"),
    ("-x<-3", "x>3"),
    (r"\{1,2\}", r"\{2,\frac{2}{2}\}"),
    (r"(-\infty,2)\cup(3,4]", r"(3,4]\cup(-\infty,2)"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&\frac{8}{2}\end{pmatrix}"),
    ("1{,}000", "1000"),
]
DIFFERENT = [
    ("0.333", r"\frac{1}{3}"),
    (r"\sqrt2", "1.41421356237309504880"),
    (r"\sqrt{x^2}", "x"),
    ("x", "y"),
    ("a", "A"),
    ("x>3", "x<3"),
    ("x>3", r"x\ge 3"),
    ("[1,2)", "[1,2]"),
    (r"\{1,2\}", r"\{1,3\}"),
    (r"\{1,2\}", r"\{1,2,3\}"),
    (r"\infty", "5"),
    (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
]
UNDECIDED = [
    ("1=1", "2=2"),
    ("x=1", "x^2=1"),
    ("ELBOW", "BELOW"),
    ("hello", "x"),
    ("2 3", "5"),
    ("A^T", "A"),
    ("((x", "x"),
    ("", "x"),
    (r"\text{five}", "5"),
]


@pytest.mark.parametrize("gold, answer", EQUAL)
def test_equal_formulas_are_equal_from_either_side(gold: str, answer: str) -> None:
    assert symbolic_equal(gold, answer).equal is True
    assert symbolic_equal(answer, gold).equal is True


@pytest.mark.parametrize("gold, answer", DIFFERENT)
def test_different_formulas_are_different_from_either_side(gold: str, answer: str) -> None:
    assert symbolic_equal(gold, answer).equal is False
    assert symbolic_equal(answer, gold).equal is False


@pytest.mark.parametrize("gold, answer", UNDECIDED)
def test_what_cannot_be_told_is_undecided_with_a_reason(gold: str, answer: str) -> None:
    found = symbolic_equal(gold, answer)
    assert found.equal is None
    assert found.reason


MONSTERS = [
    "10^{10^{10}}",
    "9^{9^9}",
    "2**(3**(4**5))",
    "x^{20000}",
    "(10^9)!",
    "10000!",
    "5!!!!",
    r"\binom{100000}{50000}",
    r"\sum_{n=1}^{1000000} n",
    "1" * 101,
    "(" * 41 + "x" + ")" * 41,
    "x+" * 700 + "x",
    "__import__('os')",
    "x; y",
    "\x00",
]


@pytest.mark.parametrize("tex", MONSTERS)
def test_a_monster_is_refused_before_any_library_sees_it(tex: str) -> None:
    start = time.process_time()
    assert not readable(tex)
    assert symbolic_equal(tex, "1").equal is None
    assert time.process_time() - start < 0.5


@settings(max_examples=40, deadline=None)
@given(st.integers(-9, 9), st.integers(1, 9), st.integers(1, 5), st.integers(-9, 9))
def test_an_expanded_square_stays_equal_and_a_changed_one_does_not(
    a: int, b: int, power: int, shift: int
) -> None:
    gold = f"(x+({a}))^2/{b}+y^{{{power}}}"
    answer = f"\\frac{{x^2+({2 * a})x+{a * a}}}{{{b}}}+y^{{{power}}}"
    assert symbolic_equal(gold, answer).equal is True
    assert symbolic_equal(gold, f"{answer}+({shift})").equal is (shift == 0)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30) | st.text(alphabet=r"\fracsqt{}()[]^_+-=<>x12,|!&. ", max_size=20))
def test_no_text_raises(text: str) -> None:
    assert isinstance(readable(text), bool)


@pytest.mark.parametrize("tex", ["e$", "$x", "x+$1"])
def test_a_dollar_that_delimits_nothing_is_no_formula(tex: str) -> None:
    assert not readable(tex)
