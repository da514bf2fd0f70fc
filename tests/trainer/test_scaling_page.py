"""docs/scaling-training.md: its memory is what grpo plan says, its options and recipes are there."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from grpo_trainer.config import TrainConfig
from grpo_trainer.loading import load_config, option_names
from grpo_trainer.plan import GIB, layer_count, memory_plan, parameter_count, shape_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scaling-training.md"
ROWS = re.findall(r"^\| [^|]+ \| `([^`|]+)` \| ([\d.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def planned(words: str) -> TrainConfig:
    # A shell would take the quotes of a list away.
    preset, *overrides = shlex.split(words.replace('"', '\\"'))
    return load_config(preset, overrides=overrides)


@pytest.mark.parametrize("words, gib", ROWS)
def test_the_memory_of_each_row_is_what_grpo_plan_says(words: str, gib: str) -> None:
    config = planned(words)
    shape = shape_of(config)
    assert shape is not None
    assert f"{memory_plan(config, shape).peak / GIB:.1f}" == gib


def test_the_page_has_not_lost_its_rows() -> None:
    assert len(ROWS) > 8


def test_the_sum_by_hand_comes_out() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.failed == 0
    assert result.attempted >= 8
    shape = shape_of(load_config("dr-grpo"))
    assert shape is not None
    text = PAGE.read_text(encoding="utf-8")
    assert f"P, GiB = {parameter_count(shape):_}" in text
    outside = parameter_count(shape) - shape.layers * layer_count(shape)
    assert f"layer, outside = {layer_count(shape):_}, {outside:_}" in text


def test_the_options_and_recipes_that_it_names_are_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = {name.partition(".")[0] for name in option_names()}
    named = {word for word in re.findall(r"\b([a-z]+\.[a-z_]+)\b", text) if word.partition(".")[0] in tables}
    assert {name for name in named if not name.endswith(".md")} - set(option_names()) == set()
    for path in re.findall(r"(?:examples/launch|tests|docs)/[\w./-]+\.\w+", text):
        assert (ROOT / path).is_file(), path
