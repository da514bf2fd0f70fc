"""Requests that no service has seen: real questions as reasoning, an answer that is right or nearly so.

Every item has a question of the public sets as its prompt, other questions of the same set up to `size` bytes
between the tags of thinking, and behind them a rewrite of the gold or a near miss (tools/expressions). The same
seed makes the same items, another one other texts throughout.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.expressions import near_miss, variants  # noqa: E402

PROFILE = "r1-zero"


@dataclass(frozen=True, slots=True)
class Made:
    """An item for the wire, and whether its answer was made to equal the gold."""

    item: dict[str, Any]
    same: bool


def data_dir() -> Path:
    """The folder of the public sets; there is no default."""
    folder = os.environ.get("MATH_DATA_DIR", "")
    if not folder or not Path(folder).is_dir():
        sys.exit(
            "MATH_DATA_DIR must name the folder of the public data sets (docs/data.md says how to make it); "
            + (f"{folder} is no folder" if folder else "it is not set")
        )
    return Path(folder)


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its gold, and all the questions of its set."""

    question: str
    gold: str
    others: Sequence[str]


@lru_cache(maxsize=1)
def rows() -> list[Row]:
    """Every row of every file."""
    found: list[Row] = []
    for path in sorted(data_dir().glob("*.jsonl")):
        read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        questions = [row["question"] for row in read]
        found += [Row(row["question"], row["answer"], questions) for row in read]
    return found


class Maker:
    """Makes items from a seed.

    size: bytes of an item's completion.  samples: items in a row that share a prompt.  hole: a text that stands
    in every completion, to be replaced later.
    """

    def __init__(self, seed: int, *, size: int = 8000, samples: int = 1, hole: str = "") -> None:
        self._rng = Random(seed)
        self._size = size
        self._hole = hole
        self._samples = samples
        self._made = self._endless()

    def batch(self, count: int) -> list[Made]:
        return [next(self._made) for _ in range(count)]

    def poison(self) -> Made:
        """An item that runs to its limit: a sum that sympy works on for minutes."""
        number = self._rng.randrange(2, 10_000)
        gold, answer = (
            f"\\sum_{{n=1}}^{{\\infty}} \\frac{{\\{of}(n^2)}}{{n^3+{number}n+1}}" for of in ("sin", "cos")
        )
        completion = f"<think>\n{self._hole}We sum.\n</think>\nThe answer is $\\boxed{{{answer}}}$."
        return Made({"prompt": "What is the sum?", "completion": completion, "gold": gold}, False)

    def sums(self, count: int) -> list[Made]:
        """Items that only sympy can judge; so many samples in a row end in the same two formulas."""
        made: list[Made] = []
        for number in range(count):
            if number % self._samples == 0:
                top, power = self._rng.randrange(2, 10_000), self._rng.choice((3, 5, 7))
            gold = f"\\sum_{{n=1}}^{{\\infty}} \\frac{{{top}}}{{n^{power}}}"
            answer = f"\\sum_{{k=1}}^{{\\infty}} {top} k^{{-{power}}}"
            completion = f"<think>\n{self._hole}{number}\n</think>\nThe answer is $\\boxed{{{answer}}}$."
            made.append(
                Made({"prompt": "What is the sum?", "completion": completion, "gold": gold}, same=True)
            )
        return made

    def _endless(self) -> Iterator[Made]:
        order = self._rng.sample(rows(), len(rows()))
        number = 0
        while True:
            row = order[number // self._samples % len(order)]
            yield self._item(row, number, same=number % 2 == 0)
            number += 1

    def _item(self, row: Row, number: int, *, same: bool) -> Made:
        answer = self._rewrite(row.gold) if same else self._miss(row.gold)
        thinking = f"<think>\n{self._hole}{self._reasoning(row.others)}\n</think>"
        completion = f"{thinking}\nThe answer is $\\boxed{{{answer}}}$."
        item = {"id": number, "prompt": row.question, "completion": completion, "gold": row.gold}
        return Made(item, same)

    def _rewrite(self, gold: str) -> str:
        made = variants(gold, self._rng, 1)
        return made[0][0] if made else gold

    def _miss(self, gold: str) -> str:
        missed = near_miss(gold, self._rng)
        return missed[0] if missed is not None else f"{gold} + 1"

    def _reasoning(self, questions: Sequence[str]) -> str:
        parts: list[str] = []
        left = self._size
        while left > 0:
            text = self._rng.choice(questions).encode()[:left].decode(errors="ignore")
            parts.append(text)
            left -= len(text.encode()) + 1
        return "\n".join(parts)


def body(made: Sequence[Made]) -> bytes:
    """The request of a client, ASCII throughout."""
    return json.dumps({"profile": PROFILE, "items": [one.item for one in made]}).encode()
