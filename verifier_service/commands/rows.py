"""Rows of a data file, one at a time: JSON lines or parquet."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier_service.commands.console import CommandError

JSON_LINES = (".jsonl", ".ndjson", ".json")
PARQUET_BATCH = 1024
_PLACE = re.compile(r"\b(?:items|golds)\[\d+\](?P<inside>\.)?")


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its number, from 0. Exactly one of `value` and `fault` is set."""

    number: int
    value: dict[str, Any] | None
    fault: str = ""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of the file in order; a row that is no object says so and stops nobody."""
    return _parquet_rows(path) if is_parquet(path) else _json_rows(path)


def count_rows(path: Path) -> int:
    if is_parquet(path):
        return int(parquet_file(path).metadata.num_rows)
    with path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())


def of_a_row(message: str) -> str:
    """A message about `items[3].gold` as one about `gold`: a place in a request is none in the file."""
    return _PLACE.sub(lambda place: "" if place["inside"] else "the row", message)


def is_parquet(path: Path) -> bool:
    if path.suffix == ".parquet":
        return True
    if path.suffix in JSON_LINES:
        return False
    raise CommandError(
        f"cannot tell what {path} is by its name", "JSON lines end in .jsonl, parquet in .parquet."
    )


def _json_rows(path: Path) -> Iterator[Row]:
    with path.open("rb") as lines:
        for number, line in enumerate(line for line in lines if line.strip()):
            yield json_row(number, line)


def json_row(number: int, line: bytes) -> Row:
    # Bytes that are no UTF-8 become U+FFFD: one bad row costs one row. Windows begins files with a mark.
    text = line.decode("utf-8-sig" if number == 0 else "utf-8", errors="replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        return Row(number, None, f"not JSON: {fault}")
    if not isinstance(value, dict):
        return Row(number, None, "not a JSON object")
    return Row(number, value)


def _parquet_rows(path: Path) -> Iterator[Row]:
    return parquet_rows(parquet_file(path).iter_batches(PARQUET_BATCH), 0)


def parquet_rows(batches: Iterable[Any], first: int) -> Iterator[Row]:
    """Rows of record batches, numbered from `first` on."""
    values = (value for batch in batches for value in batch.to_pylist())
    for number, value in enumerate(values, first):
        yield Row(number, _plain(value))


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Columns without a place in JSON (dates, decimals, bytes) as text; absent cells are left out."""
    present = {key: cell for key, cell in value.items() if cell is not None}
    plain: dict[str, Any] = json.loads(json.dumps(present, default=str))
    return plain


def parquet_file(path: Path) -> Any:
    """An open `pyarrow.parquet.ParquetFile`."""
    try:
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise CommandError(
            "reading parquet needs pyarrow", 'pip install "verifier-service[server]"'
        ) from None
    try:
        return ParquetFile(path)
    except (OSError, ValueError) as fault:  # ArrowInvalid is a ValueError
        raise CommandError(f"{path} cannot be read as parquet: {fault}") from None
