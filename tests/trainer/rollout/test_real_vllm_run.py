"""Whole runs with the real vLLM, in this process and over HTTP, and what happens when servers die or hang."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("torch")

from grpo_trainer.config import TrainConfig
from grpo_trainer.loop import Summary, train
from grpo_trainer.observe.live import Quiet
from grpo_trainer.observe.metrics import read_metrics
from grpo_trainer.preparation import assemble
from grpo_trainer.rollout import RolloutError
from grpo_trainer.serving import server_command
from tests.trainer.real_vllm import ENVIRONMENT, MARKS, set_environment
from tests.trainer.runs import config_of, judged_by, odd_pays
from tools.serving import free_port

pytestmark = MARKS

READY_S = 240.0
SILENCE_S = 6.0


class Server:
    """A vLLM server in a process group of its own, so that a signal reaches its engine too."""

    def __init__(self, config: TrainConfig, log: Path) -> None:
        self.config, self.log, self.port = config, log, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def start(self) -> None:
        command = server_command(self.config, self.port).split()
        variables = dict(word.split("=", 1) for word in command if "=" in word)
        words = [word for word in command if "=" not in word]
        words[0] = sys.executable
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*words, "--host", "127.0.0.1", "--enforce-eager"],
                env=os.environ | ENVIRONMENT | variables,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def wait(self) -> None:
        deadline = time.monotonic() + READY_S
        with httpx.Client(trust_env=False, timeout=2) as client:
            while time.monotonic() < deadline and self.alive:
                try:
                    if client.get(f"{self.url}/health").is_success:
                        return
                except httpx.TransportError:
                    time.sleep(0.2)
        raise RuntimeError(f"vLLM did not start:\n{self.log.read_text(errors='replace')[-3000:]}")

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def end(self) -> None:
        if self.alive:
            self.signal(signal.SIGKILL)
        self.process.wait()


def run(
    config: TrainConfig, said: list[str] | None = None, *, resume: bool = False, through: Any = None
) -> Summary:
    heard = said if said is not None else []
    with judged_by(odd_pays, config) as judge:
        parts = assemble(config, judge, heard.append, resume=resume, through=through)
        with closing(parts.engine):
            return train(parts, Quiet())


def rows_of(config: TrainConfig) -> list[dict[str, Any]]:
    return read_metrics(Path(config.output) / "metrics.jsonl")


def test_a_run_in_process_trains_and_every_probe_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    config = config_of(tmp_path, "rollout.engine=vllm", "rollout.silence_s=300", hidden=128)
    run(config)
    rows = rows_of(config)
    assert [row["step"] for row in rows] == [1, 2, 3, 4]
    assert max(row["engine/probe_gap_max"] for row in rows) < 1e-3
    assert max(row["engine/logprob_gap_max"] for row in rows) < 1e-3
    assert max(row["engine/weight_raw_max"] for row in rows) < 1.01
    assert not (tmp_path / "run" / "weights").exists()


class Fleet:
    """Servers that are started as tests need them, and used again as long as they live."""

    def __init__(self, folder: Path) -> None:
        self._config = config_of(folder, hidden=128)
        self._folder = folder
        self._servers: list[Server] = []

    def of(self, count: int) -> list[Server]:
        for server in self._servers:
            if server.alive:
                server.signal(signal.SIGCONT)
        self._servers.sort(key=lambda server: not server.alive)
        while len(self._servers) < count:
            self._servers.append(Server(self._config, self._folder / f"{len(self._servers)}.log"))
        chosen = self._servers[:count]
        for server in chosen:
            if not server.alive:
                server.start()
        for server in chosen:
            server.wait()
        return chosen

    def end(self) -> None:
        for server in self._servers:
            server.end()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    servers = Fleet(tmp_path_factory.mktemp("servers"))
    try:
        yield servers
    finally:
        servers.end()


def served(folder: Path, servers: list[Server], *words: str) -> TrainConfig:
    urls = ", ".join(f"'{server.url}'" for server in servers)
    limits = [f"rollout.silence_s={SILENCE_S}", "rollout.timeout_s=60", "rollout.sync_timeout_s=60"]
    return config_of(
        folder, "rollout.engine=vllm-server", f"rollout.servers=[{urls}]", *limits, *words, hidden=128
    )


class Striking:
    """Between sampler and judge: does something to a server after so many groups."""

    def __init__(self, judge: Any, strike: Any, after: int) -> None:
        self._judge, self._strike, self._after = judge, strike, after
        self._seen = 0

    def submit(self, items: Any) -> Any:
        self._seen += 1
        if self._seen == self._after:
            self._strike()
        return self._judge.submit(items)


def test_a_run_over_two_servers_trains_and_every_probe_holds(tmp_path: Path, fleet: Fleet) -> None:
    config = served(tmp_path, fleet.of(2))
    run(config)
    rows = rows_of(config)
    assert max(row["engine/probe_gap_max"] for row in rows) < 1e-3
    assert max(row["engine/logprob_gap_max"] for row in rows) < 1e-3
    assert [row["engine/servers"] for row in rows] == [2, 2, 2, 2]


def test_one_round_ahead_is_stale_by_one_update_and_weighed(tmp_path: Path, fleet: Fleet) -> None:
    words = ["rollout.staleness=1", "optimizer.lr=1e-2", "optimizer.warmup_steps=0"]
    config = served(tmp_path, fleet.of(1), *words)
    run(config)
    rows = rows_of(config)
    assert [row["sampling/staleness"] for row in rows] == [0, 1, 1, 1]
    assert rows[0]["engine/logprob_gap_max"] < 1e-3 < rows[-1]["engine/logprob_gap_max"]
    assert max(row["engine/probe_gap_max"] for row in rows) < 1e-3


@pytest.mark.parametrize("blow", [signal.SIGSTOP, signal.SIGKILL])
def test_a_server_lost_in_mid_round_costs_no_answer(
    tmp_path: Path, fleet: Fleet, blow: signal.Signals
) -> None:
    servers = fleet.of(2)
    config, said = served(tmp_path, servers, "steps=3", "sampling.batch=8"), list[str]()
    started = time.monotonic()
    run(config, said, through=lambda judge: Striking(judge, lambda: servers[1].signal(blow), after=5))
    seconds = time.monotonic() - started
    rows = rows_of(config)
    assert [row["outcome/right"] + row["outcome/wrong"] for row in rows] == [16, 16, 16]
    assert max(row["engine/logprob_gap_max"] for row in rows) < 1e-3
    assert rows[-1]["engine/servers"] == 1
    assert any("It is given up for now; 1 of 2 servers are left" in text for text in said)
    print(f"{blow.name}: three steps in {seconds:.1f} s")
    assert seconds < 60


@pytest.mark.parametrize("blow", [signal.SIGSTOP, signal.SIGKILL])
def test_without_any_server_the_run_ends_in_time_and_can_be_resumed(
    tmp_path: Path, fleet: Fleet, blow: signal.Signals
) -> None:
    servers = fleet.of(1)
    words = ["steps=3", "sampling.batch=4", "rollout.outage_s=2"]
    struck: list[float] = []

    def strike() -> None:
        struck.append(time.monotonic())
        servers[0].signal(blow)

    with pytest.raises(RolloutError, match=r"no vLLM server for 2 s.*--resume"):
        run(served(tmp_path, servers, *words), through=lambda judge: Striking(judge, strike, after=5))
    seconds = time.monotonic() - struck[0]
    print(f"{blow.name}: the run ended {seconds:.1f} s after the blow")
    assert seconds < 4 * SILENCE_S
    config = served(tmp_path, fleet.of(1), *words)
    assert run(config, resume=True).steps == 3
    assert [row["step"] for row in rows_of(config)] == [1, 2, 3]
