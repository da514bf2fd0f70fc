"""A file in chunks, and a folder of parts, are the same rows in the same order."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from verifier_service.commands.console import CommandError
from verifier_service.commands.parts import CHUNK_ROWS, MANIFEST, Chunk, chunks_of, parts_at, rows_of
from verifier_service.commands.rows import count_rows, read_rows
from verifier_service.schema import Result

STAMP = {"engine": "e", "profile_hash": "p"}


def json_lines(folder: Path, rows: int) -> Path:
    path = folder / "data.jsonl"
    lines = ['﻿{"gold": "first"}', "", "   ", "{broken", '{"gold": "\x85 \u2028"}']
    lines += [json.dumps({"gold": str(number)}) for number in range(rows - 3)]
    path.write_bytes("\r\n".join(lines).encode() + b'\n{"gold": "\xff"}')
    return path


@pytest.mark.parametrize("rows", [3, CHUNK_ROWS - 1, CHUNK_ROWS, 2 * CHUNK_ROWS + 5])
def test_chunks_of_lines_are_the_rows_of_the_file(tmp_path: Path, rows: int) -> None:
    path = json_lines(tmp_path, rows)
    chunks = chunks_of(path)
    assert [row for chunk in chunks for row in rows_of(path, chunk)] == list(read_rows(path))
    assert sum(chunk.rows for chunk in chunks) == count_rows(path) == rows + 1
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.rows <= CHUNK_ROWS for chunk in chunks)


def test_chunks_of_parquet_are_its_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"gold": [str(number) for number in range(10)]}), path, row_group_size=4)
    chunks = chunks_of(path)
    assert [(chunk.first, chunk.rows) for chunk in chunks] == [(0, 4), (4, 4), (8, 2)]
    assert [row for chunk in chunks for row in rows_of(path, chunk)] == list(read_rows(path))


def test_an_empty_file_has_no_chunks(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("\n\n")
    assert chunks_of(path) == []


def record(index: int, **changes: Any) -> dict[str, Any]:
    fields = {"index": index, "status": "ok", "reward": 1.0, "verdict": "correct", **changes}
    return Result.model_validate(fields).model_dump(mode="json") | STAMP


RECORDS = [
    record(0, id=7, components={"accuracy": 1.0}, scores={"accuracy": 1.0, "format": None}, warnings=["w"]),
    record(
        1,
        status="error",
        reward=None,
        verdict=None,
        error={"code": "deadline", "message": "\ud800 late", "retryable": True},
    ),
    record(2, id="x", extracted="5", profile="r1-zero"),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_part_is_read_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / "data.jsonl"
    source.write_text("{}\n" * 3)
    (chunk,) = chunks_of(source)
    parts = parts_at(tmp_path / f"out{suffix}", source, [chunk], STAMP)
    with parts.writing(chunk) as part:
        part.append(RECORDS[:2])
        part.append(RECORDS[2:])
    back = list(parts.read(chunk))
    for name in ("index", "status", "reward", "verdict", "warnings", "extracted", "reason", *STAMP):
        assert [each[name] for each in back] == [each[name] for each in RECORDS]
    assert [(each.get("error") or {}).get("code") for each in back] == [None, "deadline", None]
    assert dict(back[0]["scores"]) == RECORDS[0]["scores"]
    assert set(back[2]) >= set(RECORDS[2])


def test_a_part_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "data.jsonl"
    source.write_text("{}\n")
    chunk = Chunk(0, 0, 1, 0)
    parts = parts_at(tmp_path / "out.jsonl", source, [chunk], STAMP)

    def die_at_work() -> None:
        with parts.writing(chunk) as part:
            part.append(RECORDS)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        die_at_work()
    assert [path.name for path in parts.folder.iterdir()] == [MANIFEST]


def test_out_is_not_mixed_with_anything_else(tmp_path: Path) -> None:
    source = tmp_path / "data.jsonl"
    source.write_text("{}\n")
    chunks = chunks_of(source)
    with pytest.raises(CommandError, match="format"):
        parts_at(tmp_path / "out", source, chunks, STAMP)
    (tmp_path / "file.jsonl").write_text("")
    with pytest.raises(CommandError, match="is a file"):
        parts_at(tmp_path / "file.jsonl", source, chunks, STAMP)
    (tmp_path / "other.jsonl").mkdir()
    (tmp_path / "other.jsonl" / "thing").write_text("")
    with pytest.raises(CommandError, match="no output of"):
        parts_at(tmp_path / "other.jsonl", source, chunks, STAMP)
    out = tmp_path / "out.jsonl"
    parts_at(out, source, chunks, STAMP)
    (out / ".part-000000.jsonl.draft").write_text("left behind by a judge that was killed")
    parts_at(out, source, chunks, STAMP)
    assert [path.name for path in out.iterdir()] == [MANIFEST]
    with pytest.raises(CommandError, match="engine e, now it is f"):
        parts_at(out, source, chunks, STAMP | {"engine": "f"})
    source.write_text("{}\n{}\n")
    with pytest.raises(CommandError, match="bytes"):
        parts_at(out, source, chunks, STAMP)
