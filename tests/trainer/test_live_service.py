"""Runs against a real `verifier serve`: one that is killed in mid step, and one with a real checkpoint."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("fastapi", reason="the judge needs: pip install .[server]")

from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.loop import train  # noqa: E402
from grpo_trainer.observe.live import Quiet  # noqa: E402
from grpo_trainer.observe.metrics import read_metrics  # noqa: E402
from grpo_trainer.preparation import assemble  # noqa: E402
from grpo_trainer.tiny import sums, write_questions  # noqa: E402
from grpo_trainer.verdicts import Item, Judge, Verdict  # noqa: E402
from tests.trainer.runs import config_of  # noqa: E402
from tools.serving import free_port, service, start, stop  # noqa: E402

AWAY_S = 10.0
SMOLLM2 = "SMOLLM2_DIR"


class Killing:
    """Between sampler and judge: kills the service after so many groups, and has it started again later."""

    def __init__(
        self, judge: Judge, process: "subprocess.Popen[bytes]", port: int, log: Path, after: int
    ) -> None:
        self._judge, self._process, self._port, self._log, self._after = judge, process, port, log, after
        self.submitted: list[Item] = []
        self.verdicts: list[Any] = []
        self.restarted: list[subprocess.Popen[bytes]] = []
        self._timer = threading.Timer(AWAY_S, self._restart)

    def submit(self, items: Any) -> Any:
        self.submitted += items
        if len(self.verdicts) == self._after:
            stop(self._process, signal.SIGKILL)
            self._timer.start()
        future = self._judge.submit(items)
        self.verdicts.append(future)
        return future

    def _restart(self) -> None:
        self.restarted.append(start(self._port, self._log))


def test_a_service_killed_for_ten_seconds_costs_time_and_no_verdict(tmp_path: Path) -> None:
    port, log, said = free_port(), tmp_path / "service.log", list[str]()
    process = start(port, log)
    config = config_of(tmp_path, "steps=3", f"reward.url=http://127.0.0.1:{port}", "sampling.max_tokens=24")
    killing: list[Killing] = []

    def through(judge: Judge) -> Killing:
        killing.append(Killing(judge, process, port, log, after=6))
        return killing[0]

    try:
        with Judge(config.reward, said.append) as judge:
            parts = assemble(config, judge, said.append, through=through)
            summary = train(parts, Quiet())
            counts = judge.counts
    finally:
        for one in [process, *killing[0].restarted]:
            stop(one)
    verdicts: list[Verdict] = [verdict for future in killing[0].verdicts for verdict in future.result()]
    assert summary.steps == 3
    assert len(verdicts) == len(killing[0].submitted) == 3 * 16
    assert all(verdict.outcome in ("right", "wrong") and verdict.judged for verdict in verdicts)
    assert counts.outages >= 1
    assert counts.outage_s >= AWAY_S - 1
    assert any("does not answer" in text for text in said)
    assert any("answers again" in text for text in said)
    rows = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [row["outcome/no_verdict"] for row in rows] == [0, 0, 0]


@pytest.fixture(scope="module")
def smollm2() -> Path:
    """SmolLM2-135M-Instruct as transformers reads it; tools/smollm2.py puts it there."""
    folder = Path(os.environ.get(SMOLLM2, ""))
    if not os.environ.get(SMOLLM2) or not (folder / "config.json").is_file():
        pytest.skip(f"{SMOLLM2} names no model: python tools/smollm2.py FOLDER fetches it")
    return folder


def test_two_steps_of_smollm2(smollm2: Path, tmp_path: Path) -> None:
    write_questions(tmp_path / "train.jsonl", sums(0).seen[:20])
    examples = [{"question": "3+4=", "completion": "3 + 4 = 7. The answer is \\boxed{7}."}]
    (tmp_path / "examples.jsonl").write_text("\n".join(map(json.dumps, examples)) + "\n")
    words = [
        "steps=2",
        "batch.answers_per_step=8",
        "batch.group_size=4",
        "batch.micro_batch=4",
        "sampling.max_tokens=24",
        "optimizer.lr=1e-6",
        "optimizer.warmup_steps=0",
        "template.kind=few-shot",
        f"template.examples={tmp_path / 'examples.jsonl'}",
        "data.max_prompt_tokens=128",
        "kl.beta=0.01",
        "reference.update=fixed",
        f"model.path={smollm2}",
        f"data.train={tmp_path / 'train.jsonl'}",
        f"output={tmp_path / 'run'}",
    ]
    with service(tmp_path / "service.log") as url:
        config = load_config("tiny-cpu", overrides=[*words, f"reward.url={url}"])
        with Judge(config.reward) as judge:
            parts = assemble(config, judge, lambda text: None)
            summary = train(parts, Quiet())
    first, second = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert summary.steps == 2
    for row in (first, second):
        assert row["outcome/right"] + row["outcome/wrong"] == 8
        assert row["outcome/no_verdict"] == 0
        assert 0.05 < row["policy/entropy"] < 8
        assert row["policy/ratio"] == 1.0
        assert 1 <= row["length/mean"] <= 24
        assert row["policy/tokens"] == round(row["length/mean"] * 8)
        assert 0 <= row["policy/kl"] < 0.1
    # The policy is its own reference until the first update has been made.
    assert first["policy/kl"] == pytest.approx(0.0, abs=1e-8)
