"""The commands against a real service: --url."""

import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq

from tests.verifier_service.commands.running import BOXED, lines, verifier

CASE: dict[str, Any] = {"kind": "numbers", "gold": "5", "completion": r"so \boxed{5}"}


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_score_takes_json_lines_and_parquet_alike(tmp_path: Path, url: str) -> None:
    rows = lines(tmp_path / "rows.jsonl", BOXED)
    pq.write_table(pa.Table.from_pylist(BOXED), tmp_path / "rows.parquet")
    verdicts = []
    for file in (rows, tmp_path / "rows.parquet"):
        out = tmp_path / f"{file.suffix[1:]}-scored.jsonl"
        done = verifier("score", file, "-o", out, "--url", url, "--batch", "2")
        assert done.exit_code == 0, done.output
        verdicts.append([(record["id"], record["index"], record["verdict"]) for record in records(out)])
    assert verdicts[0] == verdicts[1] == [("a", 0, "correct"), ("b", 1, "incorrect"), ("c", 2, "no_answer")]


def test_score_goes_on_behind_a_line_that_was_cut_off(tmp_path: Path, url: str) -> None:
    file, out = lines(tmp_path / "rows.jsonl", BOXED), tmp_path / "out.jsonl"
    assert verifier("score", file, "-o", out, "--url", url).exit_code == 0
    whole = records(out)
    out.write_bytes(out.read_bytes()[:-40])
    done = verifier("score", file, "-o", out, "--url", url)
    assert done.exit_code == 0, done.output
    assert [record | {"elapsed_ms": 0} for record in records(out)] == [
        record | {"elapsed_ms": 0} for record in whole
    ]


def test_score_does_not_mix_profiles_in_a_file(tmp_path: Path, url: str) -> None:
    file, out = lines(tmp_path / "rows.jsonl", BOXED), tmp_path / "out.jsonl"
    assert verifier("score", file, "-o", out, "--url", url).exit_code == 0
    before = out.read_bytes()
    done = verifier("score", file, "-o", out, "--url", url, "--profile", "r1-zero")
    assert done.exit_code == 2
    assert "was judged with profile_hash" in done.stderr
    assert out.read_bytes() == before


def test_a_bad_row_costs_that_row_and_is_a_finding(tmp_path: Path, url: str) -> None:
    file = lines(tmp_path / "rows.jsonl", [*BOXED, {"gold": "5"}])
    file.write_text(file.read_text() + "{broken\n" + json.dumps(BOXED[0]) + "\n")
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--url", url)
    assert done.exit_code == 1, done.output
    assert [record["reward"] for record in records(tmp_path / "out.jsonl")] == [1, 0, 0, None, None, 1]
    assert "error: 2 x invalid_item, first in row 3: completion is missing" in done.stdout
    assert "mean reward 0.5000 over 4 rows" in done.stdout


def test_score_quietly_says_nothing(tmp_path: Path, url: str) -> None:
    file, rules = lines(tmp_path / "in.jsonl", BOXED), ["--rule", "extraction=lenient"]
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--url", url, "--quiet", *rules)
    assert (done.exit_code, done.output) == (0, "")


def test_a_profile_that_the_service_has_not_is_wrong_use(url: str) -> None:
    done = verifier("explain", "5", r"\boxed{5}", "--url", url, "--profile", "r1-zreo")
    assert done.exit_code == 2
    assert 'Nearest: "r1-zero"' in done.stderr


def test_explain_shows_the_steps(url: str) -> None:
    done = verifier(
        "explain", r"\frac{1}{2}", "-", "--prompt", "Half?", "--url", url, stdin=r"so \boxed{0.5}"
    )
    assert done.exit_code == 0, done.output
    assert "correct, by exact" in done.stdout
    assert "answer read as" in done.stdout


def test_explain_without_a_verdict_is_a_finding(url: str) -> None:
    done = verifier("explain", "see figure", r"\boxed{5}", "--url", url)
    assert done.exit_code == 1, done.output
    assert "unverifiable_gold" in done.stdout


def test_what_begins_with_a_minus_goes_after_two(url: str) -> None:
    done = verifier("explain", "--url", url, "--", "-5", r"\boxed{-5}")
    assert done.stdout.startswith("correct, by text")


def test_check_golds_names_the_rows_and_writes_the_report(tmp_path: Path, url: str) -> None:
    file = lines(tmp_path / "data.jsonl", [{"meta": {"key": "5"}}, {"meta": {"key": "see figure"}}])
    report = tmp_path / "report.json"
    done = verifier("check-golds", file, "--gold", "meta.key", "--url", url, "--json", report)
    assert done.exit_code == 1, done.output
    assert "1 of 2 golds can be judged" in done.stdout
    assert "row 1: unverifiable_gold" in done.stdout
    assert json.loads(report.read_text())["codes"] == {"unverifiable_gold": 1}


def test_the_report_of_cases_is_exactly_this(tmp_path: Path, url: str) -> None:
    rows = [
        CASE | {"id": "bare", "expected": True},
        CASE | {"id": "paid", "expected": False},
        CASE | {"id": "unpaid", "kind": "words", "gold": "6", "expected": {"correct": True}},
        CASE | {"id": "null due", "gold": "see figure", "expected": None},
        CASE | {"id": "null", "gold": "see figure", "expected": True},
        CASE | {"id": "layout", "expected": {"correct": True, "format": True}},
        CASE | {"id": "arguable", "expected": False, "debatable": True},
        {
            "id": "share",
            "target": "de",
            "text": "Das ist ein ganz einfacher Satz.",
            "expected": 0.1,
            "tol": 0.05,
        },
    ]
    done = verifier("check-cases", lines(tmp_path / "cases.jsonl", rows), "--url", url, "--json", "-")
    assert done.exit_code == 1, done.output
    report = json.loads(done.stdout)
    assert list(report) == ["firm", "debatable", "kinds", "misses", "pids", "notes"]
    assert report["firm"] == tally(right=2, false_positive=2, false_negative=2, null=1)
    assert report["debatable"] == tally(false_positive=1)
    assert report["kinds"]["words"] == tally(false_negative=1) | {"debatable": tally()}
    assert report["kinds"]["language"] == tally(false_positive=1) | {"debatable": tally()}
    misses = [(miss["id"], miss["outcome"], miss["debatable"]) for miss in report["misses"]]
    assert misses == [
        ("paid", "false_positive", False),
        ("unpaid", "false_negative", False),
        ("null", "null", False),
        ("layout", "false_negative", False),
        ("share", "false_positive", False),
        ("arguable", "false_positive", True),
    ]
    assert report["misses"][0] == {
        "id": "paid",
        "kind": "numbers",
        "expected": "not correct",
        "got": "correct",
        "reason": "equal text",
        "outcome": "false_positive",
        "debatable": False,
    }
    assert report["pids"] == [httpx.get(f"{url}/info", trust_env=False).json()["pid"]]
    assert report["notes"] == []


def tally(**counts: int) -> dict[str, int]:
    ways = {"right": 0, "false_positive": 0, "false_negative": 0, "null": 0} | counts
    return {"total": sum(ways.values())} | ways


def test_a_miss_that_is_arguable_is_no_finding(tmp_path: Path, url: str) -> None:
    file = lines(tmp_path / "cases.jsonl", [CASE | {"id": "a", "expected": False, "debatable": True}])
    done = verifier("check-cases", file, "--url", url)
    assert done.exit_code == 0, done.output
    assert "a (false_positive)" in done.stdout


def test_the_service_lives_through_a_lost_worker(tmp_path: Path, url: str) -> None:
    killed = CASE | {"id": "k", "expected": True, "context": {"kill_worker_mid_request": True}}
    bomb = CASE | {"id": "b", "completion": r"\boxed{7^{10^{10}}}", "expected": False}
    file = lines(tmp_path / "cases.jsonl", [killed, bomb])
    done = verifier("check-cases", file, "--url", url, "--json", "-")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["pids"]) == 1
    assert done.stderr == ""
