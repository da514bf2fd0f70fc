import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig
from grpo_trainer.loop import train
from grpo_trainer.observe.live import Quiet
from grpo_trainer.observe.metrics import MetricLog, read_metrics
from grpo_trainer.observe.report import write_report
from grpo_trainer.preparation import assemble
from tests.trainer.fake_vllm import fake_vllm
from tests.trainer.runs import config_of, judged_by, odd_pays

# Metrics named after what the profile pays.
OPEN = re.compile(r"score/.*")


def metrics_of(config: TrainConfig) -> list[dict[str, Any]]:
    with judged_by(odd_pays, config) as judge:
        parts = assemble(config, judge, lambda text: None)
        with closing(parts.engine):
            train(parts, Quiet())
    return read_metrics(Path(config.output) / "metrics.jsonl")


def test_every_metric_of_a_run_is_explained(tmp_path: Path, root: Path) -> None:
    words = [
        "kl.beta=0.1",
        "reference.update=fixed",
        "batch.passes=2",
        "correction.level=token",
        "correction.high=2",
    ]
    names = {name for row in metrics_of(config_of(tmp_path, *words)) for name in row}
    with fake_vllm() as server:
        words = [
            "rollout.engine=vllm-server",
            f"rollout.servers=['{server.url}']",
            f"output={tmp_path / 'servers'}",
        ]
        names |= {name for row in metrics_of(config_of(tmp_path, *words)) for name in row}
    names -= {"step"}
    explained = set(re.findall(r"^\| `([^`]+)`", (root / "docs" / "training.md").read_text(), re.MULTILINE))
    assert {name for name in names if not OPEN.match(name)} - explained == set()
    assert {name for name in explained if "/" in name or name == "accuracy"} - names <= {"score/NAME"}


def test_a_log_cut_off_in_mid_line_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "accuracy": 0.5}\n{"step": 2, "accu')
    assert read_metrics(path) == [{"step": 1, "accuracy": 0.5}]


def test_a_resumed_log_drops_the_steps_that_will_be_done_again(tmp_path: Path) -> None:
    with MetricLog(tmp_path, tensorboard=False) as log:
        for step in (1, 2, 3):
            log.step(step, {"accuracy": step / 10})
    with MetricLog(tmp_path, tensorboard=False, resume_at=2) as log:
        log.step(3, {"accuracy": 0.9})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [(row["step"], row["accuracy"]) for row in rows] == [(1, 0.1), (2, 0.2), (3, 0.9)]


def test_tensorboard_files_are_written_where_wanted(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with MetricLog(tmp_path, tensorboard=True) as log:
        log.step(1, {"accuracy": 0.5})
    assert list((tmp_path / "tensorboard").iterdir())


def test_a_report_of_an_empty_folder_is_a_page(tmp_path: Path) -> None:
    assert write_report(tmp_path).read_text().startswith("<!doctype html>")
