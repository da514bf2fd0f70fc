"""The labelled cases, judged by a real service over HTTP: no file may fall below its floor."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.services import VERIFIER, running_service

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Floor:
    """What a file's firm cases have to reach: a share of right ones, and how many may be paid wrongly."""

    right: float
    false_positives: int | None = None


# The one table of floors. It only ever rises.
FLOORS = {
    "math": Floor(0.99, false_positives=0),
    "hacking": Floor(1.0, false_positives=0),
    "resource": Floor(1.0, false_positives=0),
    "language": Floor(49 / 51),
}

Report = dict[str, Any]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(log=tmp_path_factory.mktemp("service") / "log") as base:
        yield base


@pytest.fixture(scope="module")
def report_on(url: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """The report of `verifier check-cases` on a file, made once."""
    work = tmp_path_factory.mktemp("reports")
    made: dict[str, Report] = {}

    def report(name: str) -> Report:
        if name not in made:
            out = work / f"{name}.json"
            command = [VERIFIER, "check-cases", CASES / f"{name}_cases.jsonl", "--url", url, "--json", out]
            done = subprocess.run(
                list(map(str, command)),
                cwd=work,
                env=os.environ | {"COLUMNS": "120"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode in (0, 1), done.stdout + done.stderr
            made[name] = json.loads(out.read_text(encoding="utf-8"))
        return made[name]

    return report


@pytest.mark.parametrize("name", FLOORS)
def test_firm_cases_reach_their_floor(report_on: Callable[[str], Report], name: str) -> None:
    report, floor = report_on(name), FLOORS[name]
    firm = report["firm"]
    misses = "\n".join(
        f"  {miss['id']}: expected {miss['expected']}, got {miss['got']} ({miss['reason']})"
        for miss in report["misses"]
        if not miss["debatable"]
    )
    assert firm["right"] >= floor.right * firm["total"], f"{firm}\n{misses}"
    assert floor.false_positives is None or firm["false_positive"] <= floor.false_positives, (
        f"{firm}\n{misses}"
    )


@pytest.mark.parametrize("name", FLOORS)
def test_each_case_counts_once(report_on: Callable[[str], Report], name: str) -> None:
    report = report_on(name)
    lines = [
        json.loads(line) for line in (CASES / f"{name}_cases.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    for key, debatable in (("firm", False), ("debatable", True)):
        tally = report[key]
        assert tally["total"] == sum(bool(line.get("debatable")) == debatable for line in lines)
        parts = ("right", "false_positive", "false_negative", "null")
        assert tally["total"] == sum(tally[part] for part in parts)


def test_one_process_served_all_resource_cases(report_on: Callable[[str], Report]) -> None:
    assert len(report_on("resource")["pids"]) == 1
