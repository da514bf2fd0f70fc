"""docs/arithmetic.md is run: every number on it is what the code returns."""

import doctest
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

PAGE = Path(__file__).parents[2] / "docs" / "arithmetic.md"


def test_every_number_on_the_page_is_computed_by_the_code() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False, verbose=False)
    assert result.failed == 0
    assert result.attempted > 50, "the page has lost its examples"
