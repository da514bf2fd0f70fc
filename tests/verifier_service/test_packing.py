"""Items as bytes: what goes in comes out, and equal items are equal bytes."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.equivalence.decision import Gold
from verifier_service.packing import JudgeItem, Unpackable, packed, unpacked

TEXTS = st.text(st.characters(exclude_categories=()))  # lone surrogates too
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(st.dictionaries(TEXTS, JSON, max_size=3), max_size=3)
GOLDS = st.builds(Gold, st.lists(TEXTS).map(tuple), st.lists(TEXTS).map(tuple))
COUNTS = st.none() | st.integers(0)
ITEMS = st.builds(
    JudgeItem,
    completion=TEXTS | MESSAGES,
    gold=st.none() | GOLDS,
    prompt=TEXTS,
    prefilled_think=st.booleans(),
    language=st.none() | TEXTS,
    choices=st.lists(TEXTS, max_size=3).map(tuple),
    unit=TEXTS,
    completion_tokens=COUNTS,
    max_tokens=COUNTS,
    truncated=st.none() | st.booleans(),
    info=st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
)


def anew(value: Any) -> Any:
    """An equal value of other objects."""
    if isinstance(value, str):
        return "".join(list(value))
    if isinstance(value, Gold):
        return Gold(anew(value.any_of), anew(value.all_of))
    if isinstance(value, tuple):
        return tuple(map(anew, value))
    return value


@given(ITEMS)
def test_what_goes_in_comes_out(item: JudgeItem) -> None:
    assert unpacked(packed(item)) == item


@given(ITEMS)
def test_equal_items_are_equal_bytes_whatever_objects_hold_them(item: JudgeItem) -> None:
    other = JudgeItem(**{field.name: anew(getattr(item, field.name)) for field in fields(item)})
    assert packed(other) == packed(item)


@given(ITEMS, ITEMS)
def test_other_items_are_other_bytes(one: JudgeItem, other: JudgeItem) -> None:
    assert (packed(one) == packed(other)) == (repr(one) == repr(other))


def test_one_text_twice_is_as_good_as_two_texts() -> None:
    text = "five " * 3
    twice = JudgeItem(text, Gold((text,)), prompt=text)
    assert packed(twice) == packed(JudgeItem(anew(text), Gold((anew(text),)), prompt=anew(text)))


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", 1j])
def test_what_json_has_no_form_for_is_refused_by_name(value: object) -> None:
    with pytest.raises(Unpackable, match="info should hold plain values of JSON"):
        packed(JudgeItem("x", info={"k": value}))
    with pytest.raises(Unpackable, match="completion"):
        packed(JudgeItem([{"role": "assistant", "content": [value]}]))
