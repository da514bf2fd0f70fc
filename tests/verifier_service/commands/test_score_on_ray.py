"""`verifier score --ray` on a Ray of this machine gives what `verifier score` gives."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.verifier_service.commands.running import NOBODY, lines, verifier
from verifier_service.commands import parts
from verifier_service.commands.parts import CHUNK_ROWS

ROWS = CHUNK_ROWS * 3 + 11
WAIT_S = 300.0
SAME = ("id", "index", "reward", "verdict", "extracted", "method", "reason", "engine", "profile_hash")


def row(number: int) -> dict[str, Any]:
    return {"id": number, "completion": rf"so \boxed{{{number}}}", "gold": str(number + (number % 3 == 0))}


def scored(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as a user runs it: Ray has no way back in one."""
    command = [sys.executable, "-m", "verifier_service.cli", "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)


def records(folder: Path) -> list[dict[str, Any]]:
    return [record for part in sorted(folder.glob("part-*")) for record in records_in(part)]


def records_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_without_ray_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    file = lines(tmp_path / "in.jsonl", [row(1)])
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--ray")
    assert done.exit_code == 2
    assert "verifier-service[server,ray]" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_service_is_no_cluster(tmp_path: Path) -> None:
    file = lines(tmp_path / "in.jsonl", [row(1)])
    done = verifier("score", file, "-o", tmp_path / "out.jsonl", "--ray", "--url", NOBODY)
    assert done.exit_code == 2
    assert "--url" in done.stderr


@pytest.mark.ray
def test_the_parts_hold_what_one_file_would(tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    written = [json.dumps(row(number)) for number in range(ROWS)]
    written[7] = "{broken"
    file.write_text("\n".join(written), encoding="utf-8")
    plain = scored(file, "-o", tmp_path / "plain.jsonl")
    spread = scored(file, "-o", tmp_path / "spread.jsonl", "--ray", "--workers", "1")
    assert (spread.returncode, spread.stdout) == (plain.returncode, plain.stdout), spread.stderr
    assert len(list((tmp_path / "spread.jsonl").glob("part-*.jsonl"))) == 4
    alone = records_in(tmp_path / "plain.jsonl")
    together = records(tmp_path / "spread.jsonl")
    assert len(together) == ROWS
    for one, other in zip(alone, together, strict=True):
        assert {name: one.get(name) for name in SAME} == {name: other.get(name) for name in SAME}


@pytest.mark.ray
def test_parquet_goes_in_and_comes_out(tmp_path: Path) -> None:
    file, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.Table.from_pylist([row(number) for number in range(100)]), file, row_group_size=40)
    done = scored(file, "-o", out, "--ray", "--workers", "1", "--profile", "accuracy")
    assert done.returncode == 0, done.stderr
    table = pq.read_table(out).sort_by("index")
    assert table["index"].to_pylist() == list(range(100))
    assert table["reward"].to_pylist() == [float(number % 3 != 0) for number in range(100)]
    assert dict(table["components"][1].as_py()) == {"accuracy": 1.0}


@pytest.mark.ray
def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines(file, [row(number) for number in range(ROWS)])
    command = [sys.executable, "-m", "verifier_service.cli", "score", str(file), "-o", str(out), "--ray"]
    with subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.PIPE, text=True) as process:
        ends = time.monotonic() + WAIT_S
        while not list(out.glob("part-*")):
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < ends
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=WAIT_S)
    kept = {part.name: part.stat().st_mtime_ns for part in out.glob("part-*")}
    assert process.returncode == 130, told
    assert "goes on from there" in told
    done = scored(file, "-o", out, "--ray", "--workers", "1")
    assert done.returncode == 0, done.stderr
    assert [record["index"] for record in records(out)] == list(range(ROWS))
    assert all((out / name).stat().st_mtime_ns == before for name, before in kept.items())
    assert not list(out.glob(".*"))


def test_parts_are_as_many_as_the_test_above_believes() -> None:
    assert parts.CHUNK_ROWS * 4 > ROWS > parts.CHUNK_ROWS * 3
