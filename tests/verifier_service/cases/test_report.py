"""The counts and the JSON of check-cases."""

import json

from verifier_service.cases.grading import SEVERITY, Graded
from verifier_service.cases.labels import Case, Expected, Labelled
from verifier_service.cases.report import Report

OUTCOMES = ("right", "false_positive", "false_negative", "null")


def ending(name: str, outcome: str, *, kind: str = "k", debatable: bool = False) -> tuple[Case, Graded]:
    case = Case(name, kind, debatable, (Labelled({"completion": ""}, Expected(True)),))
    return case, Graded(outcome, "correct", "got", "why")  # type: ignore[arg-type]


def test_each_case_counts_once() -> None:
    report = Report([ending(outcome, outcome) for outcome in OUTCOMES] + [ending("r", "right")])
    firm = report.as_dict()["firm"]
    assert firm == {"total": 5, "right": 2, "false_positive": 1, "false_negative": 1, "null": 1}
    assert firm["total"] == sum(firm[outcome] for outcome in OUTCOMES)


def test_debatable_cases_stand_apart() -> None:
    report = Report([ending("f", "right"), ending("d", "null", debatable=True)])
    assert report.as_dict()["firm"]["total"] == 1
    assert report.as_dict()["debatable"]["null"] == 1
    assert report.as_dict()["kinds"]["k"]["debatable"]["null"] == 1
    assert report.as_dict()["kinds"]["k"]["total"] == 1
    assert not report.found_fault


def test_a_firm_miss_is_a_finding() -> None:
    for outcome in SEVERITY:
        assert Report([ending("f", outcome)]).found_fault == (outcome != "right")


def test_a_second_pid_is_a_finding() -> None:
    assert Report([ending("f", "right")], pids=[1, 2]).found_fault
    assert not Report([ending("f", "right")], pids=[1]).found_fault


def test_kinds_are_counted_apart() -> None:
    report = Report([ending("a", "right", kind="x"), ending("b", "null", kind="y")])
    kinds = report.as_dict()["kinds"]
    assert kinds["x"]["right"] == 1
    assert kinds["y"]["null"] == 1
    assert kinds["x"]["total"] == kinds["y"]["total"] == 1


def test_misses_are_listed_firm_ones_first() -> None:
    report = Report([ending("d", "null", debatable=True), ending("r", "right"), ending("f", "null")])
    misses = json.loads(json.dumps(report.as_dict()))["misses"]
    assert [miss["id"] for miss in misses] == ["f", "d"]
    assert {"id", "kind", "expected", "got", "reason"} <= set(misses[0])
