"""Lines of labelled cases become items, labels and circumstances."""

import json
from pathlib import Path

import pytest

from verifier_service.cases.labels import (
    CaseError,
    Circumstances,
    Expected,
    ExpectedShare,
    Limits,
    case_of,
    read_cases,
)
from verifier_service.schema import Item

PLAIN = {"id": "a", "kind": "surds", "gold": "7", "completion": "\\boxed{7}", "expected": {"correct": True}}


def item_of(**changes: object) -> dict[str, object]:
    return case_of(PLAIN | changes).labelled[0].item


def test_every_item_is_one_that_the_wire_takes() -> None:
    row = PLAIN | {
        "question": "How much?",
        "policy": "lenient_extraction",
        "target_lang": "en",
        "format_template": "think_answer",
        "prefilled_think": True,
    }
    for case in (case_of(row), case_of({"id": "l", "target": "en", "text": "So.", "expected": 1, "tol": 0})):
        Item.model_validate(case.labelled[0].item)


def test_the_question_is_the_prompt_and_a_case_without_one_is_judged_without() -> None:
    assert item_of(question="How much?")["prompt"] == "How much?"
    assert "prompt" not in item_of(question=None)
    assert "prompt" not in item_of()


def test_lenient_extraction_becomes_a_rule() -> None:
    assert item_of(policy="lenient_extraction")["rules"] == {"extraction": "lenient"}
    assert "rules" not in item_of()


def test_the_template_goes_into_rules_and_format_reward() -> None:
    item = item_of(format_template="think_answer")
    assert item["rules"] == {"template": "think_answer"}
    assert item["profile"]["rewards"]["format"] == {"template": "think_answer"}  # type: ignore[index]


def test_a_language_is_scored_only_where_one_is_asked_for() -> None:
    assert "language" not in item_of()["profile"]["rewards"]  # type: ignore[index]
    item = item_of(target_lang="de")
    assert item["language"] == "de"
    assert "language" in item["profile"]["rewards"]  # type: ignore[index]


def test_a_bare_boolean_is_the_correctness() -> None:
    assert case_of(PLAIN | {"expected": False}).labelled[0].expected == Expected(correct=False)


def test_an_expected_null_means_no_verdict() -> None:
    assert case_of(PLAIN | {"expected": None}).labelled[0].expected == Expected(correct=None)


def test_specs_are_written_out() -> None:
    row = PLAIN | {
        "gold": None,
        "gold_spec": {"prefix": "<", "unit": "ab", "times": 3, "suffix": ">"},
        "completion_spec": {"unit": "x", "times": 2},
    }
    del row["completion"]
    item = case_of(row).labelled[0].item
    assert item["gold"] == "<ababab>"
    assert item["completion"] == "xx"


def test_a_batch_keeps_its_order_and_its_labels() -> None:
    entries = [
        {"gold": "1", "completion": "one", "correct": True},
        {"gold": "2", "completion": "two", "correct": False},
    ]
    case = case_of({"id": "b", "kind": "batch_alignment", "gold": None, "batch": entries, "expected": None})
    assert [labelled.item["completion"] for labelled in case.labelled] == ["one", "two"]
    assert [labelled.expected for labelled in case.labelled] == [Expected(True), Expected(False)]
    assert case.goes_alone


def test_an_empty_batch_is_a_case_without_items() -> None:
    case = case_of({"id": "b", "kind": "batch_alignment", "batch": [], "expected": None})
    assert case.labelled == ()
    assert case.goes_alone


def test_a_language_row_is_thinking_that_no_tag_can_end() -> None:
    row = {"id": "l", "target": "fr", "text": "a </think> b", "expected": 0.5, "tol": 0.1}
    case = case_of(row)
    assert case.kind == "language"
    assert case.labelled[0].expected == ExpectedShare(0.5, 0.1)
    assert case.labelled[0].item["completion"][0]["reasoning_content"] == "a </think> b"
    assert case.labelled[0].item["language"] == "fr"


def test_limits_and_circumstances_are_read() -> None:
    row = PLAIN | {
        "limits": {"max_seconds": 5, "max_mem_mb": 64, "must_not_crash": True},
        "context": {"burst": 7, "kill_worker_mid_request": True, "call_from": "worker_thread"},
    }
    case = case_of(row)
    assert case.limits == Limits(5, 64, must_not_crash=True)
    assert case.circumstances == Circumstances("worker_thread", 7, kill_worker=True)
    assert case.goes_alone


def test_a_plain_case_shares_its_request() -> None:
    assert not case_of(PLAIN).goes_alone
    assert case_of(PLAIN | {"must_not_execute": True}).goes_alone


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"expected": {"correct": "yes"}}, '"correct"'),
        ({"completion_spec": {"unit": "x"}}, "times"),
        ({"batch": ["text"]}, "object"),
    ],
)
def test_what_cannot_be_read_is_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        case_of(PLAIN | change)


@pytest.mark.parametrize(
    "change, note",
    [
        ({"policy": "strict"}, 'policy "strict" is not known'),
        ({"context": {"call_from": "moon"}}, 'caller "moon" is not known'),
        ({"context": {"brust": 3}}, 'context "brust" is not known'),
    ],
)
def test_an_unknown_wish_is_noted_and_the_case_judged_without(change: dict[str, object], note: str) -> None:
    case = case_of(PLAIN | change)
    assert case.notes == (note,)
    assert case.circumstances == Circumstances()


def test_a_case_whose_wishes_are_met_has_no_notes() -> None:
    assert case_of(PLAIN | {"policy": "lenient_extraction", "context": {"burst": 2}}).notes == ()


@pytest.mark.parametrize("missing", ["expected", "completion"])
def test_a_case_without_label_or_completion_is_refused(missing: str) -> None:
    row = {key: value for key, value in PLAIN.items() if key != missing}
    with pytest.raises(ValueError, match=missing):
        case_of(row)


def test_a_fault_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(PLAIN) + "\n\n{broken\n")
    with pytest.raises(CaseError, match=r"cases\.jsonl, line 3"):
        read_cases([file])


@pytest.mark.parametrize(
    "change",
    [
        {"limits": 5},
        {"context": [1]},
        {"context": {"burst": 0}},
        {"context": {"burst": "many"}},
        {"context": {"burst": None}},
        {"rules": "strict"},
        {"batch": 5},
        {"batch": [5]},
        {"policy": ["lenient"]},
        {"completion_spec": {"unit": "a", "times": None}},
    ],
)
def test_a_part_of_another_shape_is_told_by_its_line(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(PLAIN | change) + "\n")
    with pytest.raises(CaseError, match=r"cases\.jsonl, line 1"):
        read_cases([file])


def test_bytes_that_are_no_text_are_told_by_their_line(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(json.dumps(PLAIN).encode() + b'\n{"gold": "\xff"}\n')
    with pytest.raises(CaseError, match=r"cases\.jsonl, line 2"):
        read_cases([file])


def test_a_case_without_a_name_goes_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({name: PLAIN[name] for name in PLAIN if name != "id"}) + "\n")
    assert [case.id for case in read_cases([file])] == ["line 1"]


def test_files_are_read_in_order(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(json.dumps(PLAIN | {"id": name}) + "\n")
    assert [case.id for case in read_cases([tmp_path / "b", tmp_path / "a"])] == ["b", "a"]
