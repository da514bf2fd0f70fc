"""The last resort: sympy, where the fast tiers cannot tell."""

from ..decision import Decision, correct, incorrect
from .frame import Frame


def ask_sympy(frame: Frame, why: str) -> Decision:
    """What sympy says of the two texts. Without the slow path: the verdict that the rules give to a timeout."""
    if not frame.slow_path:
        if frame.rules.on_answer_timeout == "null":
            return Decision(None, "none", "answer_timeout", code="answer_timeout")
        return incorrect("rule", "answer_timeout")
    from ..symbolic import symbolic_equal

    found = symbolic_equal(frame.gold_text, frame.answer_text)
    if found.equal is None:
        return incorrect("rule", f"answer_refused: {why}; {found.reason}")
    if found.equal:
        return correct("symbolic", found.reason)
    return incorrect("symbolic", found.reason)
