"""The command line: help that teaches, errors with their fix, exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from grpo_trainer.cli import app
from grpo_trainer.loading import preset_names


def grpo(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})


def test_plan_tells_batches_memory_and_what_is_missing() -> None:
    result = grpo("plan", "--preset", "single-gpu-0.5b", "--gpu-memory", "24")
    assert result.exit_code == 0, result.output
    for part in ("494,032,768 parameters", "questions per step", "data.train is not set", "fits"):
        assert part in result.output


def test_plan_takes_overrides_before_and_after_options() -> None:
    first = grpo("plan", "batch.micro_batch=4", "--preset", "dapo", "batch.group_size=32")
    assert first.exit_code == 0, first.output
    assert "of 4 answers" in first.output
    assert "group size 32" in first.output


def test_plan_fails_where_the_run_does_not_fit() -> None:
    result = grpo("plan", "-p", "deepseekmath", "--gpu-memory", "80")
    assert result.exit_code == 1
    assert "does not fit" in result.output


def test_plan_without_sizes_says_so_and_cannot_judge() -> None:
    assert "Memory: unknown" in grpo("plan", "-p", "r1-zero").output
    result = grpo("plan", "-p", "r1-zero", "--gpu-memory", "80")
    assert result.exit_code == 2
    assert "--gpu-memory needs" in result.output


def test_a_config_error_is_one_line_each_and_exit_code_2() -> None:
    result = grpo("plan", "-p", "r1-zero", "batch.answers_per_step=500", "kl.beta=0")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["error", "error"]


def test_presets_are_listed_and_printed_as_written() -> None:
    listed = grpo("presets").output
    assert all(name in listed for name in preset_names())
    assert "reference.update" not in listed
    printed = grpo("presets", "r1-zero")
    assert printed.exit_code == 0
    assert '# "every 400 steps"' in printed.output
    assert grpo("presets", "r2").exit_code == 2


def test_a_printed_preset_is_a_config_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(grpo("presets", "dapo").output)
    assert grpo("plan", "-c", str(file)).output == grpo("plan", "-p", "dapo").output


def test_options_are_listed_with_default_and_meaning_and_filtered_by_word() -> None:
    everything, some = grpo("options").output, grpo("options", "kl.").output
    assert "batch.group_size" in everything
    assert "batch.group_size" not in some
    assert "kl.beta" in some
    assert grpo("options", "nonsense").exit_code == 2


@pytest.mark.parametrize("command", ["plan", "presets", "options"])
def test_help_teaches_by_example(command: str) -> None:
    result = grpo(command, "--help")
    assert result.exit_code == 0
    assert "grpo" in result.output or "batch.group_size" in result.output


def test_the_command_line_starts_without_torch() -> None:
    code = "import sys, grpo_trainer.cli; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    root = Path(__file__).parents[2]
    where = {"PYTHONPATH": f"{root / 'trainer'}{os.pathsep}{root}"}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=os.environ | where).returncode == 0


def test_the_plan_prints_how_to_start_a_server() -> None:
    words = ["rollout.engine=vllm-server", "rollout.servers=['http://gpu1:8000']"]
    result = grpo("plan", "--preset", "single-gpu-0.5b", *words)
    assert result.exit_code == 0, result.output
    assert "--dtype bfloat16 --max-model-len 1024" in result.output
