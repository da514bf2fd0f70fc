"""Rows of data files, and what a bad row costs."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import Row, count_rows, of_a_row, read_rows


def test_json_lines_are_numbered_without_the_blank_ones(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text('{"gold": 1}\n\n  \n{"gold": 2}')
    assert list(read_rows(file)) == [Row(0, {"gold": 1}), Row(1, {"gold": 2})]
    assert count_rows(file) == 2


@pytest.mark.parametrize("line", ["{broken", "[1]", "5", "[" * 100_000])
def test_a_bad_row_says_so_and_keeps_its_place(tmp_path: Path, line: str) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(f'{{"gold": 1}}\n{line}\n{{"gold": 3}}\n')
    first, bad, last = read_rows(file)
    assert (first.value, last) == ({"gold": 1}, Row(2, {"gold": 3}))
    assert bad.number == 1
    assert bad.value is None
    assert bad.fault.startswith("not ")


def test_bytes_that_are_no_text_cost_their_row_at_most(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(b'{"gold": "\xff"}\n{"gold": 2}\n')
    assert [row.value for row in read_rows(file)] == [{"gold": "�"}, {"gold": 2}]


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"gold": 1}\r\n{"gold": 2}\r\n')
    assert list(read_rows(file)) == [Row(0, {"gold": 1}), Row(1, {"gold": 2})]


def test_parquet_rows_are_plain_json(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    columns = {
        "gold": ["1", None],
        "reward_model": [{"ground_truth": "1"}, {"ground_truth": "2"}],
        "day": [datetime.date(2024, 1, 2)] * 2,
        "price": [Decimal("1.50")] * 2,
    }
    pq.write_table(pa.table(columns), file)
    first, second = read_rows(file)
    assert first.value == {
        "gold": "1",
        "reward_model": {"ground_truth": "1"},
        "day": "2024-01-02",
        "price": "1.50",
    }
    assert second.value is not None
    assert "gold" not in second.value
    assert count_rows(file) == 2


def test_a_file_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"data\.csv"):
        read_rows(tmp_path / "data.csv")


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    file.write_text("{}")
    with pytest.raises(CommandError, match="parquet"):
        count_rows(file)


def test_a_message_about_a_request_becomes_one_about_the_row() -> None:
    message = "items[12].completion is missing; items[12].gold should be text; items[3] is no object"
    assert of_a_row(message) == "completion is missing; gold should be text; the row is no object"
