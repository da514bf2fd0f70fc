import io
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("torch")

from rich.console import Console
from typer.testing import CliRunner

from grpo_trainer.cli import app
from grpo_trainer.loading import load_config
from grpo_trainer.loop import rehearse
from grpo_trainer.preparation import assemble
from grpo_trainer.training import run_training, show
from tests.trainer.fake_vllm import fake_vllm
from tests.trainer.runs import config_of, judged_by, odd_pays, write_start
from tools.serving import service

NOBODY = "reward.url=http://127.0.0.1:9"


def ended(*words: str, config: list[str]) -> tuple[int, str]:
    errors = io.StringIO()
    settings = load_config("tiny-cpu", overrides=[*config, *words])
    console = Console(file=io.StringIO())
    return run_training(
        settings, console, Console(file=errors), resume=False, dry_run=False
    ), errors.getvalue()


def test_without_a_model_the_command_says_what_is_missing() -> None:
    code, errors = ended(config=[])
    assert code == 2
    assert "model.path is not set" in errors
    assert "data.train is not set" in errors


def test_without_a_service_the_command_says_where_it_looked(tmp_path: Path) -> None:
    code, errors = ended(NOBODY, config=write_start(tmp_path))
    assert code == 3
    assert "http://127.0.0.1:9" in errors
    assert "verifier serve" in errors


def test_without_an_address_the_command_says_how_to_give_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VERIFIER_URL", raising=False)
    code, errors = ended(config=write_start(tmp_path))
    assert code == 2
    assert "VERIFIER_URL" in errors


def test_a_truncating_sampler_is_refused_on_the_command_line() -> None:
    result = CliRunner().invoke(app, ["train", "--preset", "tiny-cpu", "sampling.top_p=0.9"])
    assert result.exit_code == 2
    assert "a sampler that cuts the distribution is refused" in result.output


def test_a_rehearsal_shows_prompts_answers_rewards_and_memory(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    console = Console(file=io.StringIO(), width=100)
    with judged_by(odd_pays, config) as judge:
        rehearsal = rehearse(assemble(config, judge, lambda text: None, record=False))
    show(console, config, rehearsal)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    group = rehearsal.drawn.groups[0]
    assert group.prompt.text in text
    assert f"gold {group.problem.gold}" in text
    assert "rewards of the group: " + " ".join(f"{v.reward:g}" for v in group.verdicts) in text
    assert "GiB at the peak" in text


def test_a_rehearsal_with_servers_probes_them_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        words = ["rollout.engine=vllm-server", f"rollout.servers=['{fake.url}']"]
        config = config_of(tmp_path, *words)
        with judged_by(odd_pays, config) as judge:
            parts = assemble(config, judge, lambda text: None, record=False)
            with closing(parts.engine):
                rehearsal = rehearse(parts)
    assert rehearsal.metrics["engine/probe_gap_max"] < 1e-4
    assert rehearsal.metrics["engine/logprob_gap_max"] < 1e-4
    assert not (tmp_path / "run").exists()


def test_a_run_whose_servers_are_not_there_ends_with_a_code_of_its_own(tmp_path: Path) -> None:
    config = config_of(tmp_path, "rollout.engine=vllm-server", "rollout.servers=['http://127.0.0.1:9']")
    errors = io.StringIO()
    with service(tmp_path / "service.log") as url:
        config = config.model_copy(update={"reward": config.reward.model_copy(update={"url": url})})
        code = run_training(
            config, Console(file=io.StringIO()), Console(file=errors), resume=False, dry_run=True
        )
    assert code == 4
    assert "http://127.0.0.1:9/health" in errors.getvalue()
