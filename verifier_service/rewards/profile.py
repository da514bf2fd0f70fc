"""Profiles: which rewards an item gets, how they are weighed, under which rules (docs/profiles.md)."""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from verifier_service import schema
from verifier_service.equivalence.rules import Rules, Tolerance
from verifier_service.rewards import RewardFailed, Score, plugins

BUILT_IN = ("accuracy", "format", "language", "overlong", "repetition")

# What may be set beside the weight. An option that would do nothing is refused.
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("right", "wrong"),
    "format": ("right", "wrong", "template"),
    "language": ("null_value", "part"),
    "overlong": ("null_value",),
    "repetition": (),
}
_OPTIONS_OF_OWN = ("null_value",)


class ProfileError(ValueError):
    """A profile that cannot be used; the message says where and what to write instead."""


class UnknownProfile(ValueError):
    """No profile of that name."""

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(
            f'no profile "{name[:60]}".{_nearest(name, known)} Known: {", ".join(sorted(known))}.\n'
            "       Profiles of your own: --profiles DIR (docs/profiles.md)."
        )


@dataclass(frozen=True, slots=True)
class WeightedReward:
    """One reward of a profile, every default filled in.

    null_value: stands in for a score that is null; None for accuracy, whose null makes the reward null.
    right, wrong: what a score of 1 and of 0 become, for accuracy and format; None for other rewards.
    template, part: None, always: a profile that names them sets `rules.template` and `rules.language_part`,
    which the rules of an item may still change.
    """

    name: str
    weight: float
    null_value: float | None = None
    right: float | None = None
    wrong: float | None = None
    template: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """hash: of everything that bears on a reward, the name left out: two names may mean the same."""

    name: str
    rewards: tuple[WeightedReward, ...]
    rules: Rules
    hash: str

    @property
    def needs_gold(self) -> bool:
        return any(reward.name == "accuracy" for reward in self.rewards)


class Combined(NamedTuple):
    """reward: the sum of the components, or None without a verdict; the components are then left out."""

    reward: float | None
    components: dict[str, float]


def combine(scores: Mapping[str, Score], profile: Profile) -> Combined:
    """Raw scores -> weighted components and their sum.

    reward = sum over the rewards of weight x value. A null accuracy makes the reward null; any other null
    score takes the null_value that the profile declares. Raises RewardFailed if a component is not finite.
    """
    components: dict[str, float] = {}
    for reward in profile.rewards:
        value = _value(scores[reward.name].value, reward)
        if value is None:
            return Combined(None, {})
        component = reward.weight * value + 0.0  # never -0.0
        if not isfinite(component):
            raise RewardFailed(reward.name, f"gives {component} when weighed by {reward.weight}")
        components[reward.name] = component
    total = sum(components.values())
    if not isfinite(total):
        raise RewardFailed(next(iter(components)), "and the others have no finite sum")
    return Combined(total, components)


def _value(score: float | None, reward: WeightedReward) -> float | None:
    if score is None:
        return reward.null_value
    if reward.right is None or reward.wrong is None:
        return score
    return reward.right * score + reward.wrong * (1.0 - score)


def load_profiles(extra_dir: Path | None = None) -> dict[str, Profile]:
    """The shipped profiles and those of a deployment's directory, by name. Raises ProfileError."""
    shipped = files("verifier_service").joinpath("profiles")
    profiles = {
        entry.name.removesuffix(".toml"): _read(entry.name, entry.read_text("utf-8"))
        for entry in sorted(shipped.iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".toml")
    }
    if extra_dir is None:
        return profiles
    if not extra_dir.is_dir():
        raise ProfileError(f"no directory {extra_dir} to read profiles from (setting `profiles`)")
    for path in sorted(extra_dir.glob("*.toml")):
        if path.stem in profiles:
            raise ProfileError(f'{path}: "{path.stem}" is the name of a shipped profile; choose another')
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ProfileError(f"{path}: cannot be read: {error}") from error
        profiles[path.stem] = _read(str(path), text)
    return profiles


def profile_named(profiles: Mapping[str, Profile], name: str) -> Profile:
    """Raises UnknownProfile, which names the nearest one."""
    if name not in profiles:
        raise UnknownProfile(name, profiles)
    return profiles[name]


def profile_from_spec(name: str, spec: schema.ProfileSpec) -> Profile:
    """A checked profile with every default filled in. Raises ProfileError."""
    if not spec.rewards:
        raise ProfileError('no rewards: add at least one, such as [rewards.accuracy] with "weight = 1.0"')
    rewards = tuple(_weighted(reward, options) for reward, options in spec.rewards.items())
    rules = _rules_with_rewards(spec)
    return Profile(name, rewards, rules, _hash(rewards, rules))


def patched_rules(rules: Rules, patch: schema.RulesPatch | None) -> Rules:
    """The rules with the fields that the patch sets; an empty tolerance takes one away."""
    if patch is None:
        return rules
    changes: dict[str, Any] = {
        field: getattr(patch, field)
        for field in schema.RulesPatch.model_fields
        if field != "tolerance" and getattr(patch, field) is not None
    }
    if patch.tolerance is not None:
        bounds = Tolerance(patch.tolerance.abs, patch.tolerance.rel, patch.tolerance.digits)
        changes["tolerance"] = None if bounds == Tolerance() else bounds
    return replace(rules, **changes)


def _rules_with_rewards(spec: schema.ProfileSpec) -> Rules:
    """`template` and `part` of a reward are other places to set two of the rules; both must agree."""
    changes: dict[str, Any] = {}
    for name, option, rule in (("format", "template", "template"), ("language", "part", "language_part")):
        value = getattr(spec.rewards[name], option) if name in spec.rewards else None
        other = getattr(spec.rules, rule)
        if value is not None and other not in (None, value):
            raise ProfileError(
                f'rewards.{name}.{option} is "{value}" and rules.{rule} is "{other}": set one of them'
            )
        if value is not None:
            changes[rule] = value
    return replace(patched_rules(Rules(), spec.rules), **changes)


def _weighted(name: str, spec: schema.RewardSpec) -> WeightedReward:
    _check_name(name)
    allowed = _OPTIONS.get(name, _OPTIONS_OF_OWN)
    for option in ("null_value", "right", "wrong", "template", "part"):
        if getattr(spec, option) is not None and option not in allowed:
            raise ProfileError(f"rewards.{name}.{option}: {_why_not(name, option)}")
    two_valued = "right" in allowed
    return WeightedReward(
        name,
        spec.weight,
        null_value=None if name == "accuracy" else _or(spec.null_value, 0.0),
        right=_or(spec.right, 1.0) if two_valued else None,
        wrong=_or(spec.wrong, 0.0) if two_valued else None,
    )


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _why_not(name: str, option: str) -> str:
    if name == "accuracy" and option == "null_value":
        return "an item without a verdict has no reward at all; leave null_value out"
    allowed = ", ".join(("weight", *_OPTIONS.get(name, _OPTIONS_OF_OWN)))
    return f'has no effect on "{name}"; leave it out. Options of "{name}": {allowed}'


def _check_name(name: str) -> None:
    own = plugins.own_rewards()
    if name in BUILT_IN and name in own:
        raise ProfileError(
            f"rewards.{name}: an installed package offers a reward of this name, {own[name][0].value}, "
            "but the name is taken by a reward of the service; rename the entry point"
        )
    if name in own or name in BUILT_IN:
        return
    known = [*BUILT_IN, *sorted(own)]
    raise ProfileError(
        f'no reward "{name[:60]}".{_nearest(name, known)} Known: {", ".join(known)}. Rewards of your own are '
        f'entry points of the group "{plugins.GROUP}" (docs/profiles.md); the package must be installed here'
    )


def _hash(rewards: tuple[WeightedReward, ...], rules: Rules) -> str:
    content = {
        "rewards": {reward.name: _content(reward) for reward in rewards},
        "rules": asdict(rules),
    }
    text = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _content(reward: WeightedReward) -> dict[str, Any]:
    content = {key: value for key, value in asdict(reward).items() if key != "name"}
    if reward.name not in BUILT_IN:
        try:
            content["origin"] = plugins.origin(reward.name)
        except ValueError as error:
            raise ProfileError(str(error)) from error
    return content


def _read(source: str, text: str) -> Profile:
    name = Path(source).stem
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise ProfileError(f"{source}: a profile is named by its file: letters, digits, dots and dashes only")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(f"{source}: not TOML: {error}") from error
    if "schema" not in table:
        raise ProfileError(f'{source}: write "schema = 1" at the top, so that later versions can read it')
    try:
        return profile_from_spec(name, schema.ProfileSpec.model_validate(table))
    except ValidationError as error:
        faults = "; ".join(
            _fault(details["loc"], details["type"], details["msg"]) for details in error.errors()
        )
        raise ProfileError(f"{source}: {faults}") from error
    except ProfileError as error:
        raise ProfileError(f"{source}: {error}") from error


def _fault(place: tuple[int | str, ...], kind: str, message: str) -> str:
    """What is wrong in a TOML file, in its own terms."""
    path = ".".join(str(part) for part in place)
    if place == ("schema",):
        return f"schema: this version reads schema = 1 ({message})"
    if kind == "missing" and place == ("rewards",):
        return "no [rewards.NAME]: add at least one, such as [rewards.accuracy]"
    if kind != "extra_forbidden":
        return f"{path}: {message}"
    known = _options_at(place[:-1])
    return f"{path}: no such key.{_nearest(str(place[-1]), known)} Known: {', '.join(known)}"


def _options_at(place: tuple[int | str, ...]) -> list[str]:
    if not place:
        return ["schema", "rewards", "rules"]
    if place[0] == "rewards":
        return list(schema.RewardSpec.model_fields)
    return list((schema.RulesPatch if len(place) == 1 else schema.ToleranceSpec).model_fields)


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f' Nearest: "{near[0]}".' if near else ""
