"""`verifier score`: a file of completions in, one JSON line per row out; started again, it goes on."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import Row, of_a_row
from verifier_service.schema import Result, ScoreResponse

Record = dict[str, Any]
Judging = Callable[[Sequence[Record]], ScoreResponse]

# Who judged a row: rows of one file must all have been judged alike.
STAMP = ("engine", "profile_hash")


@dataclass(slots=True)
class Summary:
    """What stands in OUT, the rows of earlier runs included."""

    verdicts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # by code: the first row that has it
    warnings: Counter[str] = field(default_factory=Counter)
    rewards: int = 0
    reward_sum: float = 0.0

    def add(self, record: Record) -> None:
        self.verdicts[record["verdict"] or "no verdict"] += 1
        self.warnings.update(record["warnings"])
        if record.get("error"):
            code = record["error"]["code"]
            self.codes[code] += 1
            self.examples.setdefault(code, f"row {record['index']}: {record['error']['message']}")
        if record["reward"] is not None:
            self.rewards += 1
            self.reward_sum += record["reward"]

    @property
    def rows(self) -> int:
        return self.verdicts.total()

    @property
    def errors(self) -> int:
        return self.codes.total()

    @property
    def mean_reward(self) -> float | None:
        return self.reward_sum / self.rewards if self.rewards else None


@dataclass(slots=True)
class Ledger:
    """OUT: what is done already, and where the rest goes."""

    path: Path
    file: IO[str]
    summary: Summary = field(default_factory=Summary)
    done: set[int] = field(default_factory=set)
    stamp: Record = field(default_factory=dict)

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            # ASCII: a file that every reader and every encoding can take.
            self.file.write(json.dumps(record) + "\n")
            self._note(record)
        self.file.flush()

    def hold_to(self, stamp: Record) -> None:
        """Refuses to mix rows judged by another engine or under another profile into one file."""
        for name, value in stamp.items():
            before = self.stamp.setdefault(name, value)
            if before != value:
                raise CommandError(
                    f"{self.path} was judged with {name} {before}, now it is {value}",
                    "Give another OUT, or remove this one to judge all of it again.",
                )

    def read_back(self) -> None:
        with self.path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    self._read_back(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    raise CommandError(
                        f"{self.path}, line {number} is no result of `verifier score`", "Give another OUT."
                    ) from None

    def _read_back(self, record: Record) -> None:
        self._note(record)
        self.stamp |= {name: record[name] for name in STAMP if record.get(name)}

    def _note(self, record: Record) -> None:
        self.summary.add(record)
        self.done.add(record["index"])


@contextmanager
def opened(path: Path) -> Iterator[Ledger]:
    """OUT, ready to be appended to. A last line cut off by a crash is dropped and judged again."""
    if path.suffix == ".parquet":
        raise CommandError(f"{path}: results are JSON lines, which can be appended to", "Name it OUT.jsonl.")
    if not path.parent.is_dir():
        raise CommandError(f"no folder {path.parent}")
    _drop_unfinished_line(path)
    with path.open("a", encoding="utf-8") as file:
        ledger = Ledger(path, file)
        ledger.read_back()
        yield ledger


def score_rows(
    rows: Iterable[Row], ledger: Ledger, judging: Judging, *, batch: int, progress: Callable[[int], None]
) -> None:
    """Judges the rows that OUT has not, batch by batch. `progress` is told how many more rows are done."""
    progress(len(ledger.done))
    if ledger.done:  # before anything is judged, and even if nothing is left to judge
        ledger.hold_to(_stamp(judging([])))
    pending = (row for row in rows if row.number not in ledger.done)
    while group := list(islice(pending, batch)):
        ledger.append(_judged(group, judging, ledger))
        progress(len(group))


def _judged(group: Sequence[Row], judging: Judging, ledger: Ledger) -> list[Record]:
    sent = [row for row in group if row.value is not None]
    records = {row.number: _record(row.number, _unread(row)) for row in group if row.value is None}
    if sent:
        response = judging([row.value for row in sent if row.value is not None])
        stamp = _stamp(response)
        ledger.hold_to(stamp)
        for row, result in zip(sent, response.results, strict=True):
            records[row.number] = _record(row.number, result) | stamp
    return [records[row.number] for row in group]


def _stamp(response: ScoreResponse) -> Record:
    return {name: getattr(response, name) for name in STAMP}


def _record(number: int, result: Result) -> Record:
    record = result.model_dump(mode="json") | {"index": number}
    if result.error is not None:
        record["error"]["message"] = of_a_row(result.error.message)
    return record


def _unread(row: Row) -> Result:
    error = {"code": "invalid_item", "message": row.fault, "retryable": False}
    fields = {"index": row.number, "status": "error", "reward": None, "verdict": None, "error": error}
    return Result.model_validate(fields)


def _drop_unfinished_line(path: Path) -> None:
    """Cuts the file after its last newline, reading backwards: the file may be large, the line is not."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        end = file.seek(0, 2)
        start = end
        while start > 0:
            step = min(1 << 16, start)
            start = file.seek(start - step)
            newline = file.read(step).rfind(b"\n")
            if newline >= 0:
                file.truncate(start + newline + 1)
                return
        file.truncate(0)
