"""Completion -> Transcript. The only place that knows <think>.

Only the exact tags `<think>` and `</think>` count: a model is trained on one spelling, and every
further one that is let through is a way to miss the layout unpunished.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

OPENING = "<think>"
CLOSING = "</think>"

# Characters that show nothing and stand for nothing: soft hyphen, joiners, marks of direction, variation
# selectors, tags, byte-order mark. The invisible operators U+2062..2064 have a meaning and stay.
_ZERO_WIDTH = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060\u2061\u2065-\u206f"
    "\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+"
)

_ASCII = bytes(range(128))

_END_OF_TURN = (
    r"(?:[|｜](?:im_end|endoftext|end_of_text|end|eot_id|eot|eom_id|eos|pad|return|end_of_turn|endofturn"
    r"|END_OF_TURN_TOKEN|finetune_right_pad_id|end_of_sentence|end▁of▁sentence|▁pad▁)[|｜]"
    r"|/s|end_of_turn|eos|pad)>"
)
# All that counts and begins with "<" is found in one pass.
_TAG = re.compile("<(/?)think>")
_TAG_OR_END_OF_TURN = re.compile(f"<(?:(/?)think>|{_END_OF_TURN})")
_END_OF_TURN_TOKEN = re.compile(f"<{_END_OF_TURN}")

# White space, and what is drawn as white space: control characters and filler letters.
_BLANKS = (
    "".join(map(chr, range(0x21)))
    + "\x7f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    + ("".join(map(chr, range(0x2000, 0x200B))) + "\u115f\u1160\u2800\u3164\uffa0")
)
_VISIBLE = re.compile(f"[^{re.escape(_BLANKS)}]")


class Transcript(NamedTuple):
    """A completion taken apart.

    text: the completion as it is read, and what spans point into: of a chat the last message of the
    assistant; zero-width characters and end-of-turn tokens are left out.
    thinking: text of the thinking, None where there is none.
    response: what follows the thinking; None where thinking never closed or nobody answered.
    thinking_span, response_span: (start, end) in `text`, code points; None where the part is None.
    faults: named departures from "one thinking block, closed, not blank, first thing in the text, and
    text after it", in order of appearance.
    warnings: such as "zero_width_removed".
    """

    text: str
    thinking: str | None
    response: str | None
    thinking_span: tuple[int, int] | None
    response_span: tuple[int, int] | None
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class _Tags(NamedTuple):
    """Where the tags of thinking begin."""

    opening: list[int]
    closing: list[int]


class _Readable(NamedTuple):
    """A text without zero-width characters and end-of-turn tokens, its tags, and the warnings of that."""

    text: str
    tags: _Tags
    warnings: tuple[str, ...]


class _Split(NamedTuple):
    """Spans and faults of one text."""

    thinking: tuple[int, int] | None
    response: tuple[int, int] | None
    faults: tuple[str, ...]


def split_completion(
    completion: str | Sequence[Mapping[str, Any]], *, prefilled_think: bool = False
) -> Transcript:
    """Take a completion apart into thinking and response.

    completion: the text, or chat messages, of which the last one by the assistant counts.
    prefilled_think: the opening tag was the end of the prompt. The model may repeat it once.
    Never raises on any string; linear in its length.
    """
    if isinstance(completion, str):
        text, tags, warnings = _readable(completion)
        return _transcript(text, _split(text, tags, prefilled_think), warnings)
    message = _last_of_assistant(completion)
    if message is None:
        return Transcript("", None, None, None, None, faults=("no_assistant_message",))
    content, tags, warnings = _readable(_content(message))
    reasoning = message.get("reasoning_content")
    if not isinstance(reasoning, str) or is_blank(reasoning):
        return _transcript(content, _split(content, tags, prefilled_think), warnings)
    thinking, _, more = _readable(reasoning)
    split = _split_beside_reasoning(content, tags, len(thinking))
    return _transcript(thinking + content, split, tuple(dict.fromkeys(more + warnings)))


def is_blank(text: str, start: int = 0, end: int = sys.maxsize) -> bool:
    """Whether nothing in the text, or in this stretch of it, is visible."""
    return _VISIBLE.search(text, start, end) is None


def _readable(text: str) -> _Readable:
    warnings: tuple[str, ...] = ()
    if not text.isascii() and _ZERO_WIDTH.search(_beyond_ascii(text)):
        text, warnings = _ZERO_WIDTH.sub("", text), ("zero_width_removed",)
    marks = list(_TAG_OR_END_OF_TURN.finditer(text))
    if any(mark[1] is None for mark in marks):
        text = _END_OF_TURN_TOKEN.sub("", text)
        marks = list(_TAG.finditer(text))
    tags = _Tags([mark.start() for mark in marks if not mark[1]], [mark.start() for mark in marks if mark[1]])
    return _Readable(text, tags, warnings)


def _beyond_ascii(text: str) -> str:
    """The characters of a text that are not ASCII: mostly few, and a search in a text costs by its length."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def _split(text: str, tags: _Tags, prefilled: bool) -> _Split:
    opening = tags.opening[0] if tags.opening else -1
    if not tags.closing:
        if opening < 0 and not prefilled:
            return _Split(None, (0, len(text)), ("no_thinking", *_faults_of_response(text)))
        return _unclosed(text, opening, prefilled)
    last_closing = tags.closing[-1]
    body, faults = _body(text, opening, last_closing, prefilled)
    if any(body <= place < last_closing for place in tags.opening):
        faults.append("repeated_opening_tag")
    if len(tags.closing) > 1:
        faults.append("repeated_closing_tag")
    if is_blank(text, body, last_closing):
        faults.append("blank_thinking")
    response, more = _response(text, tags, last_closing + len(CLOSING))
    return _Split((body, last_closing), response, (*faults, *more))


def _body(text: str, opening: int, closing: int, prefilled: bool) -> tuple[int, list[str]]:
    """Where the thinking begins, and the faults of how it does."""
    if opening < 0 or opening > closing:
        return 0, [] if prefilled else ["no_opening_tag"]
    if is_blank(text, 0, opening):
        return opening + len(OPENING), []
    if prefilled:  # the tag in the prompt counts; the one found here is a second one, inside
        return 0, []
    return opening + len(OPENING), ["text_before_thinking"]


def _unclosed(text: str, opening: int, prefilled: bool) -> _Split:
    body, faults = _body(text, opening, len(text), prefilled)
    return _Split((body, len(text)), None, (*faults, "thinking_not_closed"))


def _response(text: str, tags: _Tags, start: int) -> tuple[tuple[int, int], list[str]]:
    """The response begins at `start` and ends where thinking is opened again."""
    reopened = next((place for place in tags.opening if place >= start), None)
    end = len(text) if reopened is None else reopened
    faults = _faults_of_response(text[start:end])
    return (start, end), faults if reopened is None else [*faults, "thinking_after_response"]


def _faults_of_response(response: str) -> list[str]:
    return ["blank_response"] if is_blank(response) else []


def _split_beside_reasoning(content: str, tags: _Tags, offset: int) -> _Split:
    """The split of `reasoning + content`, where a server has taken the reasoning out already.

    The reasoning is a well-formed block; tags left in the content are then one block too many, but still
    part thinking from response. `offset` is the length of the reasoning.
    """
    thinking = (0, offset)
    if not (tags.opening or tags.closing):
        return _Split(thinking, (offset, offset + len(content)), tuple(_faults_of_response(content)))
    inner = _split(content, tags, prefilled=False)
    faults = [fault for fault in inner.faults if fault != "no_opening_tag"]
    faults.insert(0, "tags_beside_reasoning")
    if inner.response is None:
        return _Split(thinking, None, tuple(faults))
    start, end = inner.response
    return _Split(thinking, (offset + start, offset + end), tuple(faults))


def _transcript(text: str, split: _Split, warnings: tuple[str, ...]) -> Transcript:
    return Transcript(
        text=text,
        thinking=None if split.thinking is None else text[slice(*split.thinking)],
        response=None if split.response is None else text[slice(*split.response)],
        thinking_span=split.thinking,
        response_span=split.response,
        faults=split.faults,
        warnings=warnings,
    )


def _last_of_assistant(messages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role") == "assistant":
            return message
    return None


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content may be a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "".join(_text_of_part(part) for part in content)


def _text_of_part(part: object) -> str:
    """The text of {"type": "text", "text": ...}; "" for pictures, calls and the like."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""
