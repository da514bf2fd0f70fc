"""Holds a result against its label. Each case ends in one of four ways, and counts once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from verifier_service.cases.labels import RETRY_OR_NULL, Case, Expected, ExpectedShare, Labelled
from verifier_service.schema import Result

Outcome = Literal["right", "false_positive", "false_negative", "null"]

# From harmless to harmful: a case of several items is as bad as its worst item.
SEVERITY: tuple[Outcome, ...] = ("right", "null", "false_negative", "false_positive")
# Lowest share of target-language words that still counts as written in that language.
CONSISTENT = 0.8
# Shares are decimals in the label and quotients in the result.
ROUNDING = 1e-9
UNPAID = ("incorrect", "no_answer")


@dataclass(frozen=True, slots=True)
class Graded:
    """How one case ended: expected and got in words, reason from the judge."""

    outcome: Outcome
    expected: str = ""
    got: str = ""
    reason: str = ""


def grade(case: Case, results: Sequence[Result]) -> Graded:
    """The ending of a case whose request was answered with these results."""
    wanted = len(case.labelled)
    if len(results) != wanted or any(result.index != place for place, result in enumerate(results)):
        places = ", ".join(str(result.index) for result in results)
        return Graded("false_negative", f"{wanted} results in order", f"results [{places}]")
    return worst(
        _grade_item(labelled, result) for labelled, result in zip(case.labelled, results, strict=True)
    )


def worst(endings: Iterable[Graded]) -> Graded:
    """The worst of several endings, the first of equals; right where there are none."""
    return max(endings, key=lambda ending: SEVERITY.index(ending.outcome), default=Graded("right"))


def _grade_item(labelled: Labelled, result: Result) -> Graded:
    if isinstance(labelled.expected, ExpectedShare):
        return _grade_share(labelled.expected, result)
    ending = _grade_verdict(labelled.expected, result)
    return ending if ending.outcome != "right" else _grade_scores(labelled.expected, result)


def _grade_verdict(expected: Expected, result: Result) -> Graded:
    outcome = _outcome(expected, result)
    return Graded(outcome, _wanted(expected), _given(result), result.reason or _message(result))


def _outcome(expected: Expected, result: Result) -> Outcome:
    verdict = result.verdict
    if expected.status == RETRY_OR_NULL:
        return "right" if verdict in ("correct", None) else "false_negative"
    if expected.status is not None or expected.correct is None:
        return _outcome_of_null(expected, result)
    if verdict is None:
        return "null"
    if verdict == "correct":
        return "right" if expected.correct else "false_positive"
    if expected.correct:
        return "false_negative"
    # "incorrect" asks for a zero, whichever way it comes about; another verdict is asked for by name.
    named = expected.verdict not in (None, "incorrect")
    return "false_negative" if named and verdict != expected.verdict else "right"


def _outcome_of_null(expected: Expected, result: Result) -> Outcome:
    """Where a null is due: payment is the worst mistake, and a zero punishes for a fault not the answer's."""
    if result.verdict == "correct":
        return "false_positive"
    if result.verdict in UNPAID:
        return "false_negative"
    return "right" if expected.status in (None, _code(result)) else "null"


def _grade_scores(expected: Expected, result: Result) -> Graded:
    labels = (("format", expected.format), ("lang_consistent", expected.consistent))
    for name, wanted in labels:
        got = _holds(name, result)
        if wanted is not None and got != wanted:
            faults = "; ".join(result.warnings) or result.reason
            return Graded("false_negative", f"{name} {_word(wanted)}", f"{name} {_word(got)}", faults)
    return Graded("right", _wanted(expected), _given(result), result.reason)


def _holds(name: str, result: Result) -> bool | None:
    """What the scores say about a label; None where they say nothing."""
    if name == "lang_consistent":
        share = result.scores.get("language")
        return "language" in result.scores and (share is None or share >= CONSISTENT)
    score = result.scores.get("format")
    return None if score is None else score >= 1.0


def _grade_share(expected: ExpectedShare, result: Result) -> Graded:
    share = result.scores.get("language")
    return Graded(
        _outcome_of_share(expected, share), _wanted_share(expected), _share(share), _message(result)
    )


def _outcome_of_share(expected: ExpectedShare, share: float | None) -> Outcome:
    if expected.share is None:
        return "right" if share is None else "false_positive"
    if share is None:
        return "null"
    if abs(share - expected.share) <= expected.tol + ROUNDING:
        return "right"
    return "false_positive" if share > expected.share else "false_negative"


def _wanted(expected: Expected) -> str:
    if expected.status is not None:
        return expected.status if expected.status == RETRY_OR_NULL else f"null ({expected.status})"
    if expected.correct is None:
        return "null"
    return "correct" if expected.correct else expected.verdict or "not correct"


def _given(result: Result) -> str:
    if result.verdict is not None:
        return result.verdict
    code = _code(result)
    return f"null ({code})" if code else "null"


def _code(result: Result) -> str | None:
    return result.error.code if result.error else None


def _message(result: Result) -> str:
    return result.error.message if result.error else ""


def _wanted_share(expected: ExpectedShare) -> str:
    return "no words" if expected.share is None else f"share {expected.share:g} ± {expected.tol:g}"


def _share(share: float | None) -> str:
    return "no share" if share is None else f"share {share:.3f}"


def _word(flag: bool | None) -> str:
    return "unknown" if flag is None else str(flag).lower()
