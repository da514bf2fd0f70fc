from pathlib import Path

import pytest

from verifier_service import schema
from verifier_service.equivalence.rules import Rules, Tolerance
from verifier_service.rewards import RewardFailed, Score
from verifier_service.rewards.profile import (
    Profile,
    ProfileError,
    UnknownProfile,
    combine,
    load_profiles,
    patched_rules,
    profile_from_spec,
    profile_named,
)

SHIPPED = load_profiles()


def inline(**spec: object) -> Profile:
    return profile_from_spec("mine", schema.ProfileSpec.model_validate(spec))


def scores(**values: float | None) -> dict[str, Score]:
    return {name: Score(value) for name, value in values.items()}


def weights(name: str) -> dict[str, float]:
    return {reward.name: reward.weight for reward in SHIPPED[name].rewards}


# The shipped profiles


def test_the_shipped_profiles_are_those_of_the_papers() -> None:
    assert {name: weights(name) for name in SHIPPED} == {
        "accuracy": {"accuracy": 1.0},
        "dapo": {"accuracy": 1.0, "overlong": 1.0},
        "r1": {"accuracy": 1.0, "format": 1.0, "language": 1.0},
        "r1-soft": {"accuracy": 1.0, "format": 1.0, "language": 0.1},
        "r1-zero": {"accuracy": 1.0, "format": 1.0},
        "r1-zero-half-format": {"accuracy": 1.0, "format": 0.5},
    }


def test_every_shipped_profile_has_the_template_think_and_the_default_rules() -> None:
    assert {profile.rules for profile in SHIPPED.values()} == {Rules(template="think")}


def test_the_published_r1_zero_example() -> None:
    """Three completions against gold 5: right with tags, wrong with tags, right without tags."""
    judged = [scores(accuracy=a, format=f) for a, f in ((1.0, 1.0), (0.0, 1.0), (1.0, 0.0))]
    combined = [combine(each, SHIPPED["r1-zero-half-format"]) for each in judged]
    assert [each.components["accuracy"] for each in combined] == [1.0, 0.0, 1.0]
    assert [each.components["format"] for each in combined] == [0.5, 0.5, 0.0]
    assert [each.reward for each in combined] == [1.5, 0.5, 1.0]


@pytest.mark.parametrize(
    "accuracy, overlong, reward",
    [(1.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, -0.5, 0.5), (0.0, -1.0, -2.0), (1.0, None, 1.0)],
)
def test_dapo_pays_one_for_right_and_takes_one_for_wrong(
    accuracy: float, overlong: float | None, reward: float
) -> None:
    assert combine(scores(accuracy=accuracy, overlong=overlong), SHIPPED["dapo"]).reward == reward


# Null algebra


def test_a_null_accuracy_makes_the_reward_null() -> None:
    combined = combine(scores(accuracy=None, format=1.0, language=1.0), SHIPPED["r1"])
    assert combined.reward is None
    assert combined.components == {}


def test_a_null_of_another_reward_takes_the_value_that_the_profile_declares() -> None:
    assert combine(scores(accuracy=1.0, format=1.0, language=None), SHIPPED["r1"]).reward == 2.0
    kind = inline(rewards={"accuracy": {}, "language": {"weight": 0.5, "null_value": 1.0}})
    combined = combine(scores(accuracy=1.0, language=None), kind)
    assert combined.components == {"accuracy": 1.0, "language": 0.5}


def test_components_sum_to_the_reward_exactly() -> None:
    profile = inline(
        rewards={"accuracy": {"weight": 0.1}, "format": {"weight": 0.2}, "language": {"weight": 0.3}}
    )
    combined = combine(scores(accuracy=1.0, format=1.0, language=0.7), profile)
    assert sum(combined.components.values()) == combined.reward


def test_a_profile_without_accuracy_needs_no_gold() -> None:
    profile = inline(rewards={"repetition": {"weight": 0.5}})
    assert not profile.needs_gold
    assert combine(scores(repetition=-0.5), profile).reward == -0.25


def test_weights_that_overflow_are_a_failure_and_not_an_infinite_reward() -> None:
    profile = inline(rewards={"accuracy": {"weight": 1e6}})
    with pytest.raises(RewardFailed, match="accuracy"):
        combine(scores(accuracy=1e305), profile)


@pytest.mark.parametrize("number", [1e7, -1e7, 1e308])
def test_a_weight_out_of_proportion_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        inline(rewards={"accuracy": {"weight": number}})


def test_no_component_is_a_negative_zero() -> None:
    profile = inline(rewards={"accuracy": {"weight": -1.0}})
    assert str(combine(scores(accuracy=0.0), profile).reward) == "0.0"


# Hashes


def test_the_hash_is_of_the_content_and_not_of_the_name() -> None:
    spec = schema.ProfileSpec.model_validate({"rewards": {"accuracy": {}}})
    assert profile_from_spec("one", spec).hash == profile_from_spec("two", spec).hash
    assert profile_from_spec("one", spec).hash == SHIPPED["accuracy"].hash
    assert len({profile.hash for profile in SHIPPED.values()}) == len(SHIPPED)


@pytest.mark.parametrize(
    "spec",
    [
        {"rewards": {"accuracy": {"weight": 2.0}}},
        {"rewards": {"accuracy": {"wrong": -1.0}}},
        {"rewards": {"accuracy": {}, "format": {}}},
        {"rewards": {"accuracy": {}}, "rules": {"extraction": "lenient"}},
        {"rewards": {"accuracy": {}}, "rules": {"tolerance": {"rel": 0.01}}},
    ],
)
def test_whatever_bears_on_the_reward_changes_the_hash(spec: dict[str, object]) -> None:
    assert inline(**spec).hash != SHIPPED["accuracy"].hash


def test_the_order_of_rewards_and_spelt_out_defaults_do_not_change_the_hash() -> None:
    short = inline(rewards={"accuracy": {}, "format": {"weight": 0.5}})
    long = inline(
        schema=1,
        rewards={"format": {"weight": 0.5, "template": "think", "right": 1.0}, "accuracy": {"wrong": 0.0}},
        rules={"template": "think", "echo_guard": True},
    )
    assert short.hash == long.hash


# Rules


def test_a_patch_changes_only_what_it_names() -> None:
    base = Rules(extraction="lenient", tolerance=Tolerance(relative=0.1))
    patch = schema.RulesPatch(echo_guard=False)
    assert patched_rules(base, patch) == Rules(
        extraction="lenient", tolerance=Tolerance(relative=0.1), echo_guard=False
    )
    assert patched_rules(base, None) == base


def test_a_tolerance_is_taken_over_and_an_empty_one_takes_it_away() -> None:
    loose = patched_rules(Rules(), schema.RulesPatch.model_validate({"tolerance": {"abs": 0.5, "digits": 3}}))
    assert loose.tolerance == Tolerance(absolute=0.5, digits=3)
    assert patched_rules(loose, schema.RulesPatch.model_validate({"tolerance": {}})).tolerance is None


def test_template_and_part_of_a_reward_are_rules_that_an_item_may_change() -> None:
    profile = inline(rewards={"format": {"template": "think_answer"}, "language": {"part": "both"}})
    assert (profile.rules.template, profile.rules.language_part) == ("think_answer", "both")
    assert patched_rules(profile.rules, schema.RulesPatch(template="think")).template == "think"


def test_template_and_rules_must_not_contradict_each_other() -> None:
    with pytest.raises(ProfileError, match="set one of them"):
        inline(rewards={"format": {"template": "think"}}, rules={"template": "think_answer"})


# Faults


@pytest.mark.parametrize(
    "rewards, message",
    [
        ({"accuracy": {"null_value": 0.0}}, "no reward at all"),
        ({"language": {"right": 2.0}}, 'Options of "language": weight, null_value, part'),
        ({"accuracy": {"template": "think"}}, "has no effect"),
        ({"acuracy": {}}, 'Nearest: "accuracy". Known: accuracy, format, language, overlong, repetition'),
        ({"length": {}}, "entry points of the group"),
    ],
)
def test_an_option_or_reward_that_would_do_nothing_is_refused(
    rewards: dict[str, object], message: str
) -> None:
    with pytest.raises(ProfileError, match=r"(?s)" + message):
        inline(rewards=rewards)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "schema = 1\n[rewards.accuracy]\nwieght = 2.0\n",
            'rewards.accuracy.wieght: no such key. Nearest: "weight"',
        ),
        ("schema = 1\n[reward.accuracy]\n", 'reward: no such key. Nearest: "rewards"'),
        ("schema = 1\n[rewards.accuracy]\n[rules]\necho_gard = true\n", 'Nearest: "echo_guard"'),
        ("schema = 1\n[rewards.accuracy]\n[rules.tolerance]\nabsolute = 1\n", "rules.tolerance.absolute"),
        ("schema = 1\n[rewards.accuracy]\nweight = nan\n", "rewards.accuracy.weight"),
        ("schema = 1\n[rewards.accuracy]\nweight = 'much'\n", "rewards.accuracy.weight"),
        ("schema = 2\n[rewards.accuracy]\n", "reads schema = 1"),
        ("[rewards.accuracy]\n", 'write "schema = 1" at the top'),
        ("schema = 1\n", r"no \[rewards.NAME\]"),
        ("schema = 1\n[rewards]\n", "rewards"),
        ("schema = \n", "not TOML"),
    ],
)
def test_a_faulty_file_is_named_with_what_to_write_instead(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ProfileError, match=message) as caught:
        load_profiles(tmp_path)
    assert "mine.toml" in str(caught.value)


def test_a_deployment_adds_its_own_profiles(tmp_path: Path) -> None:
    (tmp_path / "strict.toml").write_text(
        "schema = 1\n[rewards.accuracy]\n[rules]\nrequire_evaluated = true\n"
    )
    profiles = load_profiles(tmp_path)
    assert set(profiles) == {*SHIPPED, "strict"}
    assert profile_named(profiles, "strict").rules.require_evaluated


def test_a_shipped_name_cannot_be_given_another_meaning(tmp_path: Path) -> None:
    (tmp_path / "r1.toml").write_text("schema = 1\n[rewards.accuracy]\n")
    with pytest.raises(ProfileError, match="choose another"):
        load_profiles(tmp_path)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="no directory"):
        load_profiles(tmp_path / "nowhere")


def test_an_unknown_profile_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownProfile) as caught:
        profile_named(SHIPPED, "r1-zreo")
    assert str(caught.value) == (
        'no profile "r1-zreo". Nearest: "r1-zero". '
        "Known: accuracy, dapo, r1, r1-soft, r1-zero, r1-zero-half-format.\n"
        "       Profiles of your own: --profiles DIR (docs/profiles.md)."
    )
