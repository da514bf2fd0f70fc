"""The commands from end to end: real workers, real files, exit codes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import verifier_service
from verifier_service import cases
from verifier_service.cli import app

NOBODY = "http://127.0.0.1:1"
BOXED = [
    {"id": "a", "completion": r"<think>2+3</think>\boxed{5}", "gold": "5"},
    {"id": "b", "completion": r"\boxed{6}", "gold": "5"},
    {"id": "c", "completion": "none", "gold": "5"},
]


def verifier(*arguments: str | Path, stdin: str = "") -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)), input=stdin)


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


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


def test_score_that_could_not_judge_a_row_is_a_finding(tmp_path: Path) -> None:
    file = lines(tmp_path / "in.jsonl", [*BOXED, {"gold": "5"}])
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--workers", "1")
    assert done.exit_code == 1, done.output
    assert "error: 1 x invalid_item, first in row 3: completion is missing" in done.stdout


def test_score_quietly_says_nothing(tmp_path: Path) -> None:
    file, rules = lines(tmp_path / "in.jsonl", BOXED), ["--rule", "extraction=lenient"]
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--workers", "1", "--quiet", *rules)
    assert (done.exit_code, done.output) == (0, "")


def test_explain_shows_the_steps() -> None:
    done = verifier("explain", r"\frac{1}{2}", "-", "--prompt", "Half?", stdin=r"so \boxed{0.5}")
    assert done.exit_code == 0, done.output
    assert "correct, by exact" in done.stdout
    assert "answer read as" in done.stdout


def test_explain_without_a_verdict_is_a_finding() -> None:
    done = verifier("explain", "see figure", r"\boxed{5}")
    assert done.exit_code == 1, done.output
    assert "unverifiable_gold" in done.stdout


def test_check_golds_finds_what_cannot_be_judged(tmp_path: Path) -> None:
    file = lines(tmp_path / "data.jsonl", [{"answer": "5"}, {"answer": "see figure"}])
    done = verifier("check-golds", file, "--workers", "1", "--json", "-")
    assert done.exit_code == 1, done.output
    report = json.loads(done.stdout)
    assert (report["total"], report["ok"]) == (2, 1)
    assert [one["index"] for one in report["refused"]] == [1]


def test_check_cases_counts_and_lists(tmp_path: Path) -> None:
    case: dict[str, Any] = {
        "kind": "k",
        "gold": "5",
        "completion": r"\boxed{5}",
        "limits": {"max_mem_mb": 1024},
    }
    rows = [case | {"id": "right", "expected": True}, case | {"id": "wrong", "expected": {"correct": False}}]
    file, out = lines(tmp_path / "cases.jsonl", rows), tmp_path / "report.json"
    done = verifier("check-cases", file, "--workers", "1", "--json", out)
    assert done.exit_code == 1, done.output
    report = json.loads(out.read_text())
    assert report["firm"] == {"total": 2, "right": 1, "false_positive": 1, "false_negative": 0, "null": 0}
    assert [miss["id"] for miss in report["misses"]] == ["wrong"]
    assert len(report["pids"]) == 1
    assert report["notes"] == []
    assert "wrong (false_positive)" in done.stdout


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
        (["explain", "5", "5", "--profile", "r1-zreo"], 'Nearest: "r1-zero"'),
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
