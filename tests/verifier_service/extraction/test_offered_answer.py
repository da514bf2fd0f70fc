"""What a completion offers as its answer."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verifier_service.equivalence import Offered, Rules
from verifier_service.extraction import answer_blocks, offered_answer
from verifier_service.transcript import split_completion

BOXED, LENIENT = Rules(), Rules(extraction="lenient")
PIECES = st.sampled_from(
    [
        "\\boxed{",
        "\\boxed{5}",
        "\\fbox{x}",
        "\\boxed ",
        "}",
        "{",
        "$",
        " or ",
        ", ",
        "Wait. ",
        "x=",
        "<answer>",
        "</answer>",
        "<think>",
        "</think>",
        "the answer is 7. ",
        "**8**",
        "####",
        "\\",
        "\u200b",
        "\ud83d",
        "\x00",
        "答案：",
        "\n",
        "\\phantom{",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text()
PROSE = st.lists(
    st.sampled_from(
        [
            "We add ",
            "$a+b$ ",
            "\n",
            "so \\boxed{3}. ",
            "{1, 2} ",
            "100% ",
            "answer ",
            "\\frac{1}{2} ",
            "et ",
            "然后。",
            "\\{ ",
        ]
    )
).map("".join)
ANSWERS = st.sampled_from(
    ["42", "\\frac{3}{4}", "x=\\{1,2\\}", "$42$", "\\text{no solution}", "(1, 2)", "是"]
)


def offered(completion: str, rules: Rules = BOXED, *, prefilled_think: bool = False) -> Offered:
    return offered_answer(split_completion(completion, prefilled_think=prefilled_think), rules)


def parts_of(completion: str) -> tuple[list[str], int]:
    offer = offered(completion)
    return [part.text for part in offer.parts], offer.run


@given(TEXTS, st.sampled_from([BOXED, LENIENT]), st.booleans())
def test_every_text_offers_something_or_says_why_not(text: str, rules: Rules, prefilled_think: bool) -> None:
    transcript = split_completion(text, prefilled_think=prefilled_think)
    offer = offered_answer(transcript, rules)
    assert bool(offer.parts) == bool(offer.how) == (not offer.fault)
    assert (1 if offer.parts else 0) <= offer.run <= len(offer.parts)
    for part in offer.parts:
        content = transcript.text[part.start : part.end]
        assert part.text == content or "box" in content


@given(PROSE, ANSWERS)
def test_prose_before_the_last_box_never_changes_the_answer(prose: str, answer: str) -> None:
    assert offered(f"{prose}\n\nTherefore the value is \\boxed{{{answer}}}.").answer == answer


@given(TEXTS, ANSWERS)
def test_thinking_never_changes_the_answer(thinking: str, answer: str) -> None:
    response = f"It is \\boxed{{{answer}}}."
    assert parts_of(f"<think>{thinking}</think>{response}") == parts_of(response)


@given(TEXTS.filter(lambda text: "<" not in text and "think" not in text))
def test_a_last_box_that_is_cut_off_is_no_answer(text: str) -> None:
    assert offered(f"{text} \\boxed{{5").answer is None


@given(TEXTS)
def test_unclosed_thinking_offers_nothing_in_any_mode(text: str) -> None:
    assume("</think>" not in split_completion(text).text)
    assert offered(f"<think>{text}", LENIENT).parts == ()
    assert offered(text, LENIENT, prefilled_think=True).parts == ()


@given(TEXTS)
def test_lenient_extraction_never_overrides_a_box(text: str) -> None:
    strict = offered(text)
    if strict.parts or "box" in strict.fault.removeprefix("no box"):
        assert offered(text, LENIENT) == strict


@given(
    st.lists(ANSWERS, min_size=2, max_size=5),
    st.sampled_from([" ", ", ", " or ", " and ", "\n", "、", "\\quad "]),
)
def test_boxes_side_by_side_are_a_run(answers: list[str], gap: str) -> None:
    text = gap.join(f"\\boxed{{{answer}}}" for answer in answers)
    assert parts_of(f"Either {text}.") == (answers, len(answers))


@pytest.mark.parametrize(
    "completion, parts, run",
    [
        ("First \\boxed{5}. Wait, I forgot one. So \\boxed{7}.", ["7"], 1),
        ("The roots are \\boxed{2} and \\boxed{5}.", ["2", "5"], 2),
        ("\\boxed{41}\\boxed{42}\\boxed{43}", ["41", "42", "43"], 3),
        ("Hence $x=\\boxed{1}$ and $y=\\boxed{2}$.", ["1", "2"], 1),
        ("$x=\\boxed{1}$ or $x=\\boxed{2}$", ["1", "2"], 2),
        ("$a=\\boxed{1}$, $b=\\boxed{2}$ or \\boxed{3}", ["1", "2", "3"], 2),
        ("\\begin{cases} x=\\boxed{1} \\\\ y=\\boxed{2} \\end{cases}", ["1", "2"], 1),
        ("The sum is \\boxed{5} and the product is \\boxed{6}.", ["5", "6"], 1),
        ("Put it in \\boxed{answer}. It is \\boxed{42}.", ["42"], 1),
        ("It is \\boxed{42}. I put it in \\boxed{} as asked.", ["42"], 1),
        ("\\boxed{41} \\boxed{} \\boxed{42}", ["41", "42"], 2),
        ("So it is \\boxed{6}.\n\n**Final Answer**\n\\boxed{6}", ["6"], 1),
        ("plan \\boxed{3} ###Response It is \\boxed{61}.", ["61"], 1),
    ],
)
def test_which_boxes_belong_together(completion: str, parts: list[str], run: int) -> None:
    assert parts_of(completion) == (parts, run)


def test_a_part_has_the_name_before_it() -> None:
    offer = offered("Hence $x=\\boxed{1}$ and $f(2)=\\boxed{2}$.")
    assert [(part.label, part.text) for part in offer.parts] == [("x", "1"), ("f(2)", "2")]
    assert offered("Thus $x=\\boxed{42}$.").parts[0].label == "x"


@pytest.mark.parametrize(
    "completion, answer",
    [
        ("<answer>12</answer>", "12"),
        ("\\boxed{3} <answer>\n12\n</answer> \\boxed{4}", "12"),
        ("<answer>It is \\boxed{12}.</answer> \\boxed{4}", "12"),
        ("<answer>\\boxed{12}", "12"),
        ("\\boxed{12} <answer></answer>", "12"),
        ("<answer>\\boxed{12}</answer>. No, wait: <answer>\\boxed{15}</answer>", "15"),
    ],
)
def test_an_answer_block_narrows_the_response(completion: str, answer: str) -> None:
    assert offered(f"<think>a</think>{completion}").answer == answer


def test_a_block_without_a_box_is_the_answer_and_says_so() -> None:
    offer = offered("<think>a</think><answer> 12 </answer>")
    assert (offer.how, offer.parts[0].start, offer.parts[0].end) == ("answer_tag", 25, 27)


@pytest.mark.parametrize(
    "completion, fault",
    [
        ("It is 5.", "no box"),
        (" \n", "the response is blank"),
        ("<think>\\boxed{5}</think>", "the response is blank"),
        ("<think>\\boxed{5}</think>As computed above.", "no box"),
        ("<think>\\boxed{5}", "thinking never closed"),
        ("\\boxed{}", "the box is blank"),
        ("\\boxed{\\quad}", "the box is blank"),
        ("\\boxed{42", "the last box is cut off"),
        ("\\boxed{5} or \\boxed{6", "the last box is cut off"),
        ("<answer>12</answer><answer>15</answer>", "more than one answer block, the last one without a box"),
        (
            "<answer>\\boxed{12}</answer><answer>15</answer>",
            "more than one answer block, the last one without a box",
        ),
        ("\\boxed{5} <answer>12", "the answer block is cut off"),
        ("<answer><answer>12</answer></answer>", "answer tags without partner"),
        ("<answer>\\boxed{12</answer>}", "the last box is cut off"),
    ],
)
def test_where_nothing_is_offered_the_fault_says_why(completion: str, fault: str) -> None:
    assert offered(completion) == Offered(fault=fault)


def test_a_chat_without_an_assistant_offers_nothing() -> None:
    transcript = split_completion([{"role": "user", "content": "\\boxed{5}"}])
    assert offered_answer(transcript, BOXED) == Offered(fault="no assistant message")


def test_adjacent_answer_blocks_are_alternatives() -> None:
    assert parts_of("<answer>\\boxed{12}</answer><answer>\\boxed{15}</answer>") == (["12", "15"], 2)


def test_zero_width_characters_in_a_box_are_gone() -> None:
    assert offered("\\boxed{4\u200b2\u200f}").answer == "42"
    assert offered("\\boxed{4\x002}").answer == "4\x002"
    assert offered("\\boxed{4\udc00}").answer == "4\udc00"


def test_lenient_extraction_says_how() -> None:
    assert offered("The answer is 5.", LENIENT).how == "phrase"
    assert offered("The answer is 5.").fault == "no box"
    assert offered("The answer is 5. \\boxed{}", LENIENT).fault == "the box is blank"
    assert offered("I do not know.", LENIENT).fault == "no box, and nothing that could stand for one"


def test_answer_blocks_tell_blank_open_and_stray_tags() -> None:
    blocks = answer_blocks("<answer> </answer><answer>5</answer></answer><answer>6")
    assert (blocks.spans, blocks.open_at, blocks.well_formed, blocks.tags) == (((26, 27),), 53, False, 6)


@pytest.mark.parametrize(
    "unit",
    [
        "\\boxed{1},",
        "\\boxed{1} or $x=$",
        "\\boxed 5{",
        "<answer>1</answer>",
        "<answer>",
        "x_{",
        "<a",
        "or ",
        "\n ",
    ],
)
def test_hostile_repetition_ends(unit: str) -> None:
    """A second look at what stands before each box would take an hour here."""
    for rules in (BOXED, LENIENT):
        offered("\\boxed{1}" + unit * 50_000 + "\\boxed{2}", rules)
