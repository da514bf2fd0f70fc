"""Which field holds the gold, and what becomes of golds that cannot be judged."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from verifier_service.commands.check_golds import BATCH, GoldReport, check_golds
from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import Row
from verifier_service.schema import GOLD_NAMES, PROMPT_NAMES, GoldsResponse

Queries = list[dict[str, Any]]


class FakeJudge:
    """Judges every gold but "bad"."""

    def __init__(self) -> None:
        self.queries: Queries = []

    def __call__(self, queries: Sequence[dict[str, Any]]) -> GoldsResponse:
        self.queries += queries
        results = [_result(place, query["gold"] != "bad") for place, query in enumerate(queries)]
        return GoldsResponse.model_validate({"results": results})


def _result(place: int, ok: bool) -> dict[str, Any]:
    refused = {"kind": None, "code": "unverifiable_gold", "reason": "bad"}
    return {"index": place, "ok": ok} | ({"kind": "number"} if ok else refused)


def checked(*values: dict[str, Any], name: str | None = None) -> tuple[GoldReport, Queries]:
    judge = FakeJudge()
    rows = [Row(number, value) for number, value in enumerate(values)]
    return check_golds(rows, judge, name=name, progress=lambda more: None), judge.queries


@pytest.mark.parametrize("name", GOLD_NAMES)
def test_the_gold_is_found_under_every_name_of_the_wire(name: str) -> None:
    _, queries = checked({name: "5", "level": 3})
    assert queries == [{"gold": "5"}]


@pytest.mark.parametrize("name", PROMPT_NAMES)
def test_the_prompt_goes_with_it(name: str) -> None:
    _, queries = checked({"gold": "5", name: "How many?"})
    assert queries == [{"gold": "5", "prompt": "How many?"}]


def test_the_canonical_name_wins() -> None:
    _, queries = checked({"answer": "other", "gold": "5"})
    assert queries == [{"gold": "5"}]


def test_a_named_field_is_reached_inside() -> None:
    _, queries = checked(
        {"answer": "x", "reward_model": {"ground_truth": "5"}}, name="reward_model.ground_truth"
    )
    assert queries == [{"gold": "5"}]


def test_a_missing_gold_is_asked_about_as_null() -> None:
    _, queries = checked({"gold": "5"}, {"level": 3})
    assert queries[1] == {"gold": None}


@pytest.mark.parametrize("name", [None, "key", "level.key"])
def test_a_file_without_golds_says_what_it_has(name: str | None) -> None:
    with pytest.raises(CommandError, match="no gold") as error:
        checked({"level": 3, "text": "x"}, name=name)
    assert "level, text" in error.value.hint
    assert "--gold" in error.value.hint


def test_counts_are_by_kind_and_refusals_by_row() -> None:
    report, _ = checked({"gold": "5"}, {"gold": "bad"}, {"gold": "6"})
    report_as_json = json.loads(json.dumps(report.as_dict()))
    assert report_as_json == {
        "total": 3,
        "ok": 2,
        "kinds": {"number": 2},
        "codes": {"unverifiable_gold": 1},
        "refused": [{"index": 1, "gold": "bad", "code": "unverifiable_gold", "reason": "bad"}],
    }


def test_a_row_that_cannot_be_read_is_refused_in_its_place() -> None:
    rows = [Row(0, {"gold": "5"}), Row(1, None, "not JSON"), Row(2, {"gold": "bad"})]
    report = check_golds(rows, FakeJudge(), name=None, progress=lambda more: None)
    assert report.total == 3
    assert [(one.index, one.code) for one in report.refused] == [
        (1, "invalid_item"),
        (2, "unverifiable_gold"),
    ]


def test_large_files_go_in_batches() -> None:
    done: list[int] = []
    rows = (Row(number, {"gold": "5"}) for number in range(BATCH + 3))
    report = check_golds(rows, FakeJudge(), name=None, progress=done.append)
    assert done == [BATCH, 3]
    assert report.total == BATCH + 3


def test_what_json_has_no_room_for_is_written_as_text() -> None:
    rows = [Row(0, {"gold": "5"}), Row(1, {"gold": {"any_of": [float("nan"), float("-inf")]}})]

    def refuses(queries: Sequence[dict[str, Any]]) -> GoldsResponse:
        return GoldsResponse.model_validate({"results": [_result(place, place == 0) for place in (0, 1)]})

    report = check_golds(rows, refuses, name=None, progress=lambda more: None)
    assert report.as_dict()["refused"][0]["gold"] == {"any_of": ["NaN", "-Infinity"]}


def test_a_place_in_the_request_is_none_in_the_file() -> None:
    def refuses(queries: Sequence[dict[str, Any]]) -> GoldsResponse:
        refused = {"index": 0, "ok": False, "code": "invalid_item", "reason": "golds[0].gold should be text"}
        return GoldsResponse.model_validate({"results": [refused]})

    report = check_golds([Row(7, {"gold": True})], refuses, name=None, progress=lambda more: None)
    assert (report.refused[0].index, report.refused[0].reason) == (7, "gold should be text")
