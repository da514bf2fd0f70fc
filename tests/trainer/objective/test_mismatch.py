"""Importance weights between the engine that sampled and the trainer."""

import math

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import mismatch_weights

MASK = torch.tensor([[True, True, False]])
TRAINER = torch.tensor([[-1.0, -2.0, torch.nan]])
SAMPLER = torch.tensor([[-1.5, -1.0, torch.nan]])


def test_equal_engines_give_weights_of_one() -> None:
    result = mismatch_weights(TRAINER, TRAINER, MASK)
    assert result.weights_BT.tolist() == [[1.0, 1.0, 0.0]]


def test_weights_are_cut_at_the_bounds_and_the_raw_ones_kept_for_the_log() -> None:
    result = mismatch_weights(TRAINER, SAMPLER, MASK, low=0.5, high=1.2)
    torch.testing.assert_close(result.weights_BT, torch.tensor([[1.2, 0.5, 0.0]]))
    torch.testing.assert_close(result.raw_BT, torch.tensor([[math.exp(0.5), math.exp(-1.0), 0.0]]))


def test_dropping_sets_what_is_outside_to_zero() -> None:
    result = mismatch_weights(TRAINER, SAMPLER, MASK, low=0.5, high=2.0, outside="drop")
    torch.testing.assert_close(result.weights_BT, torch.tensor([[math.exp(0.5), 0.0, 0.0]]))


def test_the_weight_of_a_sequence_is_the_product_over_its_tokens() -> None:
    result = mismatch_weights(TRAINER, SAMPLER, MASK, level="sequence")
    torch.testing.assert_close(result.weights_BT, torch.tensor([[math.exp(-0.5), math.exp(-0.5), 0.0]]))


def test_weights_carry_no_gradient_and_overflow_nothing() -> None:
    trainer = torch.full((1, 300), -0.1, requires_grad=True)
    result = mismatch_weights(trainer, trainer.detach() - 9, torch.ones(1, 300).bool(), level="sequence")
    assert not result.weights_BT.requires_grad
    assert torch.isfinite(result.raw_BT).all()


@pytest.mark.parametrize("low, high", [(1.0, 1.0), (-0.1, 2.0), (3.0, 2.0)])
def test_bounds_that_leave_no_room_are_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="low < high"):
        mismatch_weights(TRAINER, SAMPLER, MASK, low=low, high=high)
