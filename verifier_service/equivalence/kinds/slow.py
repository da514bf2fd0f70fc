"""The last resort: sympy, where the fast tiers cannot tell."""

from ..decision import Decision, correct, incorrect
from ..rules import Rules
from ..slow_path import TIMEOUT
from .frame import Frame


def ask_sympy(frame: Frame, why: str) -> Decision:
    """What sympy says of the two texts."""
    found = frame.slow_path.ask(frame.gold_text, frame.answer_text)
    if found.reason == TIMEOUT:
        return timed_out(frame.rules)
    if found.equal is None:
        return incorrect("rule", f"answer_refused: {why}; {found.reason}")
    if found.equal:
        return correct("symbolic", found.reason)
    return incorrect("symbolic", found.reason)


def timed_out(rules: Rules) -> Decision:
    """The verdict that the rules give to an answer that is too slow."""
    if rules.on_answer_timeout == "null":
        return Decision(None, "none", TIMEOUT, code=TIMEOUT)
    return incorrect("rule", TIMEOUT)
