"""What `explain` shows of a result."""

import io
from typing import Any

import pytest
from rich.console import Console

from verifier_service.commands import explain
from verifier_service.schema import Result

EXPLANATION: dict[str, Any] = {
    "text": "<think>half</think>so \\boxed{0.5}",
    "spans": {"thinking": [7, 11], "response": [19, 33], "answer": [29, 32]},
    "found": "box",
    "not_found": "",
    "tag_faults": ["text_before_thinking"],
    "rewards": {
        "accuracy": {"verdict": "correct", "reason": "equal exactly"},
        "language": {"target": "en", "shares": {"en": 0.92, "zh": 0.08}, "snippets": []},
    },
    "steps": [{"title": "answer read as", "detail": "1/2"}],
}
RIGHT = {
    "index": 0,
    "status": "ok",
    "reward": 1.5,
    "verdict": "correct",
    "method": "exact",
    "reason": "equal exactly",
    "scores": {"accuracy": 1.0, "language": None},
    "components": {"accuracy": 1.0, "language": 0.5},
    "explanation": EXPLANATION,
}


def shown(**changes: Any) -> str:
    screen = Console(file=io.StringIO(), width=100, highlight=False, markup=False, emoji=False)
    explain.show(Result.model_validate(RIGHT | changes), screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@pytest.mark.parametrize(
    "told",
    [
        "correct, by exact: equal exactly",
        "thinking            half",
        "response            so \\boxed{0.5}",
        "text_before_thinking",
        "box, from character 29",
        "answer read as      1/2",
        "target: en; shares: en 0.92, zh 0.08; snippets: none",
        "sum              1.5",
    ],
)
def test_every_part_of_the_judgement_is_told(told: str) -> None:
    assert told in "\n".join(line.rstrip() for line in shown().splitlines())


def test_a_null_score_is_no_zero() -> None:
    (line,) = [line.split() for line in shown().splitlines() if line.startswith("language")]
    assert line[1:3] == ["null", "0.5"]


def test_no_answer_says_why() -> None:
    nothing = EXPLANATION | {
        "spans": {"thinking": [7, 11], "response": None, "answer": None},
        "not_found": "thinking never closed",
        "found": "",
    }
    text = shown(verdict="no_answer", explanation=nothing)
    assert "thinking never closed" in text
    assert "answer found in" not in text


def test_what_no_method_decided_names_none() -> None:
    assert shown(verdict="no_answer", method="none", reason="no box").startswith("no_answer: no box\n")


def test_an_answer_put_together_from_parts_has_no_place() -> None:
    text = shown(explanation=EXPLANATION | {"spans": {"answer": None}})
    assert "answer found in" in text
    assert "from character" not in text


def test_an_error_is_told_by_its_code() -> None:
    error = {"code": "unverifiable_gold", "message": "the gold names no answer", "retryable": False}
    text = shown(status="error", reward=None, verdict=None, error=error, explanation=None, scores={})
    assert text == "no verdict (unverifiable_gold): the gold names no answer\n"


def test_rewards_without_a_gold_have_no_verdict() -> None:
    assert shown(verdict=None).startswith("no verdict asked for")


def test_model_text_cannot_steer_the_terminal() -> None:
    steering = EXPLANATION | {"steps": [{"title": "answer", "detail": "\x1b[2J[bold]x[/bold]"}]}
    text = shown(explanation=steering, warnings=["\x1b[2J"])
    assert "\x1b" not in text
    assert "\\x1b[2J[bold]x[/bold]" in text
