"""A completion taken apart: which text is thinking, which is the response, and what is wrong with the tags."""

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verifier_service.transcript import Transcript, is_blank, split_completion

PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<thin",
        "k>",
        "</",
        "\\boxed{5}",
        "Wait. ",
        " ",
        "\n",
        "\u200b",
        "<|im_end|>",
        "\ud83d",
        "é",
        "\x00",
    ]
)
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text()


def response_of(completion: str, *, prefilled_think: bool = False) -> str | None:
    return split_completion(completion, prefilled_think=prefilled_think).response


def assistant(content: object, **more: object) -> list[Mapping[str, object]]:
    return [{"role": "user", "content": "<think>7?"}, {"role": "assistant", "content": content, **more}]


@given(TEXTS, st.booleans())
@example("</think><think>", True)
@example("<think><think></think></think><think>", False)
def test_every_text_is_taken_apart_and_spans_point_into_it(completion: str, prefilled_think: bool) -> None:
    transcript = split_completion(completion, prefilled_think=prefilled_think)
    for part, span in (
        (transcript.thinking, transcript.thinking_span),
        (transcript.response, transcript.response_span),
    ):
        assert (part is None) == (span is None)
        if span is not None:
            assert transcript.text[span[0] : span[1]] == part
    if transcript.thinking_span and transcript.response_span:
        assert transcript.thinking_span[1] <= transcript.response_span[0]


@given(TEXTS.filter(lambda text: "think" not in split_completion(text).text), TEXTS, st.booleans())
def test_what_precedes_the_last_closing_tag_never_reaches_the_response(
    response: str, thinking: str, prefilled_think: bool
) -> None:
    alone = split_completion(response).response
    assert response_of(f"{thinking}</think>{response}", prefilled_think=prefilled_think) == alone


@given(TEXTS, st.integers(0, 40), st.sampled_from("\u00ad\u200b\u200d\u200f\u2060\ufeff\ufe0f\U000e0041"))
def test_zero_width_characters_change_nothing_but_the_warnings(text: str, place: int, invisible: str) -> None:
    hidden = split_completion(text[:place] + invisible + text[place:])
    plain = split_completion(text)
    assert (hidden.text, hidden.response, hidden.faults) == (plain.text, plain.response, plain.faults)
    assert "zero_width_removed" in hidden.warnings


def test_text_without_tags_is_the_response() -> None:
    transcript = split_completion("It is 5.")
    assert transcript == Transcript("It is 5.", None, "It is 5.", None, (0, 8), ("no_thinking",))


def test_a_block_and_a_response_have_no_faults() -> None:
    transcript = split_completion("\n<think>2+3</think>\nIt is 5.")
    assert (transcript.thinking, transcript.response, transcript.faults) == ("2+3", "\nIt is 5.", ())


@pytest.mark.parametrize(
    "completion, prefilled, thinking, response, faults",
    [
        ("<think>a", False, "a", None, ["thinking_not_closed"]),
        ("a", True, "a", None, ["thinking_not_closed"]),
        ("5 <think>a", False, "a", None, ["text_before_thinking", "thinking_not_closed"]),
        ("a</think>5", True, "a", "5", []),
        ("<think>a</think>5", True, "a", "5", []),
        ("<think><think>a</think>5", True, "<think>a", "5", ["repeated_opening_tag"]),
        ("b<think>a</think>5", True, "b<think>a", "5", ["repeated_opening_tag"]),
        ("a</think>5", False, "a", "5", ["no_opening_tag"]),
        ("</think>5", True, "", "5", ["blank_thinking"]),
        ("<think> \u3000\x1b</think>5", False, " \u3000\x1b", "5", ["blank_thinking"]),
        ("b<think>a</think>5", False, "a", "5", ["text_before_thinking"]),
        ("<think>a<think>b</think>5", False, "a<think>b", "5", ["repeated_opening_tag"]),
        ("<think>a</think>b</think>5", False, "a</think>b", "5", ["repeated_closing_tag"]),
        ("<think>a</think>\n", False, "a", "\n", ["blank_response"]),
        ("<think>a</think>5<think>b", False, "a", "5", ["thinking_after_response"]),
        (
            "</think>5<think>a",
            False,
            "",
            "5",
            ["no_opening_tag", "blank_thinking", "thinking_after_response"],
        ),
        ("<thinking>a</thinking>5", False, None, "<thinking>a</thinking>5", ["no_thinking"]),
        ("<THINK>a</THINK>5", False, None, "<THINK>a</THINK>5", ["no_thinking"]),
        ("", False, None, "", ["no_thinking", "blank_response"]),
    ],
)
def test_tags_in_every_disorder(
    completion: str, prefilled: bool, thinking: str | None, response: str | None, faults: list[str]
) -> None:
    transcript = split_completion(completion, prefilled_think=prefilled)
    assert (transcript.thinking, transcript.response) == (thinking, response)
    assert list(transcript.faults) == faults


@pytest.mark.parametrize(
    "token",
    [
        "<|im_end|>",
        "<|endoftext|>",
        "</s>",
        "<|eot_id|>",
        "<｜end▁of▁sentence｜>",
        "<end_of_turn>",
        "<|end|>",
    ],
)
def test_end_of_turn_tokens_are_dropped_without_a_word(token: str) -> None:
    transcript = split_completion(f"<think>a</think>5{token}{token}")
    assert (transcript.response, transcript.warnings) == ("5", ())
    assert response_of(f"<think>a</think>{token}") == ""


def test_control_characters_and_surrogates_stay() -> None:
    assert split_completion("4\x002\udc00\u2064").response == "4\x002\udc00\u2064"


def test_the_last_message_of_the_assistant_counts() -> None:
    messages = [*assistant("5"), *assistant("6"), {"role": "tool", "content": "7"}]
    assert split_completion(messages).response == "6"


def test_a_chat_without_an_assistant_has_no_response() -> None:
    transcript = split_completion([{"role": "user", "content": "5"}])
    assert (transcript.response, transcript.faults) == (None, ("no_assistant_message",))


@pytest.mark.parametrize("content", [None, 5, [5, None], [{"type": "image_url", "image_url": {}}], []])
def test_content_that_is_no_text_is_an_empty_response(content: object) -> None:
    assert split_completion(assistant(content)).response == ""


def test_text_parts_of_a_message_are_joined() -> None:
    parts = [{"type": "text", "text": "<think>a</think>"}, {"type": "image"}, {"type": "text", "text": "5"}]
    assert split_completion(assistant(parts)).response == "5"


def test_reasoning_of_a_message_is_a_well_formed_block() -> None:
    transcript = split_completion(assistant("It is 5.", reasoning_content="2+3"), prefilled_think=True)
    assert (transcript.thinking, transcript.response, transcript.faults) == ("2+3", "It is 5.", ())
    assert transcript.text[slice(*transcript.response_span or ())] == "It is 5."


def test_reasoning_without_content_is_no_response() -> None:
    assert split_completion(assistant(None, reasoning_content="2+3")).faults == ("blank_response",)


@pytest.mark.parametrize("reasoning", [None, "", " \n"])
def test_blank_reasoning_is_none_and_tags_in_the_content_count(reasoning: str | None) -> None:
    transcript = split_completion(assistant("<think>a</think>5", reasoning_content=reasoning))
    assert (transcript.thinking, transcript.response, transcript.faults) == ("a", "5", ())


@pytest.mark.parametrize(
    "content, response, faults",
    [
        ("<think>a</think>5", "5", ["tags_beside_reasoning"]),
        ("a</think>5", "5", ["tags_beside_reasoning"]),
        ("<think>5", None, ["tags_beside_reasoning", "thinking_not_closed"]),
    ],
)
def test_tags_beside_reasoning_are_a_fault_and_still_part(
    content: str, response: str | None, faults: list[str]
) -> None:
    transcript = split_completion(assistant(content, reasoning_content="2+3"))
    assert (transcript.thinking, transcript.response) == ("2+3", response)
    assert list(transcript.faults) == faults


def test_fillers_that_show_nothing_are_blank() -> None:
    assert is_blank(" \t\n\x00\x7f\u00a0\u2003\u2800\u3164\u3000")
    assert not is_blank("\u3000.\u3000")


@pytest.mark.parametrize(
    "unit", ["<think>", "</think>", "<think></think>", "<|im_end|>", "\u200b", "<|", " "]
)
def test_a_hundred_thousand_tags_are_no_more_work_than_text(unit: str) -> None:
    """A quadratic split would take an hour here."""
    text = unit * 100_000 + "</think>\\boxed{42}"
    assert response_of(text) == "\\boxed{42}"
