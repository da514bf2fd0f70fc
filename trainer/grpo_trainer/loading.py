"""From presets, TOML files and key=value words to a TrainConfig, with errors that name the fix."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from grpo_trainer.config import Section, TrainConfig

Tree = dict[str, Any]


class ConfigError(ValueError):
    """A config that cannot be used. problems: one line each, with the fix."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


TRUNCATING = (
    "a sampler that cuts the distribution is refused in training: its log-probabilities are of another "
    "distribution than the policy's. Lower sampling.temperature instead"
)
FOREIGN = {
    "beta": "kl.beta",
    "kl_coef": "kl.beta",
    "kl_loss_coef": "kl.beta",
    "learning_rate": "optimizer.lr",
    "lr": "optimizer.lr",
    "num_generations": "batch.group_size",
    "n": "batch.group_size",
    "num_iterations": "batch.passes",
    "ppo_epochs": "batch.passes",
    "epsilon": "loss.clip_low and loss.clip_high",
    "epsilon_high": "loss.clip_high",
    "clip_ratio": "loss.clip_low and loss.clip_high",
    "loss_type": "loss.aggregation",
    "loss_agg_mode": "loss.aggregation",
    "max_completion_length": "sampling.max_tokens",
    "max_new_tokens": "sampling.max_tokens",
    "max_response_length": "sampling.max_tokens",
    "max_steps": "steps",
    "output_dir": "output",
    "scale_rewards": "advantage.scale",
    "bf16": "model.precision",
}
"""What other trainers call an option: what it is called here."""


def load_config(
    preset: str | None = None, file: Path | None = None, overrides: Sequence[str] = ()
) -> TrainConfig:
    """The config of a run: the preset, then the file over it, then key=value words over both.

    Raises ConfigError with every problem found.
    """
    tree: Tree = {}
    if preset is not None:
        tree = read_preset(preset)
    if file is not None:
        tree = merged(tree, read_toml(file))
    for word in overrides:
        tree = merged(tree, parse_override(word))
    try:
        return TrainConfig.model_validate(tree)
    except ValidationError as error:
        problems = [line for e in error.errors() for line in _explained(e)]
        if preset is None and file is None:
            names = "|".join(preset_names())
            problems.insert(0, f"nothing to start from: --preset {names}, or --config FILE")
        raise ConfigError(problems) from None


def preset_names() -> list[str]:
    return sorted(p.name.removesuffix(".toml") for p in _presets().iterdir() if p.name.endswith(".toml"))


def preset_text(name: str) -> str:
    """The preset as written, comments and citations included. Raises ConfigError for an unknown name."""
    if name not in preset_names():
        raise ConfigError([_unknown("preset", name, preset_names()) + " A file of your own: --config FILE."])
    return (_presets() / f"{name}.toml").read_text(encoding="utf-8")


def preset_summary(name: str) -> str:
    """The first line of the preset's comment."""
    return preset_text(name).splitlines()[0].removeprefix("#").strip()


def read_preset(name: str) -> Tree:
    return tomllib.loads(preset_text(name))


def read_toml(path: Path) -> Tree:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError([f"no config file {path}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([f"{path} is not TOML: {error}"]) from None


def parse_override(word: str) -> Tree:
    """A nested table from "table.key=value"; the value is TOML where it can be read as such, else text."""
    key, equals, text = word.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise ConfigError([f'"{word}" is not an override: write table.key=value, such as optimizer.lr=1e-6'])
    value = _toml_value(text.strip())
    for part in reversed(parts):
        value = {part: value}
    return dict(value)


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tree:
    """Tables merge key by key; everything else, lists included, is replaced."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


@cache
def option_names() -> tuple[str, ...]:
    """Every option by its dotted name."""
    return tuple(name for name, _, _ in options())


def options(model: type[Section] = TrainConfig, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Dotted name, default as text and description of every option, in the order of the config.

    The default is empty where there is none.
    """
    for name, field in model.model_fields.items():
        table = _table_of(field.annotation)
        if table is not None:
            yield from options(table, f"{prefix}{name}.")
        else:
            default = "" if field.is_required() else _shown(field.default)
            yield f"{prefix}{name}", default, " ".join((field.description or "").split())


def _shown(default: object) -> str:
    """A default as it would be typed on the command line."""
    if default is None:
        return "none"
    if isinstance(default, BaseModel):
        return "{}"
    if isinstance(default, tuple):
        return json.dumps(default)
    return str(default).lower() if isinstance(default, bool) else str(default) or '""'


def _table_of(annotation: object) -> type[Section] | None:
    """The section that an annotation names, if it names one of ours."""
    choices = get_args(annotation) if get_origin(annotation) in (UnionType, Union) else (annotation,)
    sections = (c for c in choices if isinstance(c, type) and issubclass(c, Section))
    return next(sections, None)


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _presets() -> Traversable:
    return files("grpo_trainer") / "presets"


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    nearest = f' Nearest: "{near[0]}".' if near else ""
    return f'no {what} "{name}".{nearest} Known: {", ".join(known)}.'


def _explained(error: ErrorDetails) -> list[str]:
    """Lines for one error of the validator: the dotted name, what is wrong, what to write."""
    name = ".".join(str(part) for part in error["loc"])
    if error["type"] == "extra_forbidden":
        return [_unknown_option(name)]
    if error["type"] == "missing":
        return [f"{option} is not set, and it has no default: {text}" for option, text in _required(name)]
    if error["type"] == "value_error" and not error["loc"]:
        return str(error["ctx"]["error"]).splitlines()
    text = error["msg"][0].lower() + error["msg"][1:]
    hint = f" ({_description(name)})" if _description(name) else ""
    return [f"{name}={error['input']!r}: {text}{hint}"]


def _unknown_option(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in ("top_p", "top_k", "min_p", "min_tokens", "repetition_penalty"):
        return f"{name}: {TRUNCATING}"
    near = get_close_matches(name, option_names(), n=1, cutoff=0.6)
    if last in FOREIGN:
        return f'no option "{name}". Here it is {FOREIGN[last]}.'
    same = [option for option in option_names() if option.rpartition(".")[2] == last]
    nearest = f" Nearest: {(same or near)[0]}." if same or near else ""
    return f'no option "{name}".{nearest} All of them: grpo options'


def _description(name: str) -> str:
    return next((text for option, _, text in options() if option == name), "")


def _required(name: str) -> list[tuple[str, str]]:
    """The option of this name, or those without a default in the table of this name."""
    inside = [
        (option, text) for option, default, text in options() if option.startswith(f"{name}.") and not default
    ]
    return inside or [(name, _description(name))]
