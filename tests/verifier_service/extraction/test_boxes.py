"""Boxes in a text, however the braces stand."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.extraction import boxes
from verifier_service.extraction.boxes import find_boxes, is_blank_tex

BALANCED = st.recursive(
    st.sampled_from(["5", "x+1", r"\frac", r"\{", r"\}", r"\\", "%", " ", "$"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda pieces: "{" + "".join(pieces) + "}"),
    max_leaves=12,
)
SOUP = st.lists(
    st.sampled_from(
        ["\\boxed", "\\fbox", "{", "}", "\\{", "\\}", "\\", "$", " ", "5", "x", "as", "\n", "\\phantom{"]
    ),
    max_size=25,
).map("".join)


def texts(text: str) -> list[str]:
    return [box.text for box in find_boxes(text).complete]


@given(SOUP)
def test_boxes_are_in_order_apart_and_where_they_say(text: str) -> None:
    found = find_boxes(text)
    ends = 0
    for box in found.complete:
        assert ends <= box.start < box.content_start <= box.content_end <= box.end
        assert text.startswith(("\\boxed", "\\fbox"), box.start) or text.startswith("\\", box.start)
        content = text[box.content_start : box.content_end]
        assert box.text == content or "box" in content
        ends = box.end
    assert found.cut_at is None or 0 <= found.cut_at < len(text)


@given(BALANCED)
def test_balanced_content_comes_out_as_it_is(content: str) -> None:
    assert texts(f"So $\\boxed{{{content}}}$ and more}}") == [content.strip()]


@given(SOUP)
def test_blankness_is_told_of_any_text(text: str) -> None:
    if is_blank_tex(text):
        assert not re.search(r"\d|x|as", re.sub(r"\\phantom\{.*", "", text, flags=re.DOTALL))


@pytest.mark.parametrize(
    "text, content",
    [
        (r"\boxed{42}", "42"),
        (r"\fbox{42}", "42"),
        (r"\boxed {42}", "42"),
        ("\\boxed\n{ 42 }", "42"),
        (r"\\boxed{42}", "42"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{a \\ b\\}", r"a \\ b\\"),
        (r"\boxed{50%}", "50%"),
        (r"$\boxed{$42$}$", "$42$"),
        (r"\boxed{\boxed{42}}", "42"),
        (r"\boxed{$\fbox{ \boxed{42} }$}", "42"),
        (r"\boxed{x = \boxed{42}}", "x = {42}"),
        (r"\boxed{\boxed{1}, \boxed{2}}", "{1}, {2}"),
        (r"\boxed 5", "5"),
        (r"$\boxed 5$.", "5"),
        (r"So \boxed 3.75.", "3.75"),
        (r"\boxed -12, as asked", "-12"),
        (r"\boxed A.", "A"),
        (r"\boxed\frac{1}{2} is it", r"\frac{1}{2}"),
        (r"{\boxed 5}", "5"),
        (r"\(\boxed 5\)", "5"),
    ],
)
def test_one_box_and_what_is_in_it(text: str, content: str) -> None:
    found = find_boxes(text)
    assert [box.text for box in found.complete] == [content]
    assert found.cut_at is None


@pytest.mark.parametrize(
    "text", ["boxed{5}", r"\boxes{5}", r"\boxedx{5}", r"as \boxed asks", r"\boxed a lot", r"\mbox{5}"]
)
def test_what_only_looks_like_a_box_is_none(text: str) -> None:
    found = find_boxes(text)
    assert (found.complete, found.cut_at) == ((), None)


@pytest.mark.parametrize(
    "text, complete, cut_at",
    [
        (r"\boxed{42", [], 0),
        (r"\boxed{\frac{3}{4}", [], 0),
        (r"\boxed{42\}", [], 0),
        (r"\boxed", [], 0),
        (r"\boxed{1} \boxed{2", ["1"], 10),
        (r"\boxed{1 \boxed{2} \boxed{3", ["2"], 19),
        (r"\boxed{1 and then \boxed{2}", ["2"], 0),
    ],
)
def test_a_box_that_never_closes_is_cut(text: str, complete: list[str], cut_at: int) -> None:
    assert texts(text) == complete
    assert find_boxes(text).cut_at == cut_at


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n",
        r"\quad",
        r"\,",
        "~",
        "$ $",
        "{}",
        r"\text{ }",
        r"\hspace{1cm}",
        r"\phantom{\frac{1}{2}}",
        "...",
        r"\ldots",
        "___",
    ],
)
def test_nothing_to_see_is_blank(content: str) -> None:
    assert is_blank_tex(content)


@pytest.mark.parametrize(
    "content", ["0", r"\{\}", "-", r"\phantom{4}2", r"\emptyset", "\x00", r"\text{a}", r"\quadx"]
)
def test_the_least_to_see_is_not_blank(content: str) -> None:
    assert not is_blank_tex(content)


class Counted:
    """A pattern that counts the matches it gives away."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.matches = 0

    def finditer(self, text: str, *span: int) -> Iterator[re.Match[str]]:
        for match in self.pattern.finditer(text, *span):
            self.matches += 1
            yield match


@pytest.mark.parametrize("shape", ["{box}x", "{box}", "{box}}}{box}", "{box}{{", "{box}5}} "])
def test_every_brace_is_read_once(monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    counted = Counted(boxes._TOKEN)
    monkeypatch.setattr(boxes, "_TOKEN", counted)
    text = shape.format(box="\\boxed{") * 2_000 + "7"
    find_boxes(text)
    assert counted.matches <= sum(map(text.count, "{}"))


@pytest.mark.parametrize(
    "text",
    [
        "\\boxed{" * 100_000,
        "\\boxed{" * 100_000 + "7" + "}" * 100_000,
        "\\boxed{x" * 100_000 + "7" + "}" * 100_000,
        "\\boxed " * 100_000,
        "\\boxed{" + "\\phantom{" * 100_000 + "}" * 100_001,
        "\\boxed{" + " " * 1_000_000 + "}",
        "\\" * 1_000_000,
    ],
    ids=["unclosed", "nested", "nested beside letters", "bare", "phantoms", "spaces", "backslashes"],
)
def test_hostile_nesting_ends(text: str) -> None:
    """A scan for each box of its own would take an hour here."""
    for box in find_boxes(text).complete:
        is_blank_tex(box.text)
