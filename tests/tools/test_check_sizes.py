"""The size rules complain about what is too long and about nothing else."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def tool(root: Path) -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(root / "tools" / "check_sizes.py")))


def function_of(lines: int) -> str:
    return "def f():\n" + "    x = 1\n" * (lines - 1)


def test_a_function_at_the_limit_passes_and_one_line_more_does_not(
    tool: SimpleNamespace, tmp_path: Path
) -> None:
    module = tmp_path / "m.py"
    module.write_text(function_of(60))
    assert list(tool.oversized(module)) == []
    module.write_text(function_of(61))
    (complaint,) = tool.oversized(module)
    assert "f: 61 lines" in complaint


def test_a_module_at_the_limit_passes_and_one_line_more_does_not(
    tool: SimpleNamespace, tmp_path: Path
) -> None:
    module = tmp_path / "m.py"
    module.write_text("x = 1\n" * 500)
    assert list(tool.oversized(module)) == []
    module.write_text("x = 1\n" * 501)
    (complaint,) = tool.oversized(module)
    assert "501 lines" in complaint


def test_a_tree_without_modules_is_a_failure_and_not_a_pass(tool: SimpleNamespace, tmp_path: Path) -> None:
    assert tool.main(tmp_path) == 1
