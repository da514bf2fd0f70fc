"""Swapping gold and answer never changes "same value", and nothing raises: over generated pairs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tools.expressions.pairs import generated_pairs
from verifier_service.equivalence import Context, Decision, Gold, Offered, Part, Rules, decide

# Rounding is meant to go one way only, so it is off; echo needs a prompt, and there is none.
RULES = Rules(rounded_gold=False)


@dataclass
class Symmetry:
    """pairs: how many were swapped.  equal: how many were the same both ways.
    unjudged: a side is no gold, or a rule of form (which is one-directional by intent) decided.
    asymmetric, raised: the pairs that break the promise."""

    pairs: int = 0
    equal: int = 0
    unjudged: int = 0
    asymmetric: list[tuple[str, str, str]] = field(default_factory=list)
    raised: list[tuple[str, str, str]] = field(default_factory=list)


def judged(gold: str, answer: str) -> Decision:
    return decide(Gold(any_of=(gold,)), Offered((Part(answer),), 1, "box"), RULES, Context())


def check_symmetry(pairs: Iterator[tuple[str, str]], step: Callable[[str], None]) -> Symmetry:
    """Judge every pair both ways."""
    found = Symmetry()
    for one, other in pairs:
        found.pairs += 1
        step("swapped")
        try:
            there, back = judged(one, other), judged(other, one)
        except Exception as fault:  # noqa: BLE001 - any exception at all is what is looked for
            found.raised.append((one, other, repr(fault)))
            continue
        if there.verdict is None or back.verdict is None:
            found.unjudged += 1
        elif there.is_correct == back.is_correct:
            found.equal += there.is_correct
        elif "rule" in (there.method, back.method):
            found.unjudged += 1
        else:
            wrong = back if there.is_correct else there
            found.asymmetric.append(
                (one, other, f"{there.verdict} there, {back.verdict} back: {wrong.reason}")
            )
    return found


def generated(count: int, seed: int) -> Iterator[tuple[str, str]]:
    return generated_pairs(count, seed)
