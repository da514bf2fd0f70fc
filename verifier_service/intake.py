"""Wire items -> what the judge takes. Forms are settled here; no text is parsed."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from verifier_service.equivalence.decision import Gold
from verifier_service.packing import JudgeItem
from verifier_service.reading import item_info
from verifier_service.rewards.language_names import language_code
from verifier_service.schema import AllOf, AnyOf, GoldSpec, Item, Message, Text


def judge_item(item: Item, *, with_info: bool) -> JudgeItem:
    """The item for the judge. Raises UnknownLanguage.

    with_info: `info` goes along, for rewards of a user's own; nothing else may depend on it.
    """
    return JudgeItem(
        completion=completion_of(item.completion),
        gold=gold_of(item.gold),
        prompt=question_of(item.prompt),
        prefilled_think=item.prefilled_think,
        language=None if item.language is None else language_code(item.language),
        choices=tuple(item.choices or ()),
        unit=item.unit or "",
        completion_tokens=item.completion_tokens,
        max_tokens=item.max_tokens,
        truncated=item.truncated,
        info=item_info(item) if with_info else None,
    )


def gold_of(spec: GoldSpec) -> Gold | None:
    """None where there is no gold. An empty list is a gold, and one that nothing can equal."""
    if spec is None:
        return None
    if isinstance(spec, AllOf):
        return Gold(all_of=tuple(map(number_text, spec.all_of)))
    if isinstance(spec, AnyOf):
        return Gold(any_of=tuple(map(number_text, spec.any_of)))
    if isinstance(spec, list):
        return Gold(any_of=tuple(map(number_text, spec)) or ("",))
    return Gold(any_of=(number_text(spec),))


def number_text(value: str | int | float) -> str:
    """A gold as text; a number in full, as the shortest decimal that is this number.

    A float that is whole loses its ".0": a column of integers with one value missing comes as floats, and
    the point would declare it rounded.
    """
    if isinstance(value, str):
        return value
    # By way of Decimal, which has no exponent here and, unlike `str` of an int, no limit of 4300 digits.
    exact = Decimal(value) if isinstance(value, int) else Decimal(repr(value))
    return format(exact, "f").removesuffix(".0")


def completion_of(completion: Text) -> str | list[dict[str, Any]]:
    if isinstance(completion, str):
        return completion
    return [message.model_dump() for message in completion]


def question_of(prompt: Text | None) -> str:
    """The question as plain text: of a chat, what the user said last."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    said = [message for message in prompt if message.role == "user"] or prompt
    return message_text(said[-1]) if said else ""


def message_text(message: Message) -> str:
    if isinstance(message.content, str | None):
        return message.content or ""
    return "\n".join(_texts(message.content))


def _texts(parts: Sequence[dict[str, Any]]) -> list[str]:
    return [part["text"] for part in parts if isinstance(part.get("text"), str)]
