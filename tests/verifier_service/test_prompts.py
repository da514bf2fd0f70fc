"""What a prompt tells about the answer after it."""

import pytest

from verifier_service.prompts import answer_in, opens_thinking

PROMPT = "<|im_start|>user\n1+1=<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("prompt", "opened"),
    [
        (PROMPT, False),
        (PROMPT + "<think>", True),
        (PROMPT + "<think>\n", True),
        ("<think> is a tag", False),
        (None, False),
        ([], False),
        ([{"role": "user", "content": "why?"}], False),
        ([{"role": "user", "content": PROMPT + "<think>\n"}], True),
        ([{"role": "user", "content": "why?"}, {"role": "assistant", "content": "<think>"}], True),
        ([{"role": "user", "content": [{"type": "text", "text": "why?"}]}], False),
        ([{"role": "user"}], False),
        (5, False),
    ],
)
def test_a_prompt_that_opens_the_thinking_is_known(prompt: object, opened: bool) -> None:
    assert opens_thinking(prompt) is opened


@pytest.mark.parametrize(
    ("query", "prompt", "answer"),
    [
        (PROMPT + "2", PROMPT, "2"),
        ("<|begin_of_text|>" + PROMPT + "2", PROMPT, "2"),
        ("2", PROMPT, "2"),
        ("2", "", "2"),
        (PROMPT + "2 " + PROMPT + "3", PROMPT, "2 " + PROMPT + "3"),
        # An echo far behind is no beginning.
        ("x" * 99 + PROMPT + "3", PROMPT, "x" * 99 + PROMPT + "3"),
        ("", "", ""),
    ],
)
def test_the_answer_is_what_follows_the_prompt(query: str, prompt: str, answer: str) -> None:
    assert answer_in(query, prompt) == answer
