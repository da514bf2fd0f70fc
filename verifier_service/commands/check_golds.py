"""`verifier check-golds`: which golds of a data file can be judged, and why the others cannot."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from verifier_service.commands.console import CommandError
from verifier_service.commands.rows import Row, of_a_row
from verifier_service.schema import GOLD_NAMES, PROMPT_NAMES, GoldResult, GoldsResponse

Query = dict[str, Any]
Checking = Callable[[Sequence[Query]], GoldsResponse]

BATCH = 512
UNREADABLE_ROW = "invalid_item"


@dataclass(frozen=True, slots=True)
class Refused:
    """A gold that cannot be judged, by the row that it stands in."""

    index: int
    gold: Any
    code: str
    reason: str


@dataclass(slots=True)
class GoldReport:
    judged: Counter[str] = field(default_factory=Counter)
    refused: list[Refused] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.judged.total() + len(self.refused)

    def as_dict(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "ok": self.judged.total(),
            "kinds": dict(self.judged.most_common()),
            "codes": dict(Counter(refused.code for refused in self.refused).most_common()),
            "refused": [
                {"index": one.index, "gold": _plain(one.gold), "code": one.code, "reason": one.reason}
                for one in self.refused
            ],
        }


def check_golds(
    rows: Iterable[Row], checking: Checking, *, name: str | None, progress: Callable[[int], None]
) -> GoldReport:
    """Checks the gold of every row, batch by batch. `name`: the gold's field, else the first known one.

    Raises CommandError where not one row of the first batch has a gold: the field has another name.
    """
    report = GoldReport()
    remaining = iter(rows)
    while group := list(islice(remaining, BATCH)):
        golds = [_gold(row, name) for row in group]
        if report.total == 0 and not any(found for found, _ in golds):
            raise CommandError(f"no gold in the first {len(group)} rows", _hint(group[0], name))
        _check(group, [gold for _, gold in golds], checking, report)
        progress(len(group))
    report.refused.sort(key=lambda refused: refused.index)
    return report


def _check(group: Sequence[Row], golds: Sequence[Any], checking: Checking, report: GoldReport) -> None:
    sent = [(row, gold) for row, gold in zip(group, golds, strict=True) if row.value is not None]
    for row in group:
        if row.value is None:
            report.refused.append(Refused(row.number, None, UNREADABLE_ROW, row.fault))
    if not sent:
        return
    response = checking([_query(row, gold) for row, gold in sent])
    for (row, gold), result in zip(sent, response.results, strict=True):
        _note(row, gold, result, report)


def _note(row: Row, gold: Any, result: GoldResult, report: GoldReport) -> None:
    if result.ok:
        report.judged[result.kind or "unknown"] += 1
    else:
        report.refused.append(Refused(row.number, gold, result.code or "unknown", of_a_row(result.reason)))


def _query(row: Row, gold: Any) -> Query:
    found, prompt = _first(row.value or {}, PROMPT_NAMES)
    return {"gold": gold, "prompt": prompt} if found else {"gold": gold}


def _gold(row: Row, name: str | None) -> tuple[bool, Any]:
    """Whether the row has a gold, and the gold."""
    value = row.value or {}
    if name is None:
        return _first(value, GOLD_NAMES)
    for step in name.split("."):
        if not isinstance(value, dict) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _first(value: dict[str, Any], names: Sequence[str]) -> tuple[bool, Any]:
    for name in names:
        if name in value:
            return True, value[name]
    return False, None


def _plain(gold: Any) -> Any:
    """The gold as JSON has room for it: NaN and infinity as text."""
    return json.loads(json.dumps(gold), parse_constant=str)


def _hint(row: Row, name: str | None) -> str:
    fields = ", ".join(sorted(row.value or {})) or "none"
    looked_for = name or ", ".join(GOLD_NAMES)
    return f"Looked for: {looked_for}. Fields of the first row: {fields}.\nName the field: --gold FIELD."
