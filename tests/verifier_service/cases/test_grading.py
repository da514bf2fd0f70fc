"""A result against its label: right, false positive, false negative or null, each case once."""

import pytest

from verifier_service.cases.grading import grade, worst
from verifier_service.cases.labels import Case, Expected, ExpectedShare, Labelled
from verifier_service.schema import Result

NAMES = ("correct", "incorrect", "no_answer", None)


def result(verdict: str | None, *, code: str | None = None, index: int = 0, **scores: float | None) -> Result:
    fields = {"index": index, "status": "ok", "reward": None, "verdict": verdict, "scores": scores}
    if code is not None:
        fields |= {"status": "error", "error": {"code": code, "message": "because", "retryable": False}}
    return Result.model_validate(fields)


def case(*expected: Expected | ExpectedShare) -> Case:
    return Case("id", "kind", False, tuple(Labelled({"completion": ""}, one) for one in expected))


def outcome(expected: Expected | ExpectedShare, got: Result) -> str:
    return grade(case(expected), [got]).outcome


@pytest.mark.parametrize(
    "correct, outcomes",
    [
        (True, ("right", "false_negative", "false_negative", "null")),
        (False, ("false_positive", "right", "right", "null")),
        (None, ("false_positive", "false_negative", "false_negative", "right")),
    ],
)
def test_a_verdict_against_a_plain_label(correct: bool | None, outcomes: tuple[str, ...]) -> None:
    assert tuple(outcome(Expected(correct), result(name)) for name in NAMES) == outcomes


def test_a_status_asks_for_a_null_with_that_code() -> None:
    expected = Expected(False, status="unverifiable_gold")
    assert outcome(expected, result(None, code="unverifiable_gold")) == "right"
    assert outcome(expected, result(None, code="internal")) == "null"
    assert outcome(expected, result("correct")) == "false_positive"
    assert outcome(expected, result("incorrect")) == "false_negative"


def test_a_lost_worker_may_cost_a_null_but_never_a_zero() -> None:
    expected = Expected(True, status="retry_or_error_not_zero")
    outcomes = [outcome(expected, result(name)) for name in NAMES]
    assert outcomes == ["right", "false_negative", "false_negative", "right"]


def test_an_expected_zero_is_not_met_by_a_null() -> None:
    expected = Expected(False, verdict="incorrect")
    outcomes = [outcome(expected, result(name)) for name in NAMES]
    assert outcomes == ["false_positive", "right", "right", "null"]


def test_another_expected_verdict_is_meant_by_name() -> None:
    expected = Expected(False, verdict="no_answer")
    assert outcome(expected, result("no_answer")) == "right"
    assert outcome(expected, result("incorrect")) == "false_negative"


@pytest.mark.parametrize("label, score, ending", [
    (True, 1.0, "right"), (True, 0.0, "false_negative"), (False, 0.0, "right"),
    (False, 1.0, "false_negative"), (True, None, "false_negative"), (False, None, "false_negative"),
])  # fmt: skip
def test_a_wrong_format_is_a_false_negative(label: bool, score: float | None, ending: str) -> None:
    assert outcome(Expected(True, format=label), result("correct", format=score)) == ending


def test_a_format_that_was_not_scored_is_not_right() -> None:
    assert outcome(Expected(True, format=False), result("correct")) == "false_negative"


def test_a_wrong_verdict_outranks_a_wrong_format() -> None:
    assert outcome(Expected(False, format=True), result("correct", format=0.0)) == "false_positive"


@pytest.mark.parametrize("label, share, ending", [
    (True, 0.8, "right"), (True, 0.79, "false_negative"), (False, 0.79, "right"),
    (False, 0.8, "false_negative"), (True, None, "right"), (False, None, "false_negative"),
])  # fmt: skip
def test_consistent_means_most_words_or_no_words(label: bool, share: float | None, ending: str) -> None:
    assert outcome(Expected(True, consistent=label), result("correct", language=share)) == ending


def test_a_language_that_was_not_scored_is_not_consistent() -> None:
    assert outcome(Expected(True, consistent=True), result("correct")) == "false_negative"


@pytest.mark.parametrize("share, tol, got, ending", [
    (0.5, 0.1, 0.6, "right"), (0.5, 0.1, 0.4, "right"), (0.5, 0.1, 0.61, "false_positive"),
    (0.5, 0.1, 0.39, "false_negative"), (0.5, 0.1, None, "null"), (None, 0.0, None, "right"),
    (None, 0.0, 0.0, "false_positive"),
])  # fmt: skip
def test_a_share_is_right_within_its_tolerance(
    share: float | None, tol: float, got: float | None, ending: str
) -> None:
    assert outcome(ExpectedShare(share, tol), result(None, language=got)) == ending


def test_a_batch_is_as_bad_as_its_worst_item() -> None:
    both = case(Expected(True), Expected(False))
    assert grade(both, [result("correct"), result("incorrect", index=1)]).outcome == "right"
    assert grade(both, [result(None), result("correct", index=1)]).outcome == "false_positive"
    assert grade(both, [result("incorrect"), result(None, index=1)]).outcome == "false_negative"


def test_a_lost_or_shifted_item_is_no_right_batch() -> None:
    both = case(Expected(True), Expected(True))
    assert grade(both, [result("correct")]).outcome == "false_negative"
    assert grade(both, [result("correct", index=1), result("correct")]).outcome == "false_negative"


def test_an_empty_batch_is_right_if_nothing_comes_back() -> None:
    assert grade(case(), []).outcome == "right"
    assert grade(case(), [result("correct")]).outcome == "false_negative"


def test_the_first_of_equally_bad_endings_is_told() -> None:
    endings = [grade(case(Expected(True)), [result(name)]) for name in ("incorrect", "no_answer")]
    assert worst(endings).got == "incorrect"


def test_a_miss_says_what_was_wanted_and_what_came() -> None:
    miss = grade(case(Expected(False, status="unverifiable_gold")), [result(None, code="internal")])
    assert (miss.expected, miss.got, miss.reason) == (
        "null (unverifiable_gold)",
        "null (internal)",
        "because",
    )
