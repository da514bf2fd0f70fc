"""What stands between two boxes, and the name before one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.extraction.links import Link, label_before, link_between

# fmt: off
BESIDE = [
    "", " ", ", ", " or ", " and ", r" \text{ or } ", r"\quad\text{or}\quad", ", or ", "; ", " / ", "\n\n", ". ",
    "、", "或", " 或者 ", "和", " und ", " oder ", " et ", " ou ", " y ", " o ", " e ", " или ", " または ",
    " 또는 ", r" \lor ", "</answer><answer>", "<br>", ", or maybe ", " or it could be ", ". Alternatively, ",
    " or the answer is ", " cm or ", r"\text{ cm or }", "\x1b[0m ", "\n2. ", "$ or $", " &nbsp; ",
    r"\hspace{1cm}", " " * 5_000,
]
LINKED = [" and the product is ", " (b) ", "; the second: ", " apples and ", " = ", " while the width is "]
APART = [
    ". Wait, ", ", no, ", " but actually ", "? Hmm. ", "，不对，应该是", ", nein, ", " — perdón, ",
    ". It is rather ", ". The perimeter is ", ", so ", r" \implies ", " → ", "\n\n**Final Answer**\n", "。所以",
    " plus all of the many further words that nobody counts here ",
]
# fmt: on


@pytest.mark.parametrize(
    "gap, link",
    [(gap, "beside") for gap in BESIDE]
    + [(gap, "linked") for gap in LINKED]
    + [(gap, "apart") for gap in APART],
)
def test_a_gap_joins_links_or_parts(gap: str, link: Link) -> None:
    assert link_between(gap, "", "") == link


@pytest.mark.parametrize("gap", [", ", " and ", r" \\ ", ". ", "\n- "])
def test_another_name_links_and_the_same_name_offers_an_alternative(gap: str) -> None:
    assert link_between(gap, "y", "x") == "linked"
    assert link_between(gap, "y", "") == "linked"
    assert link_between(gap, "x", "x") == "beside"
    assert link_between(gap, "", "x") == "beside"


@given(
    st.sampled_from(BESIDE),
    st.lists(st.sampled_from([" ", "\n", ",", r"\,", "$", "~"]), max_size=8).map("".join),
)
def test_spaces_and_marks_do_not_part(gap: str, filling: str) -> None:
    assert link_between(filling + gap + filling, "", "") == "beside"


@given(st.text())
def test_every_gap_is_told(gap: str) -> None:
    assert link_between(gap, "", "") in ("beside", "linked", "apart")


@pytest.mark.parametrize(
    "before, label",
    [
        ("Hence $x=", "x"),
        ("x_1 = ", "x_1"),
        ("x_{10} = ", "x_{10}"),
        ("so $f(2)=", "f(2)"),
        ("$f'(x) = ", "f'(x)"),
        ("$(x, y)=", "(x, y)"),
        (r"\(\alpha = ", r"\alpha"),
        (r"\angle ABC = ", r"\angle ABC"),
        ("AB = ", "AB"),
        (r"P(A \cap B) = ", r"P(A \cap B)"),
        (r"\vec{v} = ", r"\vec{v}"),
        (r"x &= ", "x"),
        (r"1 \\ y = ", "y"),
        (r"$x$ = $", "x"),
        ("**x** = ", "x"),
        ("- x = ", "x"),
        ("x: ", "x"),
        ("the value of $n$ is $", "n"),
        ("x等于", "x"),
        (r"\text{ and }y=", "y"),
        (r"y \approx ", "y"),
        # no names, but parts of expressions and sentences
        ("x + y = ", ""),
        ("2x = ", ""),
        ("2 x = ", ""),
        ("x y = ", ""),
        (r"\sin x = ", ""),
        ("x^{2} y = ", ""),
        ("3 - x = ", ""),
        ("z = y = ", ""),
        ("n! = ", ""),
        ("|x| = ", ""),
        ("x = -", ""),
        ("x = 2 + ", ""),
        ("a is ", ""),
        ("A: ", ""),
        ("The answer is ", ""),
        ("answer = ", ""),
        ("", ""),
    ],
)
def test_the_name_before_a_box(before: str, label: str) -> None:
    text = before + r"\boxed{5}"
    found, start = label_before(text, 0, len(before))
    assert found == label
    assert text[start:].startswith(label) if label else start == len(before)


def test_a_name_ends_where_the_box_before_it_ends() -> None:
    text = r"\boxed{x}=\boxed{5}"
    assert label_before(text, text.index("="), text.rindex("\\")) == ("", text.rindex("\\"))


@given(st.text(st.sampled_from("x_{}()=$ ,\\'12fA:is*&"), max_size=100))
def test_a_name_lies_before_its_box(before: str) -> None:
    label, start = label_before(before, 0, len(before))
    assert 0 <= start <= len(before)
    assert label in before[start:]
