"""Real TRL, two steps of GRPO on a random model, against a live service."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("trl")

from examples.trainers import trl_grpo
from tests.remotes import none_left_open
from tests.verifier_service.server.processes import Served, served
from verifier_service.adapters import for_trl
from verifier_service.adapters.common import Remote

# Of torch and TRL, not ours.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("trl") / "log", profile="r1-zero") as found:
        yield found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str, float | None]]]:
    """What TRL asked and was told: completion, gold and reward."""
    seen: list[tuple[str, str, float | None]] = []
    judge = Remote.judge

    def spy(self: Remote, items: Any) -> Any:
        results = judge(self, items)
        seen.extend(
            (item["completion"], item["gold"], result.reward)
            for item, result in zip(items, results, strict=True)
        )
        return results

    monkeypatch.setattr(Remote, "judge", spy)
    with none_left_open(monkeypatch):
        yield seen


@pytest.mark.parametrize("parts", [False, True])
def test_grpo_trains_two_steps_on_the_rewards_of_the_service(
    service: Served, parts: bool, asked: list[tuple[str, str, float | None]]
) -> None:
    log = trl_grpo.train(service.url, parts=parts)
    steps = [entry for entry in log if "reward" in entry]
    assert len(steps) == 2
    assert len(asked) == 32
    rewards = [reward for _, _, reward in asked if reward is not None]
    assert len(rewards) == 32
    # What TRL logged is what the service said, half a batch a step.
    for entry, told in zip(steps, (rewards[:16], rewards[16:]), strict=True):
        assert math.isclose(entry["reward"], sum(told) / 16, abs_tol=1e-6)
        assert entry["verifier/no_verdict"] == 0
    assert 0 < sum(rewards) < 32
    # An independent look at those that give one answer.
    for text, gold, reward in asked:
        if text.count("boxed") == 1:
            assert reward == float(f"\\boxed{{{gold}}}" in text), text
    names = {"rewards/accuracy/mean", "rewards/format/mean"} if parts else {"rewards/verifier/mean"}
    assert names <= set(steps[0])


def test_grpo_awaits_the_asynchronous_reward(service: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trl_grpo, "reward_function", for_trl.async_reward_function)
    with none_left_open(monkeypatch):
        log = trl_grpo.train(service.url)
    steps = [entry for entry in log if "reward" in entry]
    assert len(steps) == 2
    assert all(entry["verifier/no_verdict"] == 0 for entry in steps)
    assert any(entry["reward"] > 0 for entry in steps)


def test_without_a_service_the_completions_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = for_trl.reward_function
    monkeypatch.setattr(trl_grpo, "reward_function", lambda url: made(url, budget_s=0.3))
    log = trl_grpo.train("http://127.0.0.1:1", steps=1)
    step = next(entry for entry in log if "loss" in entry)
    assert step["verifier/no_verdict"] == 1
    assert (step["loss"], step["grad_norm"]) == (0, 0)
