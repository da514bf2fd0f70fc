"""The race against Math-Verify: its pairs, its last line, its figures, and what it says without data."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = [
    ("a", "What is 3 + 4?", "7"),
    ("b", "Halve 3.", r"\frac{3}{2}"),
    ("c", "Name two roots of $x^2=4$.", r"\{2, -2\}"),
    ("d", "Expand it.", "x^2+3x-7"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    rows = [json.dumps({"id": name, "question": question, "answer": gold}) for name, question, gold in ROWS]
    (folder / "small.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


def run(root: Path, *options: str, data: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "MATH_DATA_DIR"}
    if data is not None:
        environment["MATH_DATA_DIR"] = str(data)
    script = root / "benchmarks" / "bench_equivalence.py"
    command = [sys.executable, str(script), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_data_it_says_what_is_missing(root: Path, tmp_path: Path) -> None:
    done = run(root, "--assert", data=None)
    assert done.returncode == 1
    assert "MATH_DATA_DIR" in done.stderr
    assert "is no folder" in run(root, data=tmp_path / "nowhere").stderr


def test_it_judges_both_sides_and_writes_its_figures(root: Path, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("math_verify")
    done = run(root, "--pairs", "8", "--json", str(tmp_path / "out.json"), data=data)
    assert done.returncode == 0, done.stderr
    last = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(r"bench_equivalence ratio=\d+\.\d ours=\d+ peer=\d+\.\d", last)
    (figures,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["files"]
    assert figures["pairs"] == figures["sample"] == figures["ours"]["pairs"] == figures["peer"]["pairs"] == 8
    assert figures["ours"]["right"] == 8
    assert figures["p50_ms"] <= figures["p99_ms"] <= figures["max_ms"]


def test_swapped_pairs_are_counted(root: Path) -> None:
    done = run(root, "--symmetry", "200", data=None)
    assert re.search(r"symmetry pairs=200 equal=\d+ unjudged=\d+ asymmetric=0 raised=0", done.stdout), (
        done.stderr
    )
