"""Options that several commands share: under which profile and which rules to judge."""

import difflib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from verifier_service.commands.console import CommandError
from verifier_service.schema import ProfileSpec, RulesPatch


def profile_option(text: str | None) -> str | ProfileSpec | None:
    """A profile by name, or the profile that a TOML file describes."""
    if text is None or not text.endswith(".toml"):
        return text
    try:
        return ProfileSpec.model_validate(tomllib.loads(Path(text).read_text(encoding="utf-8")))
    except OSError as fault:
        raise CommandError(f"no profile {text}: {fault.strerror}") from None
    except tomllib.TOMLDecodeError as fault:
        raise CommandError(f"{text} is not TOML: {fault}") from None
    except ValidationError as fault:
        raise CommandError(f"{text} is no profile", _faults(fault)) from None


def rules_option(settings: Sequence[str]) -> RulesPatch | None:
    """`NAME=VALUE` texts as changes to the rules; `tolerance.rel=0.01` reaches inside."""
    if not settings:
        return None
    patch: dict[str, Any] = {}
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise CommandError(
                f'"{setting}" is no rule', "Rules are given as NAME=VALUE: --rule echo_guard=false"
            )
        _set(patch, path, _value(text))
    try:
        return RulesPatch.model_validate(patch)
    except ValidationError as fault:
        raise CommandError("these rules cannot be taken", _faults(fault)) from None


def _set(patch: dict[str, Any], path: str, value: Any) -> None:
    name, dot, part = path.partition(".")
    _known_rule(name)
    if not dot:
        patch[name] = value
        return
    inside = patch.setdefault(name, {})
    if not isinstance(inside, dict):
        raise CommandError(f"{name} is given both whole and in parts")
    inside[part] = value


def _known_rule(name: str) -> None:
    known = sorted(RulesPatch.model_fields)
    if name in known:
        return
    nearest = difflib.get_close_matches(name, known, n=1)
    hint = f'Nearest: "{nearest[0]}". ' if nearest else ""
    raise CommandError(
        f'no rule "{name}". {hint}Known: {", ".join(known)}.', "What they mean: docs/equivalence.md"
    )


def _value(text: str) -> Any:
    """false, 3 and 0.01 are read as JSON; a word is a word."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _faults(error: ValidationError) -> str:
    return "\n".join(
        f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}"
        for fault in error.errors(include_url=False)
    )
