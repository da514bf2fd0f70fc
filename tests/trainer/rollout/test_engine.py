from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from grpo_trainer.rollout import Sampling
from grpo_trainer.rollout.engine import altering_samplers


@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p", "min_tokens", "repetition_penalty"])
def test_a_sampler_that_cuts_the_distribution_does_not_exist(name: str) -> None:
    options: dict[str, Any] = {"temperature": 1.0, "max_tokens": 8, "seed": 0, name: 1}
    with pytest.raises(TypeError, match=name):
        Sampling(**options)


def test_sampling_at_temperature_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing is drawn"):
        Sampling(0.0, 8, 0)


def test_what_a_checkpoint_recommends_and_training_ignores_is_named() -> None:
    recommended = SimpleNamespace(top_p=0.8, top_k=20, repetition_penalty=1.05, min_p=None)
    assert altering_samplers(recommended) == ["top_k=20", "top_p=0.8", "repetition_penalty=1.05"]
    assert altering_samplers(SimpleNamespace(top_p=1.0, top_k=50)) == []
