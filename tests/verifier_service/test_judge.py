"""One item at a time, through transcript, extraction, decision and rewards. Nothing heavy: it runs here."""

import json
import pickle
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_service.equivalence import Gold, GoldCheck, Rules
from verifier_service.equivalence.slow_path import Question, Symbolic
from verifier_service.judge import (
    LONGEST_EXTRACT,
    JudgeItem,
    Judgement,
    check_gold_item,
    perform,
    score_item,
)
from verifier_service.packing import packed
from verifier_service.rewards import RewardFailed, Score, plugins
from verifier_service.rewards.profile import Profile, load_profiles, profile_from_spec
from verifier_service.schema import ProfileSpec

PROFILES = load_profiles()
FIVE = Gold(any_of=("5",))


def profile_of(**rewards: dict[str, Any]) -> Profile:
    return profile_from_spec("own", ProfileSpec.model_validate({"schema": 1, "rewards": rewards}))


def judged(completion: str, profile: str = "r1-zero", **item: Any) -> Judgement:
    return score_item(JudgeItem(completion, **({"gold": FIVE} | item)), PROFILES[profile])


@pytest.mark.parametrize(
    "completion, accuracy, format_component",
    [
        (r"<think>2+3=5</think>\boxed{5}", 1.0, 0.5),
        (r"<think>2+3=6</think>\boxed{6}", 0.0, 0.5),
        (r"the answer is \boxed{5}", 1.0, 0.0),
    ],
)
def test_the_published_example_of_r1_zero(completion: str, accuracy: float, format_component: float) -> None:
    judgement = judged(completion, "r1-zero-half-format")
    assert judgement.scores["accuracy"] == accuracy
    assert judgement.components["format"] == format_component
    assert judgement.reward == accuracy + format_component


def test_a_correct_answer_tells_what_was_read_and_how_it_was_judged() -> None:
    judgement = judged(r"<think>so</think>It is \boxed{\frac{10}{2}}.")
    assert judgement.verdict == "correct"
    assert judgement.extracted == r"\frac{10}{2}"
    assert judgement.method == "exact"
    assert judgement.reason
    assert judgement.error_code is None
    assert judgement.elapsed_ms > 0


def test_no_answer_is_a_verdict_with_a_reward() -> None:
    judgement = judged("<think>hm</think>I do not know.")
    assert (judgement.verdict, judgement.extracted, judgement.reward) == ("no_answer", None, 1.0)


@pytest.mark.parametrize(
    "completion",
    [r"<think>a</think>\boxed{5}", r"\boxed{n/a}", "no box", "", r"<think>\boxed{5}", r"\boxed{"],
)
def test_an_unverifiable_gold_is_the_same_null_for_every_answer(completion: str) -> None:
    judgement = judged(completion, gold=Gold(any_of=("N/A",)))
    other = judged(r"\boxed{7}", gold=Gold(any_of=("N/A",)))
    assert judgement.error_code == "unverifiable_gold"
    assert (judgement.reward, judgement.components, judgement.verdict) == (None, {}, None)
    assert (judgement.reason, judgement.method) == (other.reason, other.method)
    assert judgement.error_message == other.error_message != ""


def test_a_missing_gold_and_a_missing_language_are_missing_input() -> None:
    for judgement in (judged("x", gold=None), judged("x", "r1")):
        assert judgement.error_code == "missing_input"
        assert (judgement.reward, judgement.scores) == (None, {})
    assert "gold" in judged("x", gold=None).error_message
    assert "language" in judged("x", "r1").error_message


def test_rewards_that_need_no_gold_work_without_one() -> None:
    profile = profile_of(format={"weight": 2}, repetition={})
    judgement = score_item(JudgeItem("<think>a</think>b"), profile)
    assert (judgement.reward, judgement.verdict, judgement.error_code) == (2.0, None, None)


def test_a_verdict_is_told_even_where_the_profile_does_not_pay_for_it() -> None:
    item = JudgeItem(r"<think>a</think>\boxed{5}", FIVE)
    assert score_item(item, profile_of(format={})).verdict == "correct"


def test_an_unverifiable_gold_is_a_warning_where_the_profile_does_not_pay_for_accuracy() -> None:
    judgement = score_item(JudgeItem("<think>a</think>b", Gold(("N/A",))), profile_of(format={}))
    assert (judgement.reward, judgement.error_code) == (1.0, None)
    assert "unverifiable_gold" in judgement.warnings[0]


def test_language_is_measured_in_the_part_that_the_rules_name() -> None:
    text = r"<think>我们把两个数字加起来得到结果</think>We add the two numbers. \boxed{5}"
    assert judged(text, "r1", language="zh").scores["language"] == 1.0
    assert judged(text, "r1", language="en").scores["language"] == 0.0


def test_a_text_without_words_has_no_language_score_and_takes_the_value_of_the_profile() -> None:
    judgement = judged(r"<think>$2+3=5$</think>\boxed{5}", "r1", language="en")
    assert judgement.scores["language"] is None
    assert judgement.components["language"] == 0.0
    assert judgement.reward == 2.0


def test_dapo_weighs_length_and_centres_accuracy() -> None:
    judgement = judged(r"\boxed{4}", "dapo", completion_tokens=90, max_tokens=100)
    assert judgement.scores == {"accuracy": 0.0, "overlong": -0.5}
    assert judgement.reward == -1.5


def test_a_reward_of_ones_own_sees_item_transcript_and_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def own(name: str, *args: Any) -> Score:
        seen.append((name, *args))
        return Score(0.25)

    monkeypatch.setattr(plugins, "own_rewards", lambda: {"brevity": ()})
    monkeypatch.setattr(plugins, "origin", lambda name: "here")
    monkeypatch.setattr(plugins, "score", own)
    profile = profile_of(accuracy={}, brevity={"weight": 2})
    item = JudgeItem(r"\boxed{5}", FIVE, info={"row": 1})
    assert score_item(item, profile).reward == 1.5
    [(name, given, transcript, verdict)] = seen
    assert (name, given, verdict) == ("brevity", item, "correct")
    assert transcript.response == r"\boxed{5}"


def test_a_reward_that_breaks_is_internal_and_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str, *_: Any) -> Score:
        raise RewardFailed(name, "raised KeyError: 'x'")

    monkeypatch.setattr(plugins, "own_rewards", lambda: {"brevity": ()})
    monkeypatch.setattr(plugins, "origin", lambda name: "here")
    monkeypatch.setattr(plugins, "score", broken)
    judgement = score_item(JudgeItem("x", FIVE), profile_of(accuracy={}, brevity={}))
    assert (judgement.reward, judgement.error_code) == (None, "internal")
    assert "brevity" in judgement.error_message


def test_an_explanation_says_where_things_stand_and_why() -> None:
    text = "<think>We add two and three and get five.</think>The answer is $\\boxed{10/2}$."
    item = JudgeItem(text, FIVE, language="en")
    explanation = score_item(item, PROFILES["r1"], explain=True).explanation
    assert explanation is not None
    stretches = {name: explanation["text"][slice(*span)] for name, span in explanation["spans"].items()}
    assert stretches["thinking"] == "We add two and three and get five."
    assert stretches["answer"] == "10/2"
    assert explanation["tag_faults"] == []
    assert explanation["rewards"]["language"]["evidence_words"] > 0
    assert any("gold" in step["title"] for step in explanation["steps"])
    json.dumps(explanation, allow_nan=False)
    assert score_item(item, PROFILES["r1"]).explanation is None


def test_an_explanation_of_a_missing_answer_names_the_faults() -> None:
    item = JudgeItem(r"<think>never closed \boxed{5}", FIVE)
    explanation = score_item(item, PROFILES["r1-zero"], explain=True).explanation
    assert explanation is not None
    assert explanation["spans"]["response"] is None
    assert explanation["tag_faults"]
    assert explanation["not_found"]


SLOW = Gold(any_of=(r"\int e^{x^2} dx",))
STRANGE = r"x \star y"  # only sympy could read it
SLOW_ITEM = JudgeItem(r"<think>a</think>\boxed{\int e^{t^2} dt}", SLOW)


def questioned(
    item: JudgeItem, profile: Profile, answers: Mapping[Question, Symbolic], *, explain: bool = False
) -> Any:
    """What the pool is told, of an item whose questions have these answers."""
    return perform("score", (packed(item), profile, explain, tuple(answers.items())), True)


def test_what_only_sympy_can_tell_is_asked_for_and_then_taken_as_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asked(*_: str) -> Symbolic:
        raise AssertionError("sympy was asked")

    monkeypatch.setattr("verifier_service.equivalence.symbolic.symbolic_equal", asked)
    question = questioned(SLOW_ITEM, PROFILES["accuracy"], {}).question
    assert question == (SLOW.any_of[0], r"\int e^{t^2} dt")
    for equal, verdict in ((True, "correct"), (False, "incorrect")):
        judgement = questioned(
            SLOW_ITEM, PROFILES["accuracy"], {question: Symbolic(equal, "so it is said")}, explain=True
        )
        assert (judgement.verdict, judgement.method, judgement.reason) == (
            verdict,
            "symbolic",
            "so it is said",
        )
        assert "so it is said" in judgement.explanation["steps"][-1]["detail"]


@pytest.mark.parametrize(
    "on_timeout, reward, code", [("incorrect", 0.0, None), ("null", None, "answer_timeout")]
)
def test_an_answer_that_is_too_slow_has_the_verdict_of_the_rules(
    on_timeout: str, reward: float | None, code: str | None
) -> None:
    spec = {"schema": 1, "rewards": {"accuracy": {}}, "rules": {"on_answer_timeout": on_timeout}}
    profile = profile_from_spec("own", ProfileSpec.model_validate(spec))
    question = questioned(SLOW_ITEM, profile, {}).question
    told = perform("slow", (question,), False)
    assert isinstance(told, Symbolic)
    for judgement in (
        questioned(SLOW_ITEM, profile, {question: told}),
        perform("score", (packed(SLOW_ITEM), profile, False, ()), False),
        perform("score", (packed(SLOW_ITEM), profile, False, None), False),
    ):
        assert (judgement.reward, judgement.error_code, judgement.reason) == (reward, code, "answer_timeout")


def test_a_gold_that_is_too_slow_to_be_read_is_a_null_and_no_fault_of_the_answer() -> None:
    item = JudgeItem(r"\boxed{5}", Gold(any_of=(STRANGE,)))
    question = questioned(item, PROFILES["accuracy"], {}).question
    assert question == (STRANGE,)
    told = perform("slow", (question,), False)
    assert isinstance(told, Symbolic)
    assert questioned(item, PROFILES["accuracy"], {question: told}).error_code == "unverifiable_gold"


def test_an_answer_too_heavy_for_the_last_run_is_not_excused_by_a_gold_that_nobody_has_read() -> None:
    item = JudgeItem(r"\boxed{5}", Gold(any_of=(STRANGE,)))
    judgement = perform("score", (packed(item), PROFILES["accuracy"], False, ()), False)
    assert isinstance(judgement, Judgement)
    assert (judgement.reward, judgement.error_code) == (0.0, None)


def test_lone_surrogates_are_judged_and_never_sent_back() -> None:
    judgement = score_item(
        JudgeItem("<think>\ud800</think>\\boxed{5\udfff}", FIVE, prompt="\ud83d"),
        PROFILES["r1-zero"],
        explain=True,
    )
    assert judgement.verdict is not None
    json.dumps([judgement.extracted, judgement.reason, judgement.explanation]).encode()
    str([judgement.extracted, judgement.reason, judgement.explanation]).encode()


def test_a_boxed_novel_is_not_sent_back_whole() -> None:
    judgement = judged("\\boxed{" + "x" * 100_000 + "}")
    assert judgement.extracted is not None
    assert len(judgement.extracted) == LONGEST_EXTRACT + 1


def test_a_chat_is_judged_by_its_last_message() -> None:
    chat = [
        {"role": "user", "content": "What is 2+3?"},
        {"role": "assistant", "content": r"\boxed{5}", "reasoning_content": "2+3=5"},
    ]
    assert score_item(JudgeItem(chat, FIVE), PROFILES["r1-zero"]).reward == 2.0


def test_the_pool_asks_for_scores_and_gold_checks() -> None:
    item = JudgeItem(r"\boxed{5}", FIVE)
    scored = perform("score", (packed(item), PROFILES["accuracy"], False, None), True)
    assert isinstance(scored, Judgement)
    assert scored.reward == 1.0
    assert perform("gold", (FIVE, "", Rules()), True) == check_gold_item(FIVE, "", Rules())


def test_golds_are_checked() -> None:
    good, bad = check_gold_item(FIVE, "", Rules()), check_gold_item(Gold(("see figure",)), "", Rules())
    assert isinstance(good, GoldCheck)
    assert (good.ok, bad.ok, bad.code) == (True, False, "unverifiable_gold")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["5", r"\frac{1}{2}", "x=2", "(1,2)"]))
def test_no_text_breaks_the_judge_and_every_judgement_travels(text: str, gold: str) -> None:
    for completion in (text, f"<think>{text}</think>{text}", f"no box {text}"):
        judgement = judged(completion, gold=Gold(any_of=(gold,)), prompt=text)
        assert judgement.reward is not None
        assert sum(judgement.components.values()) == judgement.reward
        assert pickle.loads(pickle.dumps(judgement)) == judgement
