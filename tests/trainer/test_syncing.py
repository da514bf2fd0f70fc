"""The probe after a transfer, over fake servers: it holds, and it finds what answers alone would not show."""

from contextlib import closing
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from grpo_trainer.loading import load_config  # noqa: E402
from grpo_trainer.policy import Policy  # noqa: E402
from grpo_trainer.rollout import RolloutError  # noqa: E402
from grpo_trainer.rollout.transformers_engine import TransformersEngine  # noqa: E402
from grpo_trainer.rollout.vllm_fleet import VllmServers  # noqa: E402
from grpo_trainer.rollout.weight_folder import WeightFolder  # noqa: E402
from grpo_trainer.syncing import Syncing  # noqa: E402
from tests.trainer.fake_vllm import FakeVllm, fake_vllm  # noqa: E402
from tests.trainer.tiny_models import tiny_model  # noqa: E402

PROMPTS = [(2 + place, 3) for place in range(12)]


def gap_after_an_update(fake: FakeVllm, folder: Path, said: list[str], *words: str) -> dict[str, float]:
    rollout = ["rollout.engine=vllm-server", f"rollout.servers=['{fake.url}']"]
    policy = Policy(tiny_model(5), load_config("tiny-cpu", overrides=[*rollout, *words]))
    engine = VllmServers(policy.config, [1], WeightFolder(folder, torch.float32))
    with closing(engine):
        syncing = Syncing(engine, policy, PROMPTS, said.append)
        syncing.to(0)
        with torch.no_grad():
            for parameter in policy.model.parameters():
                parameter.add_(
                    0.05 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
                )
        fake.stale_head = "stale" in folder.name
        syncing.to(1)
    return syncing.metrics


def test_engine_and_policy_agree_after_an_update(tmp_path: Path) -> None:
    said: list[str] = []
    with fake_vllm() as fake:
        metrics = gap_after_an_update(fake, tmp_path / "new", said)
        assert len(fake.prompts) == 2 * 8
    assert metrics["engine/probe_gap_max"] < 1e-4
    assert metrics["time/sync"] > 0
    assert said == []


def test_a_head_that_stayed_behind_stops_the_run(tmp_path: Path) -> None:
    with fake_vllm() as fake, pytest.raises(RolloutError, match=r"nats at most, over 0\.001"):
        gap_after_an_update(fake, tmp_path / "stale", [])


def test_where_the_alarm_only_speaks_the_run_goes_on(tmp_path: Path) -> None:
    said: list[str] = []
    with fake_vllm() as fake:
        gap_after_an_update(fake, tmp_path / "stale", said, "rollout.on_gap=continue")
    assert len(said) == 1
    assert "does not sample from the weights it was given" in said[0]


def test_in_half_precision_the_mean_decides_with_a_wider_limit(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        half = ["model.precision=bfloat16"]
        metrics = gap_after_an_update(fake, tmp_path / "new", [], *half)
        assert 1e-4 < metrics["engine/probe_gap"] < 0.1
        with pytest.raises(RolloutError, match=r"on average, over 1e-06"):
            gap_after_an_update(fake, tmp_path / "new", [], *half, "rollout.probe_gap=1e-6")


def test_without_a_probe_nothing_is_drawn(tmp_path: Path) -> None:
    with fake_vllm() as fake:
        assert list(gap_after_an_update(fake, tmp_path / "stale", [], "rollout.probe=0")) == ["time/sync"]
        assert fake.prompts == []


def test_an_engine_on_the_policy_itself_needs_no_probe() -> None:
    policy = Policy(tiny_model(5), load_config("tiny-cpu"))
    syncing = Syncing(TransformersEngine(policy.model, [1]), policy, PROMPTS, print)
    syncing.to(3)
    assert list(syncing.metrics) == ["time/sync"]
