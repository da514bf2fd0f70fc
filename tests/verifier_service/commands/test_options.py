"""Profiles and rules as a user types them."""

from pathlib import Path

import pytest

from verifier_service.commands.console import CommandError
from verifier_service.commands.options import profile_option, rules_option
from verifier_service.schema import ProfileSpec, RulesPatch, ToleranceSpec


def test_a_profile_is_a_name_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text("schema = 1\n[rewards.accuracy]\nweight = 2\n")
    assert profile_option(None) is None
    assert profile_option("r1-zero") == "r1-zero"
    spec = profile_option(str(file))
    assert isinstance(spec, ProfileSpec)
    assert spec.rewards["accuracy"].weight == 2


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("rewards = 5", "no profile"),
        ("= 5", "not TOML"),
        ("schema = 1\n[rewards.accuracy]\nwieght = 2", "no profile"),
    ],
)
def test_a_file_that_is_no_profile_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with pytest.raises(CommandError, match=complaint):
        profile_option(str(file))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        profile_option(str(tmp_path / "own.toml"))


def test_rules_are_typed_by_their_values() -> None:
    assert rules_option([]) is None
    patch = rules_option(
        ["extraction=lenient", "echo_guard=false", "tolerance.rel=0.01", "tolerance.digits=3"]
    )
    expected = RulesPatch(
        extraction="lenient", echo_guard=False, tolerance=ToleranceSpec(abs=None, rel=0.01, digits=3)
    )
    assert patch == expected


@pytest.mark.parametrize(
    "setting, complaint",
    [
        ("extractoin=lenient", 'Nearest: "extraction"'),
        ("extraction", "is no rule"),
        ("extraction=loose", "cannot be taken"),
        ("echo_guard=maybe", "cannot be taken"),
        ("tolerance.percent=1", "cannot be taken"),
        ("tolerance.rel.x=1", "cannot be taken"),
        ("echo_guard.x=1", "cannot be taken"),
    ],
)
def test_a_rule_that_is_none_is_refused(setting: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        rules_option([setting])


def test_a_rule_given_whole_and_in_parts_is_refused() -> None:
    for settings in (["tolerance=1", "tolerance.rel=0.1"], ["tolerance.rel=0.1", "tolerance=1"]):
        with pytest.raises(CommandError):
            rules_option(settings)
