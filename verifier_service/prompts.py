"""What the text of a prompt tells about the answer that follows it."""

from collections.abc import Mapping, Sequence
from typing import Any

# A begin-of-text token or two, which a tokenizer puts before the prompt.
MOST_BEFORE = 64


def opens_thinking(prompt: Any) -> bool:
    """Whether a prompt ends with the opening <think>, so that the answer begins without it.

    prompt: a text, or chat messages, of which the last one may have been rendered already.
    """
    if isinstance(prompt, Sequence) and not isinstance(prompt, str) and prompt:
        last = prompt[-1]
        prompt = last.get("content") if isinstance(last, Mapping) else None
    return isinstance(prompt, str) and prompt.rstrip().endswith("<think>")


def answer_in(query: str, prompt: str) -> str:
    """The answer in a text that begins with its prompt, be there a token before it that the prompt has not."""
    place = query.find(prompt, 0, len(prompt) + MOST_BEFORE)
    return query if place < 0 else query[place + len(prompt) :]
