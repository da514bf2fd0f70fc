"""The layout of a completion: one way to be right, a name for every way to be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.rewards import format as layout
from verifier_service.transcript import split_completion

PROSE = st.text(st.characters(codec="utf-8", exclude_characters="<>\\"), min_size=1).filter(str.strip)
PROSE = PROSE.filter(lambda text: any(char.isalnum() for char in text))


def faults_of(completion: object, template: str = "think", *, prefilled_think: bool = False) -> list[str]:
    transcript = split_completion(completion, prefilled_think=prefilled_think)  # type: ignore[arg-type]
    score = layout.score(transcript, template, prefilled_think)
    assert score.value == (0.0 if score.detail["faults"] else 1.0)
    faults = score.detail["faults"]
    assert isinstance(faults, list)
    return faults


@given(PROSE, PROSE)
def test_a_block_and_an_answer_are_well_laid_out(thinking: str, answer: str) -> None:
    assert faults_of(f"<think>{thinking}</think>{answer}") == []
    assert faults_of(f"{thinking}</think>{answer}", prefilled_think=True) == []
    assert faults_of(f"<think>{thinking}</think>\n<answer>{answer}</answer>", "think_answer") == []


@given(PROSE, PROSE, st.sampled_from(["<think>", "</think>"]), st.integers(0, 4))
def test_one_tag_more_anywhere_is_a_fault(thinking: str, answer: str, tag: str, place: int) -> None:
    good = ["<think>", thinking, "</think>", answer]
    assert faults_of("".join([*good[:place], tag, *good[place:]])) != []


@given(PROSE, PROSE, st.sampled_from(["<think>", "</think>"]))
def test_one_tag_less_is_a_fault(thinking: str, answer: str, tag: str) -> None:
    assert faults_of(f"<think>{thinking}</think>{answer}".replace(tag, "")) != []


@pytest.mark.parametrize(
    "completion, faults",
    [
        ("It is \\boxed{5}", ["no_thinking"]),
        ("<think>a</think>", ["blank_response"]),
        ("<think></think>5", ["blank_thinking"]),
        ("<think>a", ["thinking_not_closed"]),
        ("Sure: <think>a</think>5", ["text_before_thinking"]),
        ("```\n<think>a</think>\n```\n5", ["text_before_thinking"]),
        ("<think>a<think>b</think>c</think>5", ["repeated_opening_tag", "repeated_closing_tag"]),
        ("<think>a</think><answer> </answer>", ["blank_answer"]),
        ("<think>a</think><|im_end|>", ["blank_response"]),
        ("<thinking>a</thinking>5", ["no_thinking"]),
    ],
)
def test_faults_have_names(completion: str, faults: list[str]) -> None:
    assert faults_of(completion) == faults


@pytest.mark.parametrize(
    "completion", ["\n <think>a</think>\n5\n", "<think>a</think>5<|im_end|>", "\ufeff<think>a</think>5"]
)
def test_spaces_and_tokens_around_are_no_fault(completion: str) -> None:
    assert faults_of(completion) == []


def test_the_prompt_supplies_the_opening_tag() -> None:
    assert faults_of("a</think>5") == ["no_opening_tag"]
    assert faults_of("a</think>5", prefilled_think=True) == []
    assert faults_of("<think>a</think>5", prefilled_think=True) == []
    assert faults_of("</think>5", prefilled_think=True) == ["blank_thinking"]
    assert layout.score(split_completion("a</think>5"), "think", True).value == 1.0


@pytest.mark.parametrize(
    "response, faults",
    [
        ("<answer>5</answer>", []),
        (" \n<answer>\n5\n</answer>\n<|im_end|>", []),
        ("<answer>\\quad</answer>", ["blank_answer"]),
        ("<answer></answer>", ["blank_answer"]),
        ("5", ["no_answer_block"]),
        ("So <answer>5</answer>.", ["text_before_answer", "text_after_answer"]),
        ("<answer>5</answer><answer>5</answer>", ["more_than_one_answer_block"]),
        ("<answer>5</answer><answer></answer>", ["more_than_one_answer_block"]),
        ("<answer>5", ["answer_tags_without_partner"]),
        ("</answer><answer>", ["answer_tags_without_partner"]),
        ("<answer><answer>5</answer></answer>", ["answer_tags_without_partner"]),
        ("<Answer>5</Answer>", ["no_answer_block"]),
    ],
)
def test_the_answer_stands_in_one_block_and_alone(response: str, faults: list[str]) -> None:
    assert faults_of(f"<think>a</think>{response}", "think_answer") == faults


def test_an_answer_block_in_the_thinking_is_a_thought() -> None:
    assert faults_of("<think>I shall write <answer>.</think><answer>5</answer>", "think_answer") == []


def test_unclosed_thinking_has_no_answer_block_either() -> None:
    assert faults_of("<think>a<answer>5</answer>", "think_answer") == [
        "thinking_not_closed",
        "no_answer_block",
    ]


def test_reasoning_of_a_message_is_a_block() -> None:
    message = {"role": "assistant", "content": "<answer>5</answer>", "reasoning_content": "a"}
    assert faults_of([message]) == []
    assert faults_of([message], "think_answer") == []
    assert faults_of([{**message, "content": None}]) == ["blank_response"]
    assert faults_of([{**message, "content": "<think>b</think>5"}]) == ["tags_beside_reasoning"]


def test_an_unknown_template_is_an_error() -> None:
    with pytest.raises(ValueError, match='no template "thinks"'):
        layout.score(split_completion("5"), "thinks", False)
