"""A large file in chunks that many machines can judge, and a folder with one part of results for each."""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import (
    PARQUET_BATCH,
    Row,
    is_parquet,
    json_row,
    parquet_file,
    parquet_rows,
)
from verifier_service.commands.score import STAMP, Record

CHUNK_ROWS = 2048
# Readers of such folders pass over names that begin with an underscore or a dot.
MANIFEST = "_source.json"
PARTS = {".jsonl": "JSON lines", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows in a row. place: byte offset of its first line, or the number of its row group."""

    number: int
    first: int  # number of its first row
    rows: int
    place: int


def chunks_of(path: Path) -> list[Chunk]:
    """JSON lines by 2048 rows; parquet by its row groups, which cannot be read in pieces."""
    return list(_row_groups(path) if is_parquet(path) else _line_chunks(path))


def rows_of(path: Path, chunk: Chunk) -> Iterator[Row]:
    if is_parquet(path):
        batches = parquet_file(path).iter_batches(PARQUET_BATCH, row_groups=[chunk.place])
        yield from parquet_rows(batches, chunk.first)
        return
    with path.open("rb") as file:
        file.seek(chunk.place)
        written = (line for line in file if line.strip())
        for number, line in enumerate(islice(written, chunk.rows), chunk.first):
            yield json_row(number, line)


def _row_groups(path: Path) -> Iterator[Chunk]:
    metadata = parquet_file(path).metadata
    first = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        yield Chunk(group, first, rows, group)
        first += rows


def _line_chunks(path: Path) -> Iterator[Chunk]:
    number = first = rows = offset = place = 0
    with path.open("rb") as lines:
        for line in lines:
            rows += bool(line.strip())
            offset += len(line)
            if rows == CHUNK_ROWS:
                yield Chunk(number, first, rows, place)
                number, first, rows, place = number + 1, first + rows, 0, offset
    if rows:
        yield Chunk(number, first, rows, place)


@dataclass(frozen=True, slots=True)
class Parts:
    """OUT: a folder whose name says in which format its parts are."""

    folder: Path

    def path(self, chunk: Chunk) -> Path:
        return self.folder / f"part-{chunk.number:06d}{self.folder.suffix}"

    @contextmanager
    def writing(self, chunk: Chunk) -> Iterator["Writer"]:
        """The part is there as a whole or not at all, whoever dies meanwhile, and however often it is tried."""
        draft = self.folder / f".{self.path(chunk).name}.{uuid.uuid4().hex}"
        try:
            with _ParquetWriter(draft) if is_parquet(self.folder) else _LinesWriter(draft) as writer:
                yield writer
            draft.replace(self.path(chunk))
        finally:
            draft.unlink(missing_ok=True)

    def read(self, chunk: Chunk) -> Iterator[Record]:
        path = self.path(chunk)
        if is_parquet(path):
            for batch in parquet_file(path).iter_batches(PARQUET_BATCH):
                yield from batch.to_pylist()
            return
        with path.open("rb") as lines:
            yield from map(json.loads, lines)


class Writer(Protocol):
    def append(self, records: Sequence[Record]) -> None: ...


class _LinesWriter:
    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="ascii")

    def append(self, records: Sequence[Record]) -> None:
        self._file.writelines(json.dumps(record) + "\n" for record in records)

    def __enter__(self) -> "_LinesWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


class _ParquetWriter:
    """All parts have one schema, whatever their rows lack."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter

        text, number = pa.string(), pa.float64()
        self._schema = pa.schema(
            {
                "id": text,
                "index": pa.int64(),
                "status": text,
                "reward": number,
                "components": pa.map_(text, number),
                "scores": pa.map_(text, number),
                "verdict": text,
                "extracted": text,
                "method": text,
                "reason": text,
                "cached": pa.bool_(),
                "elapsed_ms": number,
                "warnings": pa.list_(text),
                "error": pa.struct({"code": text, "message": text, "retryable": pa.bool_()}),
                "profile": text,
                **dict.fromkeys(STAMP, text),
            }
        )
        self._file = ParquetWriter(path, self._schema)

    def append(self, records: Sequence[Record]) -> None:
        from pyarrow import Table

        self._file.write_table(Table.from_pylist([_for_parquet(each) for each in records], self._schema))

    def __enter__(self) -> "_ParquetWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _for_parquet(record: Record) -> Record:
    # JSON can hold half a surrogate pair, which is no text elsewhere.
    record = json.loads(json.dumps(record, ensure_ascii=False).encode(errors="replace"))
    maps = {name: list(record[name].items()) for name in ("components", "scores")}
    name = record["id"]
    return record | maps | {"id": None if name is None else str(name)}


def parts_at(out: Path, source: Path, chunks: Sequence[Chunk], stamp: Record) -> Parts:
    """OUT, ready to be filled, or to be filled up. Refuses a folder that is another's or of other judging."""
    if out.suffix not in PARTS:
        raise CommandError(f"cannot tell the format of {out}", "Name it OUT.jsonl or OUT.parquet.")
    if out.exists() and not out.is_dir():
        raise CommandError(f"{out} is a file", "With --ray OUT is a folder; give another name.")
    if not out.parent.is_dir():
        raise CommandError(f"no folder {out.parent}")
    now = {"source": source.name, "bytes": source.stat().st_size, "chunks": len(chunks)} | stamp
    manifest = out / MANIFEST
    if manifest.exists():
        _check_same(json.loads(manifest.read_text(encoding="utf-8")), now, out)
        for draft in out.glob(".part-*"):  # of a judge that was killed
            draft.unlink()
    elif out.exists() and any(out.iterdir()):
        raise CommandError(f"{out} is no output of `verifier score --ray`", "Give another OUT.")
    else:
        out.mkdir(exist_ok=True)
        manifest.write_text(json.dumps(now) + "\n", encoding="utf-8")
    return Parts(out.resolve())


def _check_same(before: dict[str, Any], now: dict[str, Any], out: Path) -> None:
    for name, value in now.items():
        if before.get(name) != value:
            raise CommandError(
                f"{out} was judged with {name} {before.get(name)}, now it is {value}",
                "Give another OUT, or remove this one to judge all of it again.",
            )
