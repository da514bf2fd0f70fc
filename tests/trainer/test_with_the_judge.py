"""The trainer's golds and prompts before the real judge, in process: the same interface as the service."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pytest

from grpo_trainer.config import TemplateConfig
from grpo_trainer.data import Problem, check_golds
from grpo_trainer.templates import make_template
from verifier_service.client import Client, ServiceUnreachable
from verifier_service.schema import GoldsResponse, RulesPatch, ScoreResponse


class Judge(Protocol):
    """What the client and its twin in process have in common."""

    def score(self, items: Sequence[Any], *, profile: str) -> ScoreResponse: ...

    def check_golds(self, golds: Sequence[Any]) -> GoldsResponse: ...


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    local = pytest.importorskip("verifier_service.local", reason="the judge needs: pip install .[server]")
    with local.LocalClient(workers=1) as client:
        yield client


class Bare:
    """A tokenizer whose chat template is the last message and a given ending."""

    def __init__(self, ending: str) -> None:
        self.ending = ending

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        return conversation[-1]["content"] + (self.ending if options["add_generation_prompt"] else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [len(text)]


def scores(judge: Judge, ending: str, **options: Any) -> dict[str, float | None]:
    probe = make_template(TemplateConfig.model_validate(options), Bare(ending)).probe()
    item = {
        "completion": probe.completion,
        "gold": probe.gold,
        "prompt": probe.question,
        "prefilled_think": probe.prefilled_think,
    }
    (result,) = judge.score([item], profile="r1-zero").results
    return result.scores


@pytest.mark.parametrize("kind", ["chat", "r1", "plain"])
@pytest.mark.parametrize("prefill", [False, True])
@pytest.mark.parametrize("ending", ["\nA:", "\nA:<think>\n"])
def test_the_probe_of_every_template_earns_accuracy_and_format(
    judge: Judge, kind: str, prefill: bool, ending: str
) -> None:
    assert scores(judge, ending, kind=kind, prefill_think=prefill) == {"accuracy": 1.0, "format": 1.0}


def test_the_probe_shows_a_chat_template_that_forbids_thinking(judge: Judge) -> None:
    assert scores(judge, "<think>\n\n</think>\n", kind="chat") == {"accuracy": 1.0, "format": 0.0}


def test_golds_that_cannot_be_judged_are_found_before_the_run(judge: Judge) -> None:
    golds = ["18", r"\frac{1}{2}", "see figure", ["3", "three"], "", 7]
    problems = [Problem(str(i), "How many?", gold, {}) for i, gold in enumerate(golds)]
    report = check_golds(problems, judge, rules=RulesPatch())
    assert [p.gold for p in report.kept] == ["18", r"\frac{1}{2}", ["3", "three"], 7]
    assert {r.code for r in report.refused} == {"unverifiable_gold"}


def test_without_a_service_the_check_says_so() -> None:
    with Client("http://127.0.0.1:9") as nobody, pytest.raises(ServiceUnreachable):
        check_golds([Problem("0", "How many?", "1", {})], nobody)
