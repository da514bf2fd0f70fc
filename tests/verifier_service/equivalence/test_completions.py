"""Whole completions, ordinary and monstrous, from their text to the verdict."""

import json
import time
from pathlib import Path
from typing import Any

from verifier_service.equivalence import Context, Decision, Gold, Rules, decide
from verifier_service.extraction import offered_answer
from verifier_service.transcript import split_completion

HERE = Path(__file__).parent
ITEM_CPU_S = 1.5


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def judged(gold: str, completion: str) -> Decision:
    offered = offered_answer(split_completion(completion), Rules())
    return decide(Gold(any_of=(gold,)), offered, Rules(), Context())


def test_every_labelled_completion_is_judged_as_labelled() -> None:
    rows = rows_of("completions.jsonl")
    wrong = [row for row in rows if judged(row["gold"], row["completion"]).is_correct is not row["correct"]]
    assert not wrong, "\n".join(json.dumps(row, ensure_ascii=False) for row in wrong)


def test_a_monstrous_answer_is_a_verdict_within_the_time_of_an_item() -> None:
    faults = []
    for row in rows_of("refusals.jsonl"):
        completion = row["prefix"] + row["unit"] * row["times"] + row["suffix"]
        started = time.process_time()
        decision = judged(row["gold"], completion)
        spent = time.process_time() - started
        if decision.verdict is None or decision.is_correct is not row["correct"] or spent > ITEM_CPU_S:
            faults.append(f"{row['why']}: {decision.verdict} ({decision.reason}) in {spent:.2f} s")
    assert not faults, "\n".join(faults)
