"""Answers that are words: families of meaning, prose, placeholders, option letters."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.equivalence.kinds import phrases
from verifier_service.equivalence.kinds.words import (
    Choice,
    canonical_text,
    choice,
    choice_letter,
    choice_letters,
    family,
    is_placeholder,
    is_prose,
    same_family,
    same_text,
)

FAMILIES = [
    ("Yes.", "yes"),
    ("NO", "no"),
    ("sí", "yes"),
    ("是", "yes"),
    ("нет", "no"),
    ("It is true.", "true"),
    ("not true", "false"),
    ("There are no real solutions", "no_solution"),
    ("The system has no solution.", "no_solution"),
    ("no integer roots exist", "no_solution"),
    ("no such function exists", "no_solution"),
    ("no hay soluciones", "no_solution"),
    ("Keine Loesung", None),
    ("keine Lösungen", "no_solution"),
    ("方程无解", "no_solution"),
    ("none", "none"),
    ("d.n.e.", "does_not_exist"),
    ("The limit doesn’t exist", "does_not_exist"),
    ("not defined", "undefined"),
    ("The slope is undefined", "undefined"),
    ("infinitely many solutions", "infinitely_many"),
    ("There are infinitely many primes.", "infinitely_many"),
    ("plus infinity", "infinity"),
    ("negative infinity", "minus_infinity"),
    ("the set of all real numbers", "all_reals"),
    ("always true", "identity"),
    ("cannot be determined", "undetermined"),
    ("None of the above", "none_of_these"),
    ("no solution or 4", None),
    ("not a right triangle", None),
    ("nonesuch", None),
    ("yes and no", None),
    ("", None),
]


@pytest.mark.parametrize("text, expected", FAMILIES)
def test_a_phrase_belongs_to_its_family(text: str, expected: str | None) -> None:
    assert family(text) == expected


@pytest.mark.parametrize("name", phrases.PHRASES)
def test_every_phrase_of_the_table_is_found_and_nothing_longer_is(name: str) -> None:
    for phrase in phrases.PHRASES[name].split("|"):
        assert family(phrase.capitalize() + ".") == family(phrase) == name
        assert family(phrase + " banana") is None
        assert family("banana " + phrase) is None


SAME = [
    ("no solution", "none", True),
    ("no solution", "does not exist", True),
    ("does not exist", "undefined", True),
    ("no solution", "undefined", False),
    ("does not exist", "infinity", False),
    ("infinitely many", "infinity", True),
    ("infinity", "negative infinity", False),
    ("yes", "true", True),
    ("yes", "no", False),
    ("true", "no", False),
    ("all real numbers", "infinitely many", False),
    ("A right triangle", "right triangle.", True),
    ("right triangle", "not a right triangle", False),
    ("right triangle", "righttriangle", True),
    ("co-prime", "co prime", True),
    ("a-b", "a b", False),
    ("1 2", "12", False),
    ("Plan A", "plan", False),
    ("elbow", "below", False),
]


@pytest.mark.parametrize("gold, answer, expected", SAME)
def test_texts_are_the_same_or_not_from_either_side(gold: str, answer: str, expected: bool) -> None:
    assert same_text(gold, answer) is expected
    assert same_text(answer, gold) is expected


def test_no_family_is_akin_to_its_opposite() -> None:
    opposites = [("yes", "no"), ("true", "false"), ("even", "odd"), ("converges", "diverges")]
    assert not any(same_family(one, other) for one, other in opposites)
    assert not same_family(None, None)


@given(st.text())
def test_canonical_text_is_final_and_never_raises(text: str) -> None:
    once = canonical_text(text)
    assert canonical_text(once) == canonical_text(canonical_text(once))
    family(text)


@given(st.text(alphabet="abAB \t.,'\""), st.text(alphabet="abAB \t.,'\""))
def test_sameness_does_not_depend_on_the_side(first: str, second: str) -> None:
    assert same_text(first, second) == same_text(second, first)


PROSE = [
    ("The last column must not be a pivot column.", True),
    ("Multiply both sides by the inverse and then compare the two rows", True),
    ("right triangle", False),
    ("There are infinitely many solutions to the equation", False),
    ("one million two hundred thirty-four thousand five hundred sixty-seven", False),
    ("Alice, Bob, Carol, Dan, Eve, Frank, Grace", False),
    ("ab + cd + ef + gh + ij + kl + mn + op", False),
    (r"$\frac{1}{2}$ and $\sqrt{3}$ and $x$ and $y$ and $z$ and $w$ and $u$", False),
    ("因为三角形的两个底角相等所以这个三角形一定是等腰三角形而且也是锐角三角形", True),
    ("等腰三角形", False),
]


@pytest.mark.parametrize("text, expected", PROSE)
def test_prose_is_told_from_answers(text: str, expected: bool) -> None:
    assert is_prose(text) is expected


PLACEHOLDERS = (
    r"|  |N/A|n/a|\text{N/A}|**N/A**|(N/A)|$N/A$|N\!/\!A|nan|NaN|NA|null|see figure|See Figure 3.2|\text{see graph}|"
    r"refer to the diagram|Proof.|\textbf{proof omitted}|answers may vary|Answers will vary.|略|见解析|证明略|如图|-|—|"
    r"?|...|{}|$$|\boxed{}|\text{}|[]|TBD|no answer|not provided|unknown|<image>"
)


@pytest.mark.parametrize("gold", PLACEHOLDERS.split("|"))
def test_a_placeholder_is_no_answer(gold: str) -> None:
    assert is_placeholder(gold)


@pytest.mark.parametrize(
    "gold",
    [
        *r"0 x -5 none None \emptyset \{\} < > = + \infty Na n+a \frac{n}{a} no undefined".split(" "),
        "no solution",
        "does not exist",
        "cannot be determined",
        "proof by contradiction of 5",
        "无解",
        r"\text{proof}=5",
    ],
)
def test_an_answer_is_no_placeholder(gold: str) -> None:
    assert not is_placeholder(gold)


CHOICES = [
    ("B", "B", "", False),
    ("b", "B", "", False),
    ("(B)", "B", "", True),
    ("[C]", "C", "", True),
    ("B.", "B", "", True),
    ("B)", "B", "", True),
    ("（Ｂ）", None, "", False),
    ("（B）", "B", "", True),
    ("C: the mode falls", "C", "the mode falls", True),
    ("(C) 19", "C", "19", True),
    ("(C)19", "C", "19", True),
    (r"D. \frac{1}{2}", "D", r"\frac{1}{2}", True),
    ("option B", "B", "", True),
    ("Choice (D)", "D", "", True),
    ("The answer is B", "B", "", True),
    ("答案：C", "C", "", True),
    ("选B", "B", "", True),
    ("BELOW", None, "", False),
    ("B or C", None, "", False),
    ("B. 5 or C. 6", None, "", False),
    ("B. or C", None, "", False),
    ("A:B", None, "", False),
    ("A: B", None, "", False),
    ("A:5", None, "", False),
    ("f(B)", None, "", False),
    ("(C)x", None, "", False),
    ("(x)", None, "", False),
    ("Don't know", None, "", False),
    ("A man", None, "", False),
    ("B-5", None, "", False),
]


@pytest.mark.parametrize("text, letter, rest, marked", CHOICES)
def test_an_option_is_read_with_its_text(text: str, letter: str | None, rest: str, marked: bool) -> None:
    found = choice(text)
    assert choice_letter(text) == letter
    if letter is not None:
        assert found is not None
        assert (found.text, found.marked) == (rest, marked)


@given(
    st.sampled_from("ABCDEFGH"),
    st.sampled_from(("{}", "({})", "{}.", "{})", "Option {}", "{}: the first one")),
)
def test_every_way_of_naming_an_option_names_it(letter: str, form: str) -> None:
    assert choice_letter(form.format(letter)) == letter


@given(st.sampled_from("ABCDE"), st.sampled_from("ABCDE"), st.sampled_from((" or ", " and ", ", ", "/", " ")))
def test_two_options_never_pass_for_one(first: str, second: str, joint: str) -> None:
    assert first == second or choice(f"({first}){joint}({second})") is None


def test_a_choice_keeps_what_was_written() -> None:
    assert choice("b") == Choice("B", "", False, "b")


SEVERAL = [
    ("A, C", ("A", "C")),
    ("C and A", ("A", "C")),
    ("A, B, and D", ("A", "B", "D")),
    ("(A)(C)", ("A", "C")),
    ("A，C", ("A", "C")),
    ("A、C", ("A", "C")),
    ("ACD", ("A", "C", "D")),
    (r"\{A, C\}", ("A", "C")),
    ("A C", ("A", "C")),
    ("BAD", None),
    ("CA", None),
    ("AA", None),
    ("A, A", None),
    ("A", None),
    ("f(B)", None),
    ("A, 5", None),
    ("x, y", None),
]


@pytest.mark.parametrize("text, expected", SEVERAL)
def test_several_options_are_a_sorted_tuple(text: str, expected: tuple[str, ...] | None) -> None:
    assert choice_letters(text) == expected


@given(st.text())
def test_no_text_raises(text: str) -> None:
    is_prose(text)
    is_placeholder(text)
    choice(text)
    choice_letters(text)


@pytest.mark.parametrize(
    "unit", ["a ", "(", "A, ", "$", "\\text{", "no ", "see ", "-", "无", "A.", "'", "\\("]
)
def test_long_hostile_text_takes_one_pass(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    for function in (canonical_text, family, is_prose, is_placeholder, choice, choice_letters):
        function(text)
    assert time.process_time() - start < 1.5
