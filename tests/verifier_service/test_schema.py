"""The wire types alone: what they take, what they refuse, what they write."""

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from verifier_service.schema import (
    COMPLETION_NAMES,
    GOLD_NAMES,
    PROMPT_NAMES,
    AllOf,
    AnyOf,
    GoldQuery,
    Item,
    ItemError,
    Message,
    ProfileSpec,
    Result,
    ScoreRequest,
)


@pytest.mark.parametrize("name", COMPLETION_NAMES)
def test_a_completion_has_every_one_of_its_names(name: str) -> None:
    assert Item.model_validate_json(json.dumps({name: "5"})).completion == "5"


@pytest.mark.parametrize("name", GOLD_NAMES)
def test_a_gold_has_every_one_of_its_names(name: str) -> None:
    assert Item.model_validate_json(json.dumps({"completion": "5", name: "7"})).gold == "7"
    assert GoldQuery.model_validate({name: 7}).gold == 7


@pytest.mark.parametrize("name", PROMPT_NAMES)
def test_a_prompt_has_every_one_of_its_names(name: str) -> None:
    assert Item.model_validate_json(json.dumps({"completion": "5", name: "why?"})).prompt == "why?"


def test_the_canonical_name_wins_wherever_it_stands() -> None:
    item = Item.model_validate_json('{"response": "a", "completion": "b", "answer": "1", "gold": "2"}')
    assert (item.completion, item.gold) == ("b", "2")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("null", None),
        ('"1/2"', "1/2"),
        ("5", 5),
        ("0.5", 0.5),
        ("-0.0", -0.0),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ('["1", 2, 0.5]', ["1", 2, 0.5]),
        ("[]", []),
        ('{"any_of": ["1", 2]}', AnyOf(any_of=["1", 2])),
        ('{"all_of": ["1"]}', AllOf(all_of=["1"])),
    ],
)
def test_every_shape_of_a_gold_is_read_as_it_is(sent: str, read: object) -> None:
    item = Item.model_validate_json(f'{{"completion": "", "gold": {sent}}}')
    assert item.gold == read
    assert type(item.gold) is type(read)


@pytest.mark.parametrize(
    "sent",
    [
        "true",
        "NaN",
        "Infinity",
        "1e999",
        "[true]",
        "[null]",
        "[[1]]",
        "[NaN]",
        "{}",
        '{"any_of": []}',
        '{"any_of": "5"}',
        '{"any_of": [1], "all_of": [1]}',
        '{"one_of": [1]}',
    ],
)
def test_what_is_no_gold_is_refused(sent: str) -> None:
    with pytest.raises(ValidationError, match="should be a string, a finite number"):
        Item.model_validate_json(f'{{"completion": "", "gold": {sent}}}')


def test_a_gold_of_numpy_is_a_number_like_any_other() -> None:
    numpy = pytest.importorskip("numpy")
    gold = Item(completion="", gold=[numpy.int64(5), numpy.float32(0.5)]).gold
    assert gold == [5, 0.5]
    assert [type(one) for one in gold] == [int, float]  # type: ignore[union-attr]


def test_an_id_of_true_is_no_id() -> None:
    with pytest.raises(ValidationError):
        Item.model_validate_json('{"completion": "", "id": true}')


def test_reasoning_has_two_names() -> None:
    for name in ("reasoning_content", "reasoning"):
        message = Message.model_validate({"role": "assistant", "content": "5", name: "because"})
        assert message.reasoning_content == "because"
        assert message.model_dump() == {
            "role": "assistant",
            "content": "5",
            "reasoning_content": "because",
        }


def test_a_profile_says_schema_on_the_wire() -> None:
    spec = ProfileSpec.model_validate({"schema": 1, "rewards": {"accuracy": {"weight": 2}}})
    assert spec.model_dump(by_alias=True)["schema"] == 1
    with pytest.raises(ValidationError):
        ProfileSpec.model_validate({"schema": 2, "rewards": {"accuracy": {}}})


def test_an_unknown_key_of_the_envelope_is_refused() -> None:
    with pytest.raises(ValidationError, match="profle"):
        ScoreRequest.model_validate({"items": [], "profle": "r1"})


def test_a_list_of_wrong_members_is_one_error_not_millions() -> None:
    with pytest.raises(ValidationError) as caught:
        ScoreRequest.model_validate_json(b'{"items": [' + b"1," * 10_000 + b"1]}")
    assert caught.value.error_count() == 1
    for place in ('"choices": [%s]', '"gold": [%s]', '"gold": {"any_of": [%s]}', '"prompt": [%s]'):
        members = ",".join(["[]"] * 10_000)
        with pytest.raises(ValidationError) as caught:
            Item.model_validate_json('{"completion": "", %s}' % (place % members))
        assert caught.value.error_count() <= 3


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [("correct", "right"), ("incorrect", "wrong"), ("no_answer", "wrong"), (None, "no_verdict")],
)
def test_a_result_has_one_of_three_outcomes(verdict: object, outcome: str) -> None:
    result = Result.model_validate({"index": 0, "status": "ok", "reward": 0, "verdict": verdict})
    assert result.outcome == outcome


def test_a_reply_says_null_never_nan_and_leaves_out_what_was_not_asked_for() -> None:
    result = Result(index=0, status="ok", reward=math.nan, verdict=None, scores={"language": None})
    sent = json.loads(result.model_dump_json(), parse_constant=pytest.fail)
    assert sent["reward"] is None
    assert sent["scores"] == {"language": None}
    assert not {"error", "profile", "info", "explanation"} & sent.keys()
    result.error = ItemError(code="internal", message="", retryable=True)
    assert json.loads(result.model_dump_json())["error"]["code"] == "internal"


@pytest.mark.parametrize("gold", ["5", 5, ["1", 2], AnyOf(any_of=["1", 2]), AllOf(all_of=["1"]), None])
def test_an_item_that_was_written_is_read_as_the_same(gold: Any) -> None:
    item = Item(completion=[Message(role="user", content="5", reasoning_content="r")], gold=gold, id=3)
    assert Item.model_validate_json(item.model_dump_json()) == item
    assert Item.model_validate(item.model_dump(exclude_unset=True)) == item
