"""An item as the judge takes it, and as bytes: made once, to be hashed for its key and sent to a worker as they are.

marshal in its second version writes equal values alike, whichever objects hold them, and takes a fraction of the
time of `repr` and pickle. What is of no fixed form goes in as JSON, so only plain texts and numbers are met here;
and only bytes that this service has made itself are ever read.
"""

import json
import marshal
from dataclasses import dataclass
from typing import Any

from verifier_service.equivalence.decision import Gold

_VERSION = 2  # later ones tell objects apart that are equal


class Unpackable(ValueError):
    """An item holds a value that JSON has no form for; only an in-process caller can send one."""


@dataclass(slots=True)  # not frozen, for one is made of every item in two processes
class JudgeItem:
    """An item as the judge takes it: plain and checked. `info` is for rewards of a user's own."""

    completion: str | list[dict[str, Any]]
    gold: Gold | None = None
    prompt: str = ""
    prefilled_think: bool = False
    language: str | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    completion_tokens: int | None = None
    max_tokens: int | None = None
    truncated: bool | None = None
    info: dict[str, Any] | None = None


def packed(item: JudgeItem) -> bytes:
    """The item as bytes, the same for equal items. Raises Unpackable."""
    text = item.completion if isinstance(item.completion, str) else None
    values = (
        text,
        None if text is not None else _json("completion", item.completion),
        None if item.gold is None else (item.gold.any_of, item.gold.all_of),
        item.prompt,
        item.prefilled_think,
        item.language,
        item.choices,
        item.unit,
        item.completion_tokens,
        item.max_tokens,
        item.truncated,
        None if item.info is None else _json("info", item.info),
    )
    return marshal.dumps(values, _VERSION)


def unpacked(data: bytes) -> JudgeItem:
    """The item that these bytes were made from."""
    text, messages, gold, *plain, info = marshal.loads(data)
    item = JudgeItem(
        text if messages is None else json.loads(messages), None if gold is None else Gold(*gold), *plain
    )
    if info is not None:
        item.info = json.loads(info)
    return item


def _json(name: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise Unpackable(f"{name} should hold plain values of JSON: {error}") from None
