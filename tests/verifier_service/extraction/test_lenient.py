"""Answers in no box, where a profile asks for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.extraction.lenient import find_unboxed


def found(text: str) -> tuple[str, str] | None:
    unboxed = find_unboxed(text)
    return None if unboxed is None else (text[unboxed.start : unboxed.end], unboxed.how)


@pytest.mark.parametrize(
    "text, answer",
    [
        ("The answer is 58", "58"),
        ("Thus the answer is 58.", "58"),
        ("the final answer: 3.75", "3.75"),
        ("the answer is 3.75.", "3.75"),
        ("So the answer is (57).", "(57)"),
        ("The answer is (B).", "(B)"),
        ("**Answer:** 58", "58"),
        ("**Answer**: 58.", "58"),
        ("The answer is **58**.", "58"),
        ("## Final Answer\n58\n", "58"),
        ("Final Answer: The final answer is $58$. I hope it is correct.", "$58$"),
        ("The answer to the problem is therefore 3.75, because of this.", "3.75"),
        ("The answer is $x=3$ or $x=4$.", "$x=3$ or $x=4$"),
        ("so the answer is\n\n$$x = 58$$", "$$x = 58$$"),
        ("The answer is: \\[ 58 \\]", "\\[ 58 \\]"),
        ("The answer is $\\frac{1}{2}$ and we are done.", "$\\frac{1}{2}$"),
        ("The answer is 1,234.56 dollars.", "1,234.56 dollars"),
        ("The answer is 5. Wait. The answer is 6.", "6"),
        ("The answer is 5. That is what the answer is.", "5"),
        ("\x1b[1mThe answer is 5\x1b[0m", "5"),
        ("La respuesta es 12.", "12"),
        ("La réponse est $12$.", "$12$"),
        ("Die Antwort lautet 12.", "12"),
        ("Die Lösung ist: 3,5.", "3,5"),
        ("La risposta è 12.", "12"),
        ("A resposta é 12.", "12"),
        ("Ответ: 12.", "12"),
        ("答案：12", "12"),
        ("故答案为 12。", "12"),
        ("答：12。", "12"),
        ("答えは12です。", "12"),
        ("정답은 12입니다.", "12"),
        ("Đáp án là 12.", "12"),
        ("الجواب هو 12", "12"),
    ],
)
def test_an_answer_follows_a_phrase(text: str, answer: str) -> None:
    assert found(text) == (answer, "phrase")


@pytest.mark.parametrize(
    "text, answer, how",
    [
        ("It falls by 6.\n#### -4", "-4", "hash"),
        ("6 + 6 = **12**\n#### 1,234\n", "1,234", "hash"),
        ("#### 1. Setup\nIt costs **58 km**.", "58 km", "bold"),
        ("**Step 1**: add. **Result:** $7$ is **8**.", "8", "bold"),
        ("Collecting terms,\n\n$$x = 58$$", "x = 58", "formula"),
        ("It is $a$, then \\(b = 7\\).", "b = 7", "formula"),
        ("\\(a\\) and \\[b \\\\[4pt] c\\]", "b \\\\[4pt] c", "formula"),
        ("so $x = 3$, which costs $5", "x = 3", "formula"),
    ],
)
def test_other_marks_of_an_answer_come_in_order(text: str, answer: str, how: str) -> None:
    assert found(text) == (answer, how)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "There are 72 seats, and 15 are taken. So 57 seats are free.",
        "I tried 41, 58 and 63.",
        "It costs $5 and $7.",
        "#### Final Answer",
        "**Step 1** and **Note:**",
        "The answer is 5. Wait, so the answer is",
        "$$$$ $ $ \\(\\) \\[ \\]",
    ],
)
def test_where_nothing_is_offered_nothing_is_found(text: str) -> None:
    assert found(text) is None


@given(
    st.lists(
        st.sampled_from(["answer", " is ", ":", "$", "\\(", "\\]", "**", "####", "\n", "5", ".", "答案", "é"])
    ).map("".join)
)
def test_what_is_found_lies_in_the_text(text: str) -> None:
    unboxed = find_unboxed(text)
    if unboxed is not None:
        assert 0 <= unboxed.start < unboxed.end <= len(text)
        assert text[unboxed.start : unboxed.end].strip()


@pytest.mark.parametrize(
    "unit",
    [
        "answer is ",
        "answer ",
        "answer: ",
        "$",
        "$a ",
        "\\(",
        "\\[ \\]",
        "\\\\[",
        "**",
        "**a",
        "####",
        "####\n",
        "\n#",
        "答案",
        " ",
    ],
)
def test_hostile_repetition_ends(unit: str) -> None:
    """Backtracking would take an hour here."""
    find_unboxed(unit * (1_000_000 // len(unit)) + "!")
