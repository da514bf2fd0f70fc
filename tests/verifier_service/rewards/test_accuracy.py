from verifier_service.equivalence.decision import correct, incorrect, no_answer, unverifiable
from verifier_service.rewards import accuracy


def test_only_a_correct_answer_scores_one() -> None:
    assert accuracy.score(correct("exact", "5 = 5")).value == 1.0
    assert accuracy.score(incorrect("exact", "5 is not 6")).value == 0.0
    assert accuracy.score(no_answer("no box")).value == 0.0


def test_no_verdict_is_null_and_says_why() -> None:
    score = accuracy.score(unverifiable("a placeholder"))
    assert score.value is None
    assert score.detail["code"] == "unverifiable_gold"
