from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig  # noqa: E402
from grpo_trainer.data import Problem  # noqa: E402
from grpo_trainer.experience import Learned, learn_from  # noqa: E402
from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.rollout import Answer  # noqa: E402
from grpo_trainer.sampling import Round, RoundCounts, ScoredGroup  # noqa: E402
from grpo_trainer.templates import Prompt  # noqa: E402
from grpo_trainer.verdicts import Verdict  # noqa: E402
from tests.trainer.tiny_models import NO_VERDICT, RIGHT, WRONG, tiny_model  # noqa: E402

OF = {"r": RIGHT, "w": WRONG, "n": NO_VERDICT}


def drawn(*groups: str, truncated: tuple[int, ...] = ()) -> Round:
    """A round from verdicts in letters. truncated: places of answers that were cut off."""
    made, place = [], 0
    for number, letters in enumerate(groups):
        answers, verdicts = [], []
        for letter in letters:
            length = 2 + place % 3
            finish: Any = "length" if place in truncated else "stop"
            answers.append(Answer(tuple(range(2, 2 + length)), (-3.0,) * length, finish, 0))
            verdicts.append(OF[letter])
            place += 1
        problem = Problem(str(number), "q", "1", {})
        prompt = Prompt("q", (3, 4), "none")
        made.append(ScoredGroup(problem, prompt, tuple(answers), ("",) * len(letters), tuple(verdicts)))
    return Round(tuple(made), 2, 24, 0, RoundCounts())


def config_of(*words: str) -> TrainConfig:
    return load_config("tiny-cpu", overrides=["batch.answers_per_step=8", "batch.group_size=4", *words])


def learned(round_: Round, *words: str) -> Learned:
    config = config_of(*words)
    return learn_from(round_, Policy(tiny_model(), config), config)


def test_an_answer_without_a_verdict_leaves_baseline_and_loss() -> None:
    with_gap = learned(drawn("rwnw", "rwww")).experience
    assert with_gap.advantages_B[2] == 0
    assert not with_gap.mask_BT[2].any()
    # The other three are compared among themselves: one right of three.
    assert with_gap.advantages_B[:4].tolist() == pytest.approx([2**0.5, -(2**-0.5), 0, -(2**-0.5)])
    assert with_gap.advantages_B[0] != pytest.approx(float(with_gap.advantages_B[4]))


def test_a_group_without_any_verdict_teaches_nothing() -> None:
    found = learned(drawn("nnnn", "rwww"))
    assert found.live_P.tolist() == [False, True]
    assert not found.experience.mask_BT[:4].any()
    assert found.metrics["groups/live"] == 0.5


def test_one_judged_answer_is_compared_with_nothing() -> None:
    assert not learned(drawn("rnnn", "wnnn")).live_P.any()


@pytest.mark.parametrize("rule, counted", [("score", True), ("mask", False)])
def test_truncated_answers_follow_their_rule_and_stay_in_the_baseline(rule: str, counted: bool) -> None:
    found = learned(drawn("rwww", "rrww", truncated=(1, 4)), f"sampling.truncated={rule}").experience
    assert bool(found.mask_BT[1].any()) is counted
    assert bool(found.mask_BT[4].any()) is counted
    assert found.advantages_B[:4].tolist() == pytest.approx([3**0.5] + [-(3**-0.5)] * 3)


def test_one_update_a_round_needs_no_old_logprobs() -> None:
    assert learned(drawn("rwww", "rrww")).experience.old_BT is None


def test_several_updates_a_round_compare_with_the_policy_that_sampled() -> None:
    words = ["batch.passes=2", "batch.answers_per_step=8"]
    config = config_of(*words)
    policy = Policy(tiny_model(), config)
    found = learn_from(drawn("rwww", "rrww"), policy, config)
    assert found.experience.old_BT is not None
    first = policy.update(found.experience, range(8), 1)
    second = policy.update(found.experience, range(8), 2)
    assert first.highest["ratio"] == pytest.approx(1.0, abs=1e-5)
    assert second.highest["ratio"] > 1.0001
    assert found.metrics["engine/logprob_gap_max"] > 0


def test_the_weights_of_the_correction_are_bounded_and_logged_raw() -> None:
    words = ["correction.level=token", "correction.high=0.5"]
    found = learned(drawn("rwww", "rrww"), *words)
    weights_BT = found.experience.weights_BT
    assert weights_BT is not None
    assert float(weights_BT.max()) <= 0.5
    assert found.metrics["engine/weight_raw_max"] > 0.5


def test_a_kl_in_the_reward_makes_unlikely_answers_worse() -> None:
    words = ["kl.beta=0.5", "kl.place=reward", "kl.estimator=k1", "reference.update=fixed"]
    config = config_of(*words)
    policy = Policy(tiny_model(), config)
    reference: Any = policy.reference
    reference.load_state_dict(tiny_model(1).state_dict())
    equal = learn_from(drawn("rrrr", "wwww"), policy, config)
    # Equal rewards, unequal distance to the reference: the group has something to learn after all.
    assert equal.live_P.all()
    assert equal.experience.ref_BT is None


def test_a_reward_that_is_not_there_never_counts_as_a_number() -> None:
    strange = Verdict(None, "right")
    round_ = drawn("rwww", "rrww")
    verdicts = (strange, *round_.groups[0].verdicts[1:])
    group = round_.groups[0]
    changed = ScoredGroup(group.problem, group.prompt, group.answers, group.texts, verdicts)
    found = learned(Round((changed, round_.groups[1]), 2, 24, 0, RoundCounts()))
    assert found.experience.advantages_B[:4].tolist() == [0.0] * 4
    assert not torch.isnan(found.experience.advantages_B).any()
