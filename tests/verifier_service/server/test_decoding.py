"""Bytes to batches: whole where all is well, item by item where something is not."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.reading import SURROGATE_WARNING, item_warnings
from verifier_service.schema import GoldQuery, InvalidItem, Item
from verifier_service.server.decoding import Batch, Decoder, more_values_than
from verifier_service.server.problems import ProblemError

MOST = 100
GOOD = {"id": "g", "completion": "5", "gold": "5"}


def decoded(body: bytes | str | dict[str, Any]) -> Batch:
    if isinstance(body, dict):
        body = json.dumps(body)
    return Decoder(MOST).score(body.encode() if isinstance(body, str) else body)


def refusal(body: bytes | str | dict[str, Any]) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        decoded(body)
    return caught.value


def beside_good_ones(item: str) -> Item | InvalidItem:
    """What becomes of this item between two good ones, which nothing may happen to."""
    good = json.dumps(GOOD)
    batch = decoded(f'{{"items": [{good}, {item}, {good}]}}')
    assert [type(one) for one in batch.items[::2]] == [Item, Item]
    assert all(isinstance(one, Item) and one.completion == "5" and one.id == "g" for one in batch.items[::2])
    assert len(batch.items) == 3
    return batch.items[1]


def message_of(item: Item | InvalidItem) -> str:
    assert isinstance(item, InvalidItem), item
    return item.message


def test_an_empty_batch_is_a_batch() -> None:
    assert decoded('{"items": []}').items == []


def test_the_envelope_comes_along_by_either_way() -> None:
    envelope = {"profile": "r1", "rules": {"echo_guard": False}, "deadline_s": 3, "explain": True}
    whole = decoded({"items": [GOOD], **envelope})
    piecemeal = decoded({"items": [GOOD, 5], **envelope})
    for batch in (whole, piecemeal):
        assert (batch.profile, batch.deadline_s, batch.explain, batch.echo_info) == ("r1", 3, True, False)
        assert batch.rules is not None
        assert batch.rules.echo_guard is False
    assert whole.items == piecemeal.items[:1]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("5", "items[1] should be an object"),
        ("null", "items[1] should be an object"),
        ('{"gold": 5}', "items[1].completion is missing"),
        ('{"completion": null}', "items[1].completion should be a string"),
        ('{"completion": "", "gold": true}', "items[1].gold should be a string"),
        ('{"completion": "", "gold": NaN}', "items[1].gold should be a finite number"),
        ('{"completion": "", "gold": 1e999}', "items[1].gold should be a finite number"),
        ('{"completion": "", "info": {"x": -Infinity}}', "items[1].info.x should be a finite number"),
        ('{"completion": "", "zz": [1, NaN]}', "items[1].zz[1] should be a finite number"),
        ('{"completion": "", "completion_tokens": ' + "9" * 5000 + "}", "items[1].completion_tokens should"),
        ('{"completion": "", "zz": ' + "[" * 80 + "]" * 80 + "}", "nests deeper than"),
        ('{"completion": "", "zz": ' + "[" * 300 + "]" * 300 + "}", "nests deeper than"),
        ('{"completion": "", "profile": {"rewards": {}}}', "items[1].profile.rewards should"),
    ],
)
def test_one_bad_item_costs_one_item(item: str, message: str) -> None:
    assert message in message_of(beside_good_ones(item))


def test_a_lone_surrogate_is_judged_with_a_warning() -> None:
    item = beside_good_ones(r'{"completion": "so \ud83d it is 5", "gold": "\udc00"}')
    assert isinstance(item, Item)
    assert (item.completion, item.gold) == ("so \ufffd it is 5", "\ufffd")
    assert item_warnings(item) == [SURROGATE_WARNING]


def test_a_surrogate_in_one_item_leaves_no_mark_on_the_others() -> None:
    batch = decoded(r'{"items": [{"completion": "\ud83d\ude00"}, {"completion": "\ud83d"}]}')
    assert [item_warnings(item) for item in batch.items if isinstance(item, Item)] == [
        [],
        [SURROGATE_WARNING],
    ]


@pytest.mark.parametrize("digits", [30, 4300, 4301, 100_000])
def test_a_huge_integer_is_a_gold_in_all_its_digits(digits: int) -> None:
    item = beside_good_ones('{"completion": "", "gold": ' + "7" * digits + "}")
    assert isinstance(item, Item)
    assert item.gold in (int("7" * min(digits, 4300)), "7" * digits)


def test_of_duplicate_keys_the_last_one_counts_by_either_way() -> None:
    twice = '{"completion": "1", "completion": "2"}'
    for body in (
        f'{{"items": [{twice}]}}',
        f'{{"items": [{twice}, 5]}}',
        f'{{"items": [5], "items": [{twice}]}}',
    ):
        item = decoded(body).items[0]
        assert isinstance(item, Item)
        assert item.completion == "2"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ("[]", None),
        ("5", None),
        ('"items"', None),
        ("null", None),
        ("{}", "items"),
        ('{"items": null}', "items"),
        ('{"items": {}}', "items"),
        ('{"items": "5"}', "items"),
        ('{"items": [], "profle": "r1"}', "profle"),
        ('{"items": [5], "profle": "r1"}', "profle"),
        ('{"items": [], "deadline_s": 0}', "deadline_s"),
        ('{"items": [], "deadline_s": NaN}', "deadline_s"),
        ('{"items": [], "deadline_s": 1e999}', "deadline_s"),
        ('{"items": [], "profile": 5}', "profile"),
        ('{"items": [], "rules": {"tolerance": {"abs": -1}}}', "rules.tolerance.abs"),
        ('{"items": [], "rules": {"tolerance": {"abs": "\\ud800"}}}', "rules.tolerance.abs"),
        ('{"items": [], "\\ud800": 1}', "\ufffd"),
    ],
)
def test_an_envelope_that_cannot_be_read_is_422_with_the_path(body: str, path: str | None) -> None:
    problem = refusal(body)
    assert (problem.status, problem.name) == (422, "invalid-request")
    assert [error.path for error in problem.errors] == ([path] if path else [])


def test_a_misspelt_key_of_the_envelope_is_told_its_name() -> None:
    assert 'did you mean "deadline_s"?' in refusal('{"items": [], "deadline": 5}').detail


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "not JSON"),
        (b"   ", "not JSON"),
        (b'{"items": [', "not JSON"),
        (b'{"items": []} x', "not JSON"),
        (b"{'items': []}", "not JSON"),
        (b'{"items": [{"completion": "\xff"}]}', "not UTF-8"),
        (b'{"items": [{"completion": "\xed\xa0\xbd"}]}', "not UTF-8"),
        ('{"items": []}'.encode("utf-16"), "not UTF-8"),
        (b'{"items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too deep"),
        (b'{"items": [{"completion": "", "a": ' + b'{"a":' * 100_000, "too deep"),
        (b"[" * 100_000, "too deep"),
    ],
)
def test_what_does_not_decode_is_422(body: bytes, word: str) -> None:
    problem = refusal(body)
    assert (problem.status, problem.name) == (422, "invalid-body")
    assert word in problem.detail


def test_a_byte_order_mark_does_no_harm() -> None:
    assert len(decoded(b'\xef\xbb\xbf{"items": [{"completion": "5"}]}').items) == 1


@pytest.mark.parametrize("last", ['{"completion": ""}', "5"])
def test_too_many_items_are_413_with_the_limit_and_its_setting(last: str) -> None:
    items = ",".join(['{"completion": ""}'] * (MOST - 1))
    assert len(decoded(f'{{"items": [{items}, {last}]}}').items) == MOST
    problem = refusal(f'{{"items": [{items}, {last}, {last}]}}')
    assert (problem.status, problem.name) == (413, "too-many-items")
    assert problem.extra == {"limit": MOST, "setting": "VERIFIER_MAX_ITEMS"}
    assert f"{MOST + 1} items" in problem.detail


def test_an_envelope_of_ten_thousand_keys_is_one_fault() -> None:
    problem = refusal({"items": [], **{str(number): 1 for number in range(10_000)}})
    assert len(problem.detail) < 200


def test_golds_are_read_one_by_one() -> None:
    body = rb'{"golds": [{"gold": "5"}, {"answer": 7, "question": "why?"}, {}, 5, {"gold": "\ud800"}]}'
    assert Decoder(MOST).golds(body) == [
        GoldQuery(gold="5"),
        GoldQuery(gold=7, prompt="why?"),
        InvalidItem("golds[2].gold is missing"),
        InvalidItem("golds[3] should be an object"),
        GoldQuery(gold="\ufffd"),
    ]
    assert Decoder(MOST).golds(b'{"golds": [{"gold": null}]}') == [GoldQuery(gold=None)]


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{}", 422), (b'{"golds": 5}', 422), (b'{"golds": [], "x": 1}', 422), (b"\xff", 422)],
)
def test_golds_have_an_envelope_too(body: bytes, status: int) -> None:
    with pytest.raises(ProblemError) as caught:
        Decoder(MOST).golds(body)
    assert caught.value.status == status
    with pytest.raises(ProblemError) as caught:
        Decoder(1).golds(b'{"golds": [{"gold": 1}, {"gold": 2}]}')
    assert caught.value.status == 413


def separators(value: Any) -> int:
    """How many commas and opening brackets a value needs: by walking it, not by looking at its text."""
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + sum(map(separators, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(separators, value))
    return 0


texts = st.text(alphabet='a,[{"\\\n}]:\u00e9\ud83d')
values = st.recursive(
    texts | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(texts, inner, max_size=8),
    max_leaves=40,
)


@pytest.mark.parametrize("length", [0, 5000])  # texts far apart are skipped in another way
@given(value=values, escaped=st.booleans())
def test_values_are_counted_and_what_stands_in_texts_is_not(value: Any, escaped: bool, length: int) -> None:
    value = {"long": ",[" * length, "value": value, "\\": "x" * 10 * length + '\\"'}
    body = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    count = separators(value)
    assert not more_values_than(count + 1, body)
    if count:
        assert more_values_than(count, body)


def test_quotation_marks_inside_a_text_use_up_no_bound() -> None:
    code = 'print("a", [1], "b");' * 40_000
    assert not more_values_than(16, json.dumps({"completion": code, "gold": "5"}).encode())


@pytest.mark.parametrize(
    "value", ["[]", "{}", '""', "0", '{"a":0}', '[["",""]]', "[" * 5 + "]" * 5, '"\\\\"', '"[,"']
)
@pytest.mark.parametrize("name", ["gold", "info", "zz", "choices"])
def test_millions_of_values_are_413_before_one_is_built(value: str, name: str) -> None:
    repeated = ",".join([value] * 1_000_000)
    body = f'{{"items": [{{"completion": "", "{name}": [{repeated}]}}]}}'.encode()
    began = time.process_time()
    problem = refusal(body)
    assert (problem.status, problem.name) == (413, "too-many-values")
    assert problem.extra["setting"] == "VERIFIER_MAX_VALUES"
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "body", [b'"' * 2_000_000, b'"' + b'\\"' * 2_000_000, b"[" * 2_000_000, b'"\\' * 2_000_000]
)
def test_what_is_no_json_is_found_out_in_time_that_grows_with_its_length(body: bytes) -> None:
    began = time.process_time()
    assert refusal(body).status in (413, 422)
    assert time.process_time() - began < 2


def test_texts_full_of_commas_are_not_values() -> None:
    text = "so, [x, {y}], and " * 20_000
    batch = decoded({"items": [{"completion": text, "gold": "5"}] * MOST})
    assert all(isinstance(item, Item) and item.completion == text for item in batch.items)
