"""A file is scored once, in order, whatever happens between two runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import Row
from verifier_service.commands.score import DISTINCT_WARNINGS, Done, Summary, opened, score_rows
from verifier_service.schema import ScoreResponse

SOURCE = Path(__file__)
ROWS = [Row(number, {"gold": str(number)}) for number in range(7)]


class FakeJudge:
    """Pays even golds; `fails_after` so many requests, as a service that goes away."""

    def __init__(self, *, engine: str = "e", profile_hash: str = "p", fails_after: int = 99) -> None:
        self.sizes: list[int] = []
        self._stamp = {"engine": engine, "profile_hash": profile_hash, "profile": "accuracy"}
        self._left = fails_after

    def __call__(self, items: Sequence[dict[str, Any]]) -> ScoreResponse:
        if not self._left:
            raise ConnectionError
        self._left -= 1
        self.sizes.append(len(items))
        results = [_result(place, int(item["gold"]) % 2 == 0) for place, item in enumerate(items)]
        rewards = [result["reward"] for result in results]
        return ScoreResponse.model_validate(
            {"results": results, "rewards": rewards, "errors": 0} | self._stamp
        )


def _result(place: int, right: bool) -> dict[str, Any]:
    return {
        "index": place,
        "status": "ok",
        "reward": float(right),
        "verdict": "correct" if right else "incorrect",
    }


def score(out: Path, judge: FakeJudge, rows: Sequence[Row] = ROWS, *, batch: int = 3) -> Summary:
    with opened(out, SOURCE) as ledger:
        score_rows(rows, ledger, judge, batch=batch, progress=lambda more: None)
        return ledger.summary


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_every_row_has_its_line_in_order(tmp_path: Path) -> None:
    out, judge = tmp_path / "out.jsonl", FakeJudge()
    summary = score(out, judge)
    assert judge.sizes == [3, 3, 1]
    assert [record["index"] for record in records(out)] == list(range(7))
    assert [record["reward"] for record in records(out)] == [1, 0, 1, 0, 1, 0, 1]
    assert all((record["engine"], record["profile_hash"]) == ("e", "p") for record in records(out))
    assert (summary.rows, summary.errors, summary.mean_reward) == (7, 0, 4 / 7)


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(ConnectionError):
        score(out, FakeJudge(fails_after=1))
    assert [record["index"] for record in records(out)] == [0, 1, 2]
    judge = FakeJudge()
    summary = score(out, judge)
    assert judge.sizes == [0, 3, 1]
    assert [record["index"] for record in records(out)] == list(range(7))
    assert summary.verdicts == {"correct": 4, "incorrect": 3}


def test_a_finished_file_is_left_as_it_is(tmp_path: Path) -> None:
    out, judge = tmp_path / "out.jsonl", FakeJudge()
    score(out, FakeJudge())
    before = out.read_bytes()
    assert score(out, judge).rows == 7
    assert judge.sizes == [0]
    assert out.read_bytes() == before


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_cut_off_by_a_crash_is_judged_again(tmp_path: Path, cut: int) -> None:
    out = tmp_path / "out.jsonl"
    score(out, FakeJudge())
    whole = out.read_bytes()
    out.write_bytes(whole[:-cut])
    score(out, FakeJudge())
    assert out.read_bytes() == whole


def test_a_long_line_cut_off_is_dropped_whole(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    score(out, FakeJudge(), ROWS[:2])
    with out.open("a") as file:
        file.write('{"index": 2, "reason": "' + "x" * 200_000)
    score(out, FakeJudge())
    assert [record["index"] for record in records(out)] == list(range(7))


def test_lines_taken_out_are_judged_again(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    score(out, FakeJudge())
    lines = out.read_text().splitlines(keepends=True)
    out.write_text("".join(lines[:2] + lines[4:]))
    assert score(out, FakeJudge()).rows == 7
    assert [record["index"] for record in records(out)] == [0, 1, 4, 5, 6, 2, 3]


@pytest.mark.parametrize("other", [FakeJudge(engine="other"), FakeJudge(profile_hash="other")])
@pytest.mark.parametrize("done", [3, len(ROWS)])
def test_rows_judged_otherwise_are_not_mixed_in(tmp_path: Path, other: FakeJudge, done: int) -> None:
    out = tmp_path / "out.jsonl"
    score(out, FakeJudge(), ROWS[:done])
    before = out.read_bytes()
    with pytest.raises(CommandError, match="was judged with"):
        score(out, other)
    assert out.read_bytes() == before
    assert other.sizes[-1] == 0


@pytest.mark.parametrize("end", ["\n", "", "\nmore", "\n\n"])
@pytest.mark.parametrize(
    "line", ['{"index": 0}', "[]", "5", "text", "{", "[" * 100_000, '{"id": 0, "error": 5}']
)
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, line: str, end: str) -> None:
    out = tmp_path / "notes.jsonl"
    out.write_text(line + end)
    with pytest.raises(CommandError, match="line 1 is no result"):
        score(out, FakeJudge())
    assert out.read_text() == line + end


def test_the_file_to_be_scored_is_not_written_into(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text('{"gold": "5"}')
    link = tmp_path / "link.jsonl"
    link.symlink_to(source)
    for out in (source, link):
        with pytest.raises(CommandError, match="the file to be scored"), opened(out, source):
            pass
    assert source.read_text() == '{"gold": "5"}'


def test_ctrl_c_says_what_is_done_and_how_to_go_on(tmp_path: Path) -> None:
    def interrupted(items: Sequence[dict[str, Any]]) -> ScoreResponse:
        raise KeyboardInterrupt

    out = tmp_path / "out.jsonl"
    score(out, FakeJudge(), ROWS[:2])
    with (
        pytest.raises(CommandError, match=r"out\.jsonl holds 2 rows") as error,
        opened(out, SOURCE) as ledger,
    ):
        score_rows(ROWS, ledger, interrupted, batch=3, progress=lambda more: None)
    assert error.value.exit_code == 130
    assert "goes on" in error.value.hint


def test_rows_in_order_take_no_memory() -> None:
    done = Done()
    for number in (0, 1, 2, 5, 3, 3, 9):
        done.add(number)
    assert [number for number in range(12) if number in done] == [0, 1, 2, 3, 5, 9]
    assert (done.count, done.first, done.later) == (6, 4, {5, 9})


def test_warnings_that_all_differ_take_no_memory() -> None:
    summary = Summary()
    for number in range(DISTINCT_WARNINGS + 5):
        summary.add({"verdict": None, "reward": None, "warnings": [f"odd {number}", "the same"]})
    assert len(summary.warnings) == DISTINCT_WARNINGS
    assert summary.warnings["the same"] == DISTINCT_WARNINGS + 5


def test_a_row_that_cannot_be_read_is_an_error_and_is_not_sent(tmp_path: Path) -> None:
    out, judge = tmp_path / "out.jsonl", FakeJudge()
    summary = score(out, judge, [ROWS[0], Row(1, None, "not JSON"), ROWS[2]])
    assert judge.sizes == [2]
    assert [record["index"] for record in records(out)] == [0, 1, 2]
    assert records(out)[1]["error"] == {"code": "invalid_item", "message": "not JSON", "retryable": False}
    assert summary.codes == {"invalid_item": 1}


def test_a_batch_of_unreadable_rows_asks_nobody(tmp_path: Path) -> None:
    judge = FakeJudge()
    assert score(tmp_path / "out.jsonl", judge, [Row(0, None, "not JSON")]).errors == 1
    assert judge.sizes == []


def test_progress_counts_what_was_done_before(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    score(out, FakeJudge(), ROWS[:2])
    done: list[int] = []
    with opened(out, SOURCE) as ledger:
        score_rows(ROWS, ledger, FakeJudge(), batch=3, progress=done.append)
    assert done == [2, 3, 2]


@pytest.mark.parametrize("name", ["out.parquet", "missing/out.jsonl", ".", "/dev/null"])
def test_an_out_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError), opened(tmp_path / name, SOURCE):
        pass
