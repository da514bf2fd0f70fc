"""The golds of the public sets (docs/data.md): readable, equal to themselves, and told from their neighbours."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tools.expressions import TRIVIAL, near_miss, rewritten, same_value, variants
from verifier_service.equivalence import Context, Decision, Gold, Offered, Part, Rules, check_gold, decide
from verifier_service.equivalence.slow_path import Known, SlowPath, Unanswered
from verifier_service.equivalence.symbolic import SYMPY

RULES = Rules()
# Least share of golds, in percent, that the fast tiers read. What is left is listed in docs/equivalence.md.
FLOORS = {
    "cmath_dev_600": 100.0,
    "college_math_ccby": 92.8,
    "gsm8k_test": 100.0,
    "gsm8k_train_2000": 100.0,
    "math500": 100.0,
    "olympiadbench_en_text": 99.8,
    "svamp": 100.0,
}


class Row(NamedTuple):
    id: str
    gold: str
    question: str


def rows_of(folder: Path, name: str) -> list[Row]:
    path = folder / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"MATH_DATA_DIR holds no {path.name}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Row(row["id"], row["answer"], row["question"]) for row in rows]


def judged(row: Row, answer: str, *, slow_path: SlowPath = SYMPY) -> Decision:
    offered = Offered((Part(answer),), 1, "box")
    return decide(Gold(any_of=(row.gold,)), offered, RULES, Context(prompt=row.question), slow_path=slow_path)


def is_read_fast(row: Row) -> bool:
    try:
        return judged(row, row.gold, slow_path=Known({})).code is None
    except Unanswered:
        return False


def can_be_judged(row: Row) -> bool:
    return check_gold(Gold(any_of=(row.gold,)), RULES, Context(prompt=row.question)).ok


def told(faults: Sequence[tuple[str, ...]]) -> str:
    return f"{len(faults)}:\n" + "\n".join(map(repr, faults[:20]))


@pytest.mark.parametrize("name", FLOORS)
def test_the_fast_tiers_read_nearly_every_gold(math_data: Path, name: str) -> None:
    rows = rows_of(math_data, name)
    unread = [row for row in rows if not is_read_fast(row)]
    share = 100 * (1 - len(unread) / len(rows))
    assert share >= FLOORS[name], told([(row.id, row.gold) for row in unread])


@pytest.mark.parametrize("name", FLOORS)
def test_a_check_explains_every_gold_that_cannot_be_judged(math_data: Path, name: str) -> None:
    for row in rows_of(math_data, name):
        check = check_gold(Gold(any_of=(row.gold,)), RULES, Context(prompt=row.question))
        assert check.ok or (check.code == "unverifiable_gold" and check.reason)


@pytest.mark.parametrize("name", FLOORS)
def test_every_gold_equals_itself_and_three_rewrites(math_data: Path, name: str) -> None:
    faults = []
    for row in rows_of(math_data, name):
        if not can_be_judged(row):
            continue
        found = [(row.gold, "itself"), *variants(row.gold, Random(row.id), 3)]
        faults += [(row.id, row.gold, new, how) for new, how in found if not judged(row, new).is_correct]
    assert not faults, told(faults)


def _trivially(text: str, rng: Random) -> Iterator[str]:
    for rewrite in TRIVIAL:
        found = rewritten(text, rng, (rewrite,))
        if found is not None:
            yield found[0]


def test_math500_golds_take_any_trivial_rewrite(math_data: Path) -> None:
    faults = [
        (row.id, row.gold, new)
        for row in rows_of(math_data, "math500")
        for new in (row.gold, *_trivially(row.gold, Random(row.id)))
        if not judged(row, new).is_correct
    ]
    assert not faults, told(faults)


@pytest.mark.parametrize("name", FLOORS)
def test_no_gold_takes_a_near_miss(math_data: Path, name: str) -> None:
    faults = []
    for row in rows_of(math_data, name):
        for seed in range(2):
            missed = near_miss(row.gold, Random(f"{seed}:{row.id}"))
            if missed is not None and judged(row, missed[0]).is_correct:
                faults.append((row.id, row.gold, *missed))
    assert not faults, told(faults)


@pytest.mark.parametrize("name", FLOORS)
def test_no_gold_takes_the_next_one_of_another_value(math_data: Path, name: str) -> None:
    rows = rows_of(math_data, name)
    faults, compared = [], 0
    for row, after in zip(rows, [*rows[1:], rows[0]], strict=True):
        if same_value(row.gold, after.gold) is not False:
            continue
        compared += 1
        if judged(row, after.gold).is_correct:
            faults.append((row.id, row.gold, after.gold))
    assert compared > len(rows) // 4
    assert not faults, told(faults)
