"""What `check-cases` prints of a report."""

import io

import pytest
from rich.console import Console

from verifier_service.cases.grading import Graded
from verifier_service.cases.labels import Case
from verifier_service.cases.report import Report
from verifier_service.commands import check_cases

RIGHT = (Case("a", "surds", False, ()), Graded("right"))
MISS = (Case("b", "units", False, ()), Graded("false_positive", "not correct", "correct", "5 m is\n\x1b[2J5"))
DEBATABLE = (Case("c", "surds", True, ()), Graded("null", "correct", "null (internal)"))


def shown(report: Report) -> list[str]:
    screen = Console(file=io.StringIO(), width=100, highlight=False, markup=False, emoji=False)
    check_cases.show(report, screen)
    assert isinstance(screen.file, io.StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


@pytest.mark.parametrize(
    "line",
    [
        "surds     1      1      0               0               0",
        "units     1      0      1               0               0",
        "all firm  2      1      1               0               0",
        "debatable, counted apart: 1 total, 0 right, 0 false positive, 0 false negative, 1 null",
        "  b (false_positive): expected not correct, got correct  5 m is \\x1b[2J5",
        "  c (null): expected correct, got null (internal)",
        "note: memory not measured",
    ],
)
def test_kinds_misses_and_notes_are_told(line: str) -> None:
    assert line in shown(Report([RIGHT, MISS, DEBATABLE], pids=[1], notes=["memory not measured"]))


def test_nothing_missed_is_nothing_listed() -> None:
    assert not any("missed" in line for line in shown(Report([RIGHT], pids=[1])))


def test_a_restart_of_the_service_is_told() -> None:
    assert "the service did not live through the cases: pids 1, 2" in shown(Report([RIGHT], pids=[1, 2]))
