"""Whether the answer is right."""

from verifier_service.equivalence.decision import Decision
from verifier_service.rewards import Score


def score(decision: Decision) -> Score:
    """1.0 for a correct answer, 0.0 for a wrong or missing one, None where there is no verdict."""
    if decision.verdict is None:
        return Score(None, {"code": decision.code, "reason": decision.reason})
    return Score(
        1.0 if decision.is_correct else 0.0, {"verdict": decision.verdict, "reason": decision.reason}
    )
