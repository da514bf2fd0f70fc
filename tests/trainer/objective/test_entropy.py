"""Log-probabilities and entropy at the sampling temperature."""

import math

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import token_scores


def test_scores_are_those_of_the_softmax_of_divided_logits() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64)
    tokens = torch.randint(5, (2, 3), generator=generator)
    for temperature in (0.5, 1.0, 2.0):
        scores = token_scores(logits, tokens, temperature=temperature)
        table = (logits / temperature).log_softmax(-1)
        torch.testing.assert_close(scores.logprobs_BT, table.gather(-1, tokens[..., None])[..., 0])
        torch.testing.assert_close(scores.entropy_BT, -(table.exp() * table).sum(-1))


def test_a_uniform_distribution_has_the_entropy_of_its_size() -> None:
    scores = token_scores(torch.zeros(1, 1, 8), torch.zeros(1, 1, dtype=torch.int64))
    assert scores.entropy_BT is not None
    assert float(scores.entropy_BT) == pytest.approx(math.log(8))


def test_a_forbidden_token_spoils_neither_entropy_nor_gradient() -> None:
    logits = torch.tensor([[[1.0, 2.0, -torch.inf]]], requires_grad=True)
    scores = token_scores(logits, torch.tensor([[1]]))
    assert scores.entropy_BT is not None
    (scores.logprobs_BT + scores.entropy_BT).sum().backward()
    assert torch.isfinite(scores.entropy_BT).all()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()


def test_half_precision_logits_are_summed_in_single_precision() -> None:
    logits = torch.randn(1, 1, 30000, generator=torch.Generator().manual_seed(0))
    exact = token_scores(logits.bfloat16().double(), torch.tensor([[7]]))
    half = token_scores(logits.bfloat16(), torch.tensor([[7]]))
    assert half.logprobs_BT.dtype == torch.float32
    assert float(half.logprobs_BT) == pytest.approx(float(exact.logprobs_BT), abs=1e-4)


def test_entropy_is_left_out_where_nobody_asked() -> None:
    assert token_scores(torch.zeros(1, 1, 2), torch.tensor([[0]]), entropy=False).entropy_BT is None


def test_zero_temperature_and_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        token_scores(torch.zeros(1, 1, 2), torch.tensor([[0]]), temperature=0.0)
    with pytest.raises(ValueError, match="do not fit"):
        token_scores(torch.zeros(1, 2, 2), torch.tensor([[0]]))
