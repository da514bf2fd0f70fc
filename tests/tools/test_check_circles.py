"""A ring of imports is found; a diamond is none."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def circle(root: Path) -> Callable[[dict[str, set[str]]], list[str]]:
    found = runpy.run_path(str(root / "tools" / "check_circles.py"))["circle"]
    assert callable(found)
    return found


def test_a_ring_is_named(circle: Callable[[dict[str, set[str]]], list[str]]) -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


def test_a_diamond_is_no_ring(circle: Callable[[dict[str, set[str]]], list[str]]) -> None:
    assert circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
