"""docs/equivalence.md is run: every example on it is judged as it says, and every knob and code is on it."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from tools.unjudged_golds import CLOSING, OPENING, table
from verifier_service.equivalence import Context, Decision, Gold, Offered, Part, Rules, Tolerance, decide
from verifier_service.extraction import offered_answer
from verifier_service.transcript import split_completion

PAGE = Path(__file__).parents[3] / "docs" / "equivalence.md"
CELLS = re.compile(r"(?<!\\)\|")


def tables() -> Iterator[tuple[list[str], list[str]]]:
    """(header, row) of every line of every table."""
    header: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in CELLS.split(line)[1:-1]]
        if not header:
            header = cells
        elif set(line) - set("|-"):
            yield header, cells


def unquoted(cell: str) -> str:
    return cell[1:-1] if cell.startswith("`") else cell


def examples() -> list[dict[str, str]]:
    return [
        {name: unquoted(cell) for name, cell in zip(header, row, strict=True)}
        for header, row in tables()
        if header[-1] == "verdict" and "gold" in header
    ]


def rules_of(line: str) -> Rules:
    given = tomllib.loads(line)
    if "tolerance" in given:
        given["tolerance"] = Tolerance(**given["tolerance"])
    return Rules(**given)


def judged(example: dict[str, str]) -> Decision:
    rules = rules_of(example.get("rule", ""))
    if "completion" in example:
        offered = offered_answer(split_completion(example["completion"]), rules)
    else:
        offered = Offered((Part(example["answer"]),), 1, "box")
    return decide(
        Gold(any_of=(example["gold"],)), offered, rules, Context(prompt=example.get("question", ""))
    )


@pytest.mark.parametrize("example", examples(), ids=lambda example: " ~ ".join(example.values())[:70])
def test_every_example_is_judged_as_the_page_says(example: dict[str, str]) -> None:
    decision = judged(example)
    assert (decision.verdict or "null") == example["verdict"], decision.reason


def test_the_page_has_examples_of_every_verdict() -> None:
    verdicts = [example["verdict"] for example in examples()]
    assert len(verdicts) > 100
    assert set(verdicts) == {"correct", "incorrect", "no_answer", "null"}


def test_every_knob_is_on_the_page_with_its_default() -> None:
    told = {unquoted(row[0]): unquoted(row[2]) for header, row in tables() if header[0] == "rule"}
    written = {False: "false", True: "true", None: "none"}
    wanted = {}
    for knob in fields(Rules):
        default = getattr(Rules(), knob.name)
        wanted[knob.name] = default if isinstance(default, str) else written[default]
    assert told == wanted


def test_the_golds_that_cannot_be_judged_are_listed(math_data: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition(OPENING)[2].partition(CLOSING)[0]
    assert section.strip() == table(math_data), "run tools/unjudged_golds.py"
