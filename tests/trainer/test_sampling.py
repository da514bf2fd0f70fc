from collections.abc import Iterator, Sequence
from typing import Any

import pytest

pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig
from grpo_trainer.data import Problem
from grpo_trainer.loading import load_config
from grpo_trainer.rollout import Answer, Group, Sampling
from grpo_trainer.sampling import Round, Sampler, SamplingError
from grpo_trainer.templates import Prompt
from grpo_trainer.verdicts import Item, Verdict
from tests.trainer.tiny_models import NO_VERDICT, RIGHT, WRONG, FakeJudge

G = 4
ANSWER = Answer((5, 1), (-0.5, -0.5), "stop", 0)


class Scripted:
    """An engine that says the same to everything, groups last first. asked: prompts and settings.

    rests: how often it was sent to rest.
    """

    def __init__(self) -> None:
        self.asked: list[tuple[Sequence[Sequence[int]], Sampling]] = []
        self.rests = 0

    def generate(
        self, prompts: Sequence[Sequence[int]], group_size: int, sampling: Sampling
    ) -> Iterator[Group]:
        self.asked.append((prompts, sampling))
        for place in reversed(range(len(prompts))):
            yield Group(place, (ANSWER,) * group_size)

    def sync(self, weights: Any, version: int) -> None: ...

    def rest(self) -> None:
        self.rests += 1

    def numbers(self) -> dict[str, float]:
        return {}

    def close(self) -> None: ...


def config_of(*words: str) -> TrainConfig:
    batch = ["batch.answers_per_step=32", f"batch.group_size={G}", "data.shuffle=false"]
    return load_config("tiny-cpu", overrides=[*batch, *words])


def sampler(rule: Any, *words: str, questions: int = 40) -> Sampler:
    asked = [
        (Problem(str(i), f"q{i}", str(i), {"unit": "m"}), Prompt(f"q{i}", (i, 2), "open"))
        for i in range(questions)
    ]
    return Sampler(Scripted(), FakeJudge(rule), asked, lambda ids: f"text of {list(ids)}", config_of(*words))


def by_question(kinds: str) -> Any:
    """Verdicts by question, kinds[i % len]: m mixed, r all right, w all wrong, n none, s wrong but of unequal
    rewards, o one right and the others without a verdict."""

    def rule(item: Item) -> Verdict:
        question, number = int(item["group"]), int(item["id"].rpartition("/")[2])
        kind = kinds[question % len(kinds)]
        first = number == 0
        return {
            "m": RIGHT if first else WRONG,
            "r": RIGHT,
            "w": WRONG,
            "n": NO_VERDICT,
            "s": Verdict(-0.5 if first else -1.0, "wrong"),
            "o": RIGHT if first else NO_VERDICT,
        }[kind]

    return rule


FILTER = ["sampling.filter=accuracy", "sampling.max_refills=9"]


def names(drawn: Round) -> list[str]:
    return [g.problem.id for g in drawn.groups]


def test_a_round_holds_the_next_questions_in_their_order() -> None:
    some = sampler(by_question("m"))
    assert names(some.fill(step=1, version=0)) == [str(i) for i in range(8)]
    second = some.fill(step=2, version=1)
    assert names(second) == [str(i) for i in range(8, 16)]
    assert (second.position, second.version) == (16, 1)


def test_a_resumed_sampler_draws_what_the_other_would_have_drawn() -> None:
    first, resumed = sampler(by_question("m")), sampler(by_question("m"))
    first.fill(step=1, version=0)
    resumed.position = first.position
    assert names(first.fill(step=2, version=0)) == names(resumed.fill(step=2, version=0))
    assert first.engine.asked[-1] == resumed.engine.asked[-1]  # type: ignore[attr-defined]


def test_items_tell_the_service_all_it_can_use() -> None:
    some = sampler(by_question("m"))
    some.fill(step=1, version=0)
    assert isinstance(some.judge, FakeJudge)
    item = next(item for item in some.judge.items if item["id"] == "3/2")
    assert item == {
        "id": "3/2",
        "group": "3",
        "prompt": "q3",
        "gold": "3",
        "completion": "text of [5]",
        "prefilled_think": True,
        "completion_tokens": 2,
        "max_tokens": 24,
        "truncated": False,
        "unit": "m",
    }


def test_groups_are_scored_while_others_are_still_written() -> None:
    some = sampler(by_question("m"))
    judge, engine = some.judge, some.engine
    scored_before_the_last: list[int] = []

    def generate(prompts: Any, group_size: int, sampling: Sampling) -> Iterator[Group]:
        for place in range(len(prompts)):
            assert isinstance(judge, FakeJudge)
            scored_before_the_last.append(len(judge.items) // G)
            yield Group(place, (ANSWER,) * group_size)

    engine.generate = generate  # type: ignore[method-assign]
    some.fill(step=1, version=0)
    assert scored_before_the_last == list(range(8))


def test_the_filter_refills_until_the_round_is_full_of_mixed_groups() -> None:
    drawn = sampler(by_question("mrwn"), *FILTER, questions=80).fill(step=1, version=0)
    assert names(drawn) == [str(i) for i in range(0, 32, 4)]
    assert all(g.mixed for g in drawn.groups)
    counts = drawn.counts
    dropped = counts.dropped_right + counts.dropped_wrong + counts.dropped_unjudged
    assert counts.asked == 8 + dropped + counts.surplus
    assert counts.dropped_right == counts.dropped_wrong == counts.dropped_unjudged > 0
    assert counts.refills >= 1
    assert drawn.position == counts.asked


def test_the_filter_looks_at_accuracy_and_not_at_the_shaped_reward() -> None:
    drawn = sampler(by_question("ms"), *FILTER).fill(step=1, version=0)
    assert all(int(name) % 2 == 0 for name in names(drawn))
    assert drawn.counts.dropped_wrong == 8


def test_answers_without_a_verdict_make_no_group_mixed() -> None:
    drawn = sampler(by_question("mo"), *FILTER).fill(step=1, version=0)
    assert all(int(name) % 2 == 0 for name in names(drawn))
    assert drawn.counts.dropped_right == 8


def test_without_the_filter_every_group_stays() -> None:
    drawn = sampler(by_question("mrwn")).fill(step=1, version=0)
    assert (len(drawn.groups), drawn.counts.asked, drawn.counts.refills) == (8, 8, 0)


def test_at_the_cap_the_run_stops_and_says_what_it_met() -> None:
    some = sampler(by_question("wwwr"), "sampling.filter=accuracy", "sampling.max_refills=2")
    with pytest.raises(
        SamplingError, match=r"24 questions gave 0 groups of the 8 wanted: 6 were all right, 18 all"
    ):
        some.fill(step=1, version=0)


def test_the_filter_costs_little_more_than_the_rate_says() -> None:
    # 7 of 16 questions are mixed; the rest is asked in vain, and a few come to nothing at the end.
    asked = kept = 0
    some = sampler(by_question("mrmwrmwmmrwwmmrw"), *FILTER, "batch.answers_per_step=128", questions=4000)
    for step in range(20):
        drawn = some.fill(step=step + 1, version=0)
        asked, kept = asked + drawn.counts.asked, kept + len(drawn.groups)
    assert 1.0 <= asked / kept * 7 / 16 < 1.05


def test_the_limit_of_length_follows_its_schedule() -> None:
    words = ["sampling.length_schedule=[{from_step=5, max_tokens=48}]"]
    some = sampler(by_question("m"), *words)
    limits = [some.fill(step=step, version=0).max_tokens for step in (1, 4, 5, 6)]
    assert limits == [24, 24, 48, 48]
    assert [s.max_tokens for _, s in some.engine.asked] == limits  # type: ignore[attr-defined]


def test_every_place_in_the_data_has_its_own_seed() -> None:
    some = sampler(by_question("m"))
    for step in range(4):
        some.fill(step=step + 1, version=0)
    assert len({s.seed for _, s in some.engine.asked}) == 4  # type: ignore[attr-defined]


def test_the_engine_rests_once_the_round_is_full_and_not_between_its_refills() -> None:
    some = sampler(by_question("mr"), *FILTER)
    assert some.fill(step=1, version=0).counts.refills > 0
    assert some.engine.rests == 1  # type: ignore[attr-defined]
