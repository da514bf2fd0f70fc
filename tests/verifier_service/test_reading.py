"""One untrusted value, one item: read, repaired or refused, with the place named."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.reading import (
    MAX_DEPTH,
    SURROGATE_WARNING,
    free_form_fault,
    item_info,
    item_warnings,
    read_gold,
    read_item,
)
from verifier_service.schema import GoldQuery, InvalidItem, Item


def item_of(**keys: Any) -> Item:
    item = read_item({"completion": "5", **keys}, "items[0]")
    assert isinstance(item, Item), item
    return item


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (5, "items[3] should be an object"),
        (None, "items[3] should be an object"),
        ([], "items[3] should be an object"),
        ({}, "items[3].completion is missing"),
        ({"completion": None}, "items[3].completion should be a string or a list of chat messages"),
        ({"response": 1}, "items[3].response should be a string or a list of chat messages"),
        ({"completion": [{"content": "5"}]}, "items[3].completion[0].role is missing"),
        ({"completion": ["5"]}, "items[3].completion[0] should be an object"),
        (
            {"completion": "", "rules": {"tolrance": 1}},
            'tolrance is not a known key; did you mean "tolerance"?',
        ),
        ({"completion": "", "rules": {"extraction": "x"}}, "items[3].rules.extraction should be 'boxed'"),
        ({"completion": "", "id": True}, "items[3].id should be a string or an integer"),
        ({"completion": "", "gold": {"any_of": [None]}}, "items[3].gold at any_of[0] should be a string"),
        ({"completion": "", "max_tokens": 0}, "items[3].max_tokens should be greater than or equal to 1"),
        ({"completion": "", "info": {"a": [float("nan")]}}, "items[3].info.a[0] should be a finite number"),
        ({"completion": "", "colour": float("inf")}, "items[3].colour should be a finite number"),
        (
            {"completion": "", "profile": {"rewards": {"x": {"weight": "y"}}}},
            "profile.rewards.x.weight should",
        ),
    ],
)
def test_a_bad_item_names_its_path(raw: object, message: str) -> None:
    item = read_item(raw, "items[3]")
    assert isinstance(item, InvalidItem)
    assert message in item.message


def test_a_bad_item_keeps_its_id() -> None:
    assert read_item({"id": "a7", "completion": 1}, "items[0]") == InvalidItem(
        "items[0].completion should be a string or a list of chat messages", id="a7"
    )


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("\ud83d", "\ufffd"),
        ("a\ude00b", "a\ufffdb"),
        ("\ud83d\ud83d", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("\ud83dx\ude00", "\ufffdx\ufffd"),
        ("\ufeff\ud83d", "\ufeff\ufffd"),
    ],
)
def test_a_lone_surrogate_is_replaced_and_told(sent: str, read: str) -> None:
    item = item_of(completion=sent)
    assert item.completion == read
    assert item_warnings(item) == [SURROGATE_WARNING]
    assert item_warnings(item_of(completion="\U0001f600")) == []


def test_surrogates_are_replaced_wherever_they_are() -> None:
    item = item_of(id="\ud800", gold=["\ud800"], info={"\ud800": ["\ud800"]})
    assert (item.id, item.gold, item.info) == ("\ufffd", ["\ufffd"], {"\ufffd": ["\ufffd"]})
    bad = read_item({"completion": 1, "id": "\ud800"}, "items[0]")
    assert isinstance(bad, InvalidItem)
    assert bad.id == "\ufffd"


def test_an_item_nests_so_deep_and_no_deeper() -> None:
    assert item_of(info={"a": nested(MAX_DEPTH - 2)})
    item = read_item({"completion": "5", "info": {"a": nested(MAX_DEPTH - 1)}}, "items[0]")
    assert isinstance(item, InvalidItem)
    assert f"nests deeper than {MAX_DEPTH} levels" in item.message
    assert len(item.message) < 200


def test_an_object_of_ours_with_thousands_of_keys_is_refused_as_one() -> None:
    many = {str(number): 1 for number in range(10_000)}
    for keys in ({"rules": many}, {"profile": {"rewards": many}}, {"rules": {"tolerance": many}}):
        item = read_item({"completion": "5", **keys}, "items[0]")
        assert isinstance(item, InvalidItem)
        assert "has more than 64 keys" in item.message
    assert item_info(item_of(info=many)) == many


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("complettion_tokens", "completion_tokens"),
        ("completion_token", "completion_tokens"),
        ("prefiled_think", "prefilled_think"),
        ("Prefilled-Think", "prefilled_think"),
        ("max tokens", "max_tokens"),
        ("langauge", "language"),
        ("lable", "label"),
        ("golds", "gold"),
        ("promt", "prompt"),
        ("choises", "choices"),
        ("rule", "rules"),
        ("datasource", "data_source"),
    ],
)
def test_a_misspelt_key_is_told_and_kept(key: str, meant: str) -> None:
    item = item_of(**{key: "x"})
    assert item_warnings(item) == [
        f'unknown key "{key}" was put into info; is it a misspelling of "{meant}"?'
    ]
    assert item_info(item) == {key: "x"}


@pytest.mark.parametrize(
    "key", ["dataset", "level", "subject", "index", "goal", "score", "type", "uid", "old"]
)
def test_other_keys_are_nobodys_misspelling(key: str) -> None:
    item = item_of(**{key: "x"})
    assert item_warnings(item) == []
    assert item_info(item) == {key: "x"}


def test_a_second_name_that_says_the_same_is_silent() -> None:
    item = item_of(response="5", gold=7, answer=7, prompt=[{"role": "user", "content": "a"}])
    assert item_warnings(item) == []
    assert item_info(item) is None


def test_a_second_name_that_says_something_else_is_told_and_kept() -> None:
    item = item_of(gold="7", solution="so it is 7", info={"source": "a"})
    assert item_warnings(item) == ['"solution" differs from the gold that was taken, and was ignored']
    assert item_info(item) == {"solution": "so it is 7", "source": "a"}


def test_info_wins_over_a_stray_key_of_the_same_name() -> None:
    assert item_info(item_of(level=1, info={"level": 2})) == {"level": 2}


def test_a_gold_is_read_like_an_item() -> None:
    assert read_gold({"answer": "5", "question": "why?"}, "golds[0]") == GoldQuery(gold="5", prompt="why?")
    missing = read_gold({}, "golds[1]")
    unknown = read_gold({"gold": 1, "colour": "red"}, "golds[2]")
    assert missing == InvalidItem("golds[1].gold is missing")
    assert unknown == InvalidItem("golds[2].colour is not a known key")


def test_the_open_parts_of_an_item_read_from_bytes_are_checked_too() -> None:
    def fault(text: str) -> str | None:
        return free_form_fault(Item.model_validate_json(text), "items[2]")

    assert fault('{"completion": "5"}') is None
    assert fault('{"completion": "5", "info": {"a": 1}, "b": [1]}') is None
    assert fault('{"completion": "5", "info": {"a": NaN}}') == "items[2].info.a should be a finite number"
    assert fault('{"completion": "5", "b": [1e999]}') == "items[2].b[0] should be a finite number"
    parts = '{"completion": [{"role": "a", "content": [{"type": "text", "x": NaN}]}]}'
    assert fault(parts) == "items[2].completion[0].content[0].x should be a finite number"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from([*Item.model_fields, "answer", "response", "zz"]) | st.text()


@given(st.dictionaries(keys, json_values, max_size=6) | json_values)
def test_any_value_is_an_item_or_a_reason_and_can_be_sent_back(raw: Any) -> None:
    item = read_item(raw, "items[0]")
    if isinstance(item, InvalidItem):
        assert item.message.startswith("items[0]")
        json.dumps(item.message).encode()
    else:
        json.dumps([item_info(item), item_warnings(item)], allow_nan=False).encode()
