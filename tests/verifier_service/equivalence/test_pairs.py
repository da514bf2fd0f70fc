"""Labelled pairs of gold and answer, a file a theme: {gold, answer, correct, prompt?, why?} a line."""

import json
from pathlib import Path

import pytest

from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, decide

PAIRS = Path(__file__).parent / "pairs"


def judged(row: dict[str, object]) -> bool:
    offered = Offered((Part(str(row["answer"])),), 1, "box")
    gold = Gold(any_of=(str(row["gold"]),))
    return decide(gold, offered, Rules(), Context(prompt=str(row.get("prompt", "")))).is_correct


@pytest.mark.parametrize("file", sorted(PAIRS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_labelled_pair_is_judged_as_labelled(file: Path) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    wrong = [row for row in rows if judged(row) is not row["correct"]]
    assert not wrong, "\n".join(json.dumps(row, ensure_ascii=False) for row in wrong)
