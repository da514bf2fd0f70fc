"""Counts of endings, and the JSON that `verifier check-cases --json` writes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from verifier_service.cases.grading import Graded
from verifier_service.cases.labels import Case


@dataclass(slots=True)
class Report:
    """Every case with its ending, in the order of the files.

    pids: the processes that answered, in order of appearance: one, unless the service was restarted.
    notes: what could not be carried out or measured, in words.
    """

    endings: list[tuple[Case, Graded]]
    pids: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def found_fault(self) -> bool:
        """A firm case missed, or a service that did not live through the cases."""
        return bool(self.misses(debatable=False)) or len(self.pids) > 1

    def misses(self, *, debatable: bool) -> list[tuple[Case, Graded]]:
        return [
            (case, graded)
            for case, graded in self.endings
            if graded.outcome != "right" and case.debatable == debatable
        ]

    def kinds(self) -> list[str]:
        return list(dict.fromkeys(case.kind for case, _ in self.endings))

    def tally(self, *, debatable: bool, kind: str | None = None) -> dict[str, int]:
        """{total, right, false_positive, false_negative, null}; of one kind, or of all."""
        return _tally(
            graded
            for case, graded in self.endings
            if case.debatable == debatable and kind in (None, case.kind)
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON. Counts of a kind are of its firm cases; its debatable ones stand apart inside."""
        return {
            "firm": self.tally(debatable=False),
            "debatable": self.tally(debatable=True),
            "kinds": {
                kind: self.tally(debatable=False, kind=kind)
                | {"debatable": self.tally(debatable=True, kind=kind)}
                for kind in self.kinds()
            },
            "misses": [
                {
                    "id": case.id,
                    "kind": case.kind,
                    "expected": graded.expected,
                    "got": graded.got,
                    "reason": graded.reason,
                    "outcome": graded.outcome,
                    "debatable": case.debatable,
                }
                for debatable in (False, True)
                for case, graded in self.misses(debatable=debatable)
            ],
            "pids": self.pids,
            "notes": self.notes,
        }


def _tally(endings: Iterable[Graded]) -> dict[str, int]:
    counts = Counter(graded.outcome for graded in endings)
    return {"total": counts.total()} | {
        outcome: counts[outcome] for outcome in ("right", "false_positive", "false_negative", "null")
    }
