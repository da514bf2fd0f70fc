"""The commands from end to end, judging in process; what wrong use is told.

Workers take a second to start: whatever needs none of its own is tried in test_service.py.
"""

import json
from pathlib import Path

import pytest

import verifier_service
from tests.verifier_service.commands.running import BOXED, NOBODY, lines, verifier
from verifier_service import cases


def test_score_writes_results_and_a_table(tmp_path: Path) -> None:
    file, out = lines(tmp_path / "in.jsonl", BOXED), tmp_path / "out.jsonl"
    done = verifier("score", file, "-o", out, "--profile", "r1-zero", "--workers", "1")
    assert done.exit_code == 0, done.output
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(record["id"], record["verdict"]) for record in records] == [
        ("a", "correct"),
        ("b", "incorrect"),
        ("c", "no_answer"),
    ]
    assert [record["reward"] for record in records] == [2, 0, 0]
    assert "mean reward 0.6667 over 3 rows" in done.stdout
    assert "\x1b" not in done.output


def test_cases_run_in_process_for_whoever_imports_them(tmp_path: Path) -> None:
    row = {"id": "1", "kind": "k", "gold": "7", "completion": r"\boxed{7}", "expected": True}
    killed = row | {"id": "2", "completion": r"\boxed{7} ", "context": {"kill_worker_mid_request": True}}
    report = cases.run([lines(tmp_path / "cases.jsonl", [row, killed])], workers=1)
    assert report.tally(debatable=False)["right"] == 2
    assert not report.found_fault


@pytest.mark.parametrize("command", ["check-golds", "check-cases", "score"])
def test_a_service_that_is_not_there_is_code_three(tmp_path: Path, command: str) -> None:
    file = lines(tmp_path / "in.jsonl", [BOXED[0] | {"expected": True}])
    more: list[str | Path] = ["-o", tmp_path / "out.jsonl"] if command == "score" else []
    done = verifier(command, file, "--url", NOBODY, *more)
    assert done.exit_code == 3
    assert f"no reply from {NOBODY}" in done.stderr


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["score", "missing.jsonl", "-o", "out.jsonl"], "does not exist"),
        (["explain", "5", "5", "--rule", "echo=1"], 'no rule "echo"'),
        (["explain", "5", "5", "--url", ""], "no address"),
        (["check-cases", "missing.jsonl"], "does not exist"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_wrong_use_is_code_two(arguments: list[str], told: str) -> None:
    done = verifier(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.parametrize("option", ["--workers=2", "--profiles=."])
def test_options_of_judging_in_process_do_not_go_with_a_service(tmp_path: Path, option: str) -> None:
    file = lines(tmp_path / "in.jsonl", BOXED)
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--url", NOBODY, option)
    assert done.exit_code == 2
    assert "for judging in process" in done.stderr


def test_a_line_that_is_no_case_is_wrong_use(tmp_path: Path) -> None:
    done = verifier("check-cases", lines(tmp_path / "cases.jsonl", [{"gold": "5"}]))
    assert done.exit_code == 2
    assert "line 1" in done.stderr


def test_the_version_is_told() -> None:
    assert verifier("--version").stdout == f"{verifier_service.__version__}\n"
