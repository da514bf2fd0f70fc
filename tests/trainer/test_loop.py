import json
import re
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.checkpoint import CheckpointError, State  # noqa: E402
from grpo_trainer.config import BatchConfig, TrainConfig  # noqa: E402
from grpo_trainer.loop import Summary, rehearse, shares, train  # noqa: E402
from grpo_trainer.observe.live import Quiet  # noqa: E402
from grpo_trainer.observe.metrics import read_metrics  # noqa: E402
from grpo_trainer.preparation import PreparationError, assemble  # noqa: E402
from tests.trainer.runs import Rule, config_of, judged_by, odd_pays  # noqa: E402

TIMES = re.compile(r"^time/|^memory/|^verifier/")


def run(config: TrainConfig, rule: Rule = odd_pays, *, resume: bool = False) -> Summary:
    with judged_by(rule, config) as judge:
        return train(assemble(config, judge, lambda text: None, resume=resume), Quiet())


def weights(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(path / "model.safetensors")


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not TIMES.match(k)} for row in rows]


def test_a_run_writes_metrics_checkpoint_completions_and_report(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    summary = run(config)
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert summary.rewards == tuple(row["reward/mean"] for row in rows)
    assert summary.checkpoint.name == "step-000004"
    assert all(row["policy/stepped"] == 1.0 and row["policy/grad_norm"] > 0 for row in rows)
    assert all(row["outcome/right"] + row["outcome/wrong"] == 16 for row in rows)
    page = summary.report.read_text()
    assert page.count("<svg") > 5
    assert "http" not in page.replace("http://judge", "")
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["verifier"] == {"engine": "e", "profile_hash": "p"}
    lines = (tmp_path / "run" / "completions.jsonl").read_text().splitlines()
    assert len(lines) == 4 * config.log.completions


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["batch.steps_per_rollout=2", "batch.passes=1"],
        ["batch.passes=2"],
        ["kl.beta=0.1", "reference.update=replace", "reference.every=2"],
        ["optimizer.schedule=cosine", "optimizer.weight_decay=0.1"],
    ],
)
def test_a_resumed_run_ends_where_the_uninterrupted_one_ends(tmp_path: Path, words: list[str]) -> None:
    words = ["checkpoint.every=2", *words]
    whole = run(config_of(tmp_path, f"output={tmp_path / 'whole'}", *words))
    broken = config_of(tmp_path, f"output={tmp_path / 'broken'}", *words)
    first = run(broken)
    # As if the machine had gone after step 2, with lines of a third step already written.
    import shutil

    shutil.rmtree(first.checkpoint)
    resumed = run(broken, resume=True)
    ours, theirs = weights(resumed.checkpoint), weights(whole.checkpoint)
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    rows = [without_times(read_metrics(tmp_path / name / "metrics.jsonl")) for name in ("broken", "whole")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    "words",
    [
        ["model.precision=bfloat16", "correction.level=token", "correction.high=2"],
        ["model.gradient_checkpointing=true", "kl.beta=0.1", "reference.update=fixed"],
        ["sampling.filter=accuracy", "sampling.max_refills=9", "sampling.truncated=mask", "sampling.batch=5"],
        ["loss.surrogate=cispo", "batch.passes=2", "loss.aggregation=token"],
        ["loss.ratio=sequence", "batch.passes=2", "advantage.scale=none", "model.precision=float64"],
    ],
)
def test_what_can_be_configured_runs_and_moves_the_weights(tmp_path: Path, words: list[str]) -> None:
    summary = run(config_of(tmp_path, "steps=2", *words))
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [row["policy/stepped"] for row in rows] == [1.0, 1.0]
    start, end = weights(tmp_path / "start"), weights(summary.checkpoint)
    assert any(not torch.equal(start[name], end[name].to(start[name].dtype)) for name in start)
    # Sampler and trainer see the same model, in whatever precision each computes.
    assert rows[0].get("engine/logprob_gap", 0.0) < 0.05


def test_a_checkpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    config = config_of(tmp_path, f"model.path={tmp_path / 'nowhere'}")
    with pytest.raises(PreparationError, match="nowhere cannot be loaded"):
        run(config)


def test_answers_without_a_verdict_are_counted_and_teach_nothing(tmp_path: Path) -> None:
    summary = run(config_of(tmp_path, "steps=2"), lambda item: None)
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert summary.rewards == ()
    assert [row["outcome/no_verdict"] for row in rows] == [16, 16]
    assert all("reward/mean" not in row and "accuracy" not in row for row in rows)
    assert [row["policy/stepped"] for row in rows] == [0.0, 0.0]
    start, end = weights(tmp_path / "start"), weights(summary.checkpoint)
    assert all(torch.equal(start[name], end[name]) for name in end)


def test_a_run_that_learns_nothing_says_so(tmp_path: Path) -> None:
    said: list[str] = []

    class Heard(Quiet):
        def say(self, text: str) -> None:
            said.append(text)

    config = config_of(tmp_path, "steps=5")
    with judged_by(lambda item: 0.0, config) as judge:
        train(assemble(config, judge, said.append), Heard())
    # Random weights seldom end an answer, and that is the first thing to mend.
    assert re.search(r"5 rounds without a gradient: \d+% of the answers are cut off", said[-1])


def test_a_run_never_writes_over_another(tmp_path: Path) -> None:
    config = config_of(tmp_path, "steps=1")
    run(config)
    with pytest.raises(CheckpointError, match=r"holds a run already: --resume"):
        run(config)


def test_an_output_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    config = config_of(tmp_path, f"output={tmp_path / 'file' / 'run'}")
    with pytest.raises(PreparationError, match=r"output=.*cannot be made.*Choose another folder"):
        run(config)


def test_there_is_nothing_to_resume_in_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint"):
        run(config_of(tmp_path), resume=True)


def test_what_a_killed_run_left_half_written_is_not_gone_on_from_and_goes(tmp_path: Path) -> None:
    config = config_of(tmp_path, "checkpoint.every=2")
    folder = tmp_path / "run" / "checkpoints"
    run(config)
    (folder / "step-000004").rename(folder / ".step-000004.partial")
    (folder / ".step-000003.partial").mkdir()
    assert run(config, resume=True).steps == 4
    assert [path.name for path in sorted(folder.iterdir())] == ["step-000002", "step-000004"]


def test_a_full_disk_is_told_and_the_checkpoint_before_stays(tmp_path: Path) -> None:
    config = config_of(tmp_path, "checkpoint.every=2")
    run(config)
    folder = tmp_path / "run" / "checkpoints"
    shutil.rmtree(folder / "step-000004")
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with judged_by(odd_pays, config) as judge:
            parts = assemble(config, judge, lambda text: None, resume=True)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
            with pytest.raises(CheckpointError, match=r"too large.*Make room, then go on with --resume"):
                parts.checkpoints.save(parts.policy, parts.tokenizer, State(step=4))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in folder.glob("step-*")] == ["step-000002"]
    assert run(config, resume=True).steps == 4


def test_old_checkpoints_go(tmp_path: Path) -> None:
    run(config_of(tmp_path, "checkpoint.every=1", "checkpoint.keep=2"))
    left = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert left == ["step-000003", "step-000004"]


def test_a_template_that_the_profile_does_not_pay_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    import tests.trainer.runs as runs

    original = runs.probe_or
    runs.probe_or = lambda rule: rule
    try:
        with (
            judged_by(lambda item: 0.0, config) as judge,
            pytest.raises(PreparationError, match="perfect answer"),
        ):
            assemble(config, judge, lambda text: None)
    finally:
        runs.probe_or = original


def test_a_rehearsal_changes_and_writes_nothing(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    with judged_by(odd_pays, config) as judge:
        parts = assemble(config, judge, lambda text: None, record=False)
        rehearsal = rehearse(parts)
    assert len(rehearsal.drawn.answers) == 16
    assert rehearsal.metrics["memory/peak_gib"] > 0
    assert not (tmp_path / "run").exists()
    start = weights(tmp_path / "start")
    state = parts.policy.model.state_dict()
    assert all(torch.equal(start[name], state[name]) for name in start)


def test_shares_cover_every_answer_once_a_pass() -> None:
    batch = BatchConfig(answers_per_step=8, group_size=4, steps_per_rollout=3, passes=2)
    cut = list(shares(6, batch))
    assert cut == [list(range(8)), list(range(8, 16)), list(range(16, 24))] * 2
