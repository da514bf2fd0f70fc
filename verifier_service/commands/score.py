"""`verifier score`: a file of completions in, one JSON line per row out; started again, it goes on."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from verifier_service.commands.console import INTERRUPTED, CommandError
from verifier_service.commands.judging import JudgingOptions, longest_deadline, opened_judge
from verifier_service.commands.rows import Row, of_a_row, read_rows
from verifier_service.schema import Result, ScoreResponse

Record = dict[str, Any]
Judging = Callable[[Sequence[Record]], ScoreResponse]

# Who judged a row: rows of one file must all have been judged alike.
STAMP = ("engine", "profile_hash")
# Warnings may quote the row; of so many different ones the rest is not worth the memory.
DISTINCT_WARNINGS = 1000


@dataclass(slots=True)
class Done:
    """Numbers of rows that stand in OUT. All but a few stand in order, which takes no memory."""

    first: int = 0  # every row before this one is done
    later: set[int] = field(default_factory=set)
    count: int = 0

    def add(self, number: int) -> None:
        if number in self:
            return
        self.count += 1
        self.later.add(number)
        while self.first in self.later:
            self.later.remove(self.first)
            self.first += 1

    def __contains__(self, number: int) -> bool:
        return number < self.first or number in self.later


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
        for warning in record["warnings"]:
            if warning in self.warnings or len(self.warnings) < DISTINCT_WARNINGS:
                self.warnings[warning] += 1
        if record.get("error"):
            code = record["error"]["code"]
            self.codes[code] += 1
            self.examples.setdefault(code, f"row {record['index']}: {record['error']['message']}")
        if record["reward"] is not None:
            self.rewards += 1
            self.reward_sum += record["reward"]

    def merge(self, other: "Summary") -> None:
        self.verdicts += other.verdicts
        self.codes += other.codes
        self.examples = other.examples | self.examples
        for warning, count in other.warnings.items():
            if warning in self.warnings or len(self.warnings) < DISTINCT_WARNINGS:
                self.warnings[warning] += count
        self.rewards += other.rewards
        self.reward_sum += other.reward_sum

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
    done: Done = field(default_factory=Done)
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
        """Takes up what stands in OUT. A last line that a crash cut off is dropped and judged again.

        Nothing is dropped before the lines above have shown that the file is one of ours.
        """
        whole = 0
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if number > 1 and not line.endswith(b"\n"):
                    break
                try:
                    self._read_back(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                    raise CommandError(
                        f"{self.path}, line {number} is no result of `verifier score`", "Give another OUT."
                    ) from None
                whole += len(line)
        self.file.truncate(whole)

    def _read_back(self, record: Record) -> None:
        self._note(record)
        self.stamp |= {name: record[name] for name in STAMP if record.get(name)}

    def _note(self, record: Record) -> None:
        self.summary.add(record)
        self.done.add(record["index"])


@contextmanager
def opened(path: Path, source: Path) -> Iterator[Ledger]:
    """OUT for the rows of `source`, ready to be appended to."""
    if path.suffix == ".parquet":
        raise CommandError(f"{path}: results are JSON lines, which can be appended to", "Name it OUT.jsonl.")
    if not path.parent.is_dir():
        raise CommandError(f"no folder {path.parent}")
    if path.exists() and path.samefile(source):
        raise CommandError(f"{path} is the file to be scored", "Give another OUT.")
    if path.exists() and not path.is_file():
        raise CommandError(f"{path} is no plain file", "Results are appended, and read back to go on.")
    with path.open("a", encoding="utf-8") as file:
        ledger = Ledger(path, file)
        ledger.read_back()
        try:
            yield ledger
        except KeyboardInterrupt:
            told = f"stopped; {path} holds {ledger.done.count} rows"
            raise CommandError(told, "The same command goes on from there.", INTERRUPTED) from None


def score_here(
    source: Path, out: Path, options: JudgingOptions, *, batch: int, progress: Callable[[int], None]
) -> Summary:
    """Judges the rows that OUT has not, in process or at a service, `batch` at a time."""
    with (
        opened(out, source) as ledger,
        opened_judge(options.url, workers=options.workers, profiles=options.profiles) as judge,
    ):
        deadline_s = longest_deadline(judge, options.url)

        def judging(items: Sequence[Record]) -> ScoreResponse:
            return judge.score(items, profile=options.profile, rules=options.rules, deadline_s=deadline_s)

        score_rows(read_rows(source), ledger, judging, batch=batch, progress=progress)
    return ledger.summary


def score_rows(
    rows: Iterable[Row], ledger: Ledger, judging: Judging, *, batch: int, progress: Callable[[int], None]
) -> None:
    """Judges the rows that OUT has not, batch by batch. `progress` is told how many more rows are done."""
    progress(ledger.done.count)
    if ledger.done.count:  # before anything is judged, and even if nothing is left to judge
        ledger.hold_to(stamp_of(judging([])))
    pending = (row for row in rows if row.number not in ledger.done)
    while group := list(islice(pending, batch)):
        ledger.append(judged_rows(group, judging, ledger.hold_to))
        progress(len(group))


def judged_rows(group: Sequence[Row], judging: Judging, hold_to: Callable[[Record], None]) -> list[Record]:
    """One record per row, in their order. `hold_to` is told by whom they were judged, and may refuse."""
    sent = [row for row in group if row.value is not None]
    records = {row.number: _record(row.number, _unread(row)) for row in group if row.value is None}
    if sent:
        response = judging([row.value for row in sent if row.value is not None])
        stamp = stamp_of(response)
        hold_to(stamp)
        for row, result in zip(sent, response.results, strict=True):
            records[row.number] = _record(row.number, result) | stamp
    return [records[row.number] for row in group]


def stamp_of(response: ScoreResponse) -> Record:
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
