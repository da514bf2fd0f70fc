"""Probability ratios: exactly 1 on policy, and three ways to take one over an answer."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import RatioLevel, probability_ratios

LEVELS: list[RatioLevel] = ["token", "sequence", "sequence_mean"]
MASK = torch.tensor([[True, True, True], [True, True, False]])


@pytest.mark.parametrize("level", LEVELS)
@settings(deadline=None)
@given(logprobs=st.lists(st.floats(-60, 0), min_size=6, max_size=6))
def test_the_ratio_is_exactly_one_at_the_first_update(level: RatioLevel, logprobs: list[float]) -> None:
    for dtype in (torch.float32, torch.float64):
        current = torch.tensor(logprobs, dtype=dtype).reshape(2, 3)
        for old in (current.clone(), None):
            ratios = probability_ratios(current, old, MASK, level=level).values_BT
            assert torch.equal(ratios, torch.ones_like(ratios))


def test_the_three_levels_are_product_and_geometric_mean_of_the_token_ratios() -> None:
    step = torch.tensor([[0.1, -0.2, 0.3], [0.5, 0.1, 9.0]], dtype=torch.float64)
    old = torch.full_like(step, -1.0)
    token, sequence, mean = (probability_ratios(old + step, old, MASK, level=x).values_BT for x in LEVELS)
    assert torch.allclose(token[MASK], step[MASK].exp())
    assert float(sequence[0, 0]) == pytest.approx(math.exp(0.2))
    assert float(sequence[1, 0]) == pytest.approx(math.exp(0.6)), "the padded 9.0 is not in the sum"
    assert float(mean[1, 1]) == pytest.approx(math.exp(0.3))
    for ratios in (token, sequence, mean):
        assert float(ratios[1, 2]) == 1.0, "padding carries 1"


def test_the_gradient_reaches_every_token_of_a_sequence_ratio_and_none_of_the_padding() -> None:
    for level in LEVELS:
        current = torch.full((2, 3), -1.0, dtype=torch.float64, requires_grad=True)
        probability_ratios(current, current.detach() - 0.1, MASK, level=level).values_BT.sum().backward()
        assert current.grad is not None
        assert (current.grad[MASK] > 0).all()
        assert (current.grad[~MASK] == 0).all()


def test_old_logprobs_never_receive_a_gradient() -> None:
    old = torch.full((2, 3), -1.0, requires_grad=True)
    ratios = probability_ratios(torch.full((2, 3), -1.2, requires_grad=True), old, MASK)
    ratios.values_BT.sum().backward()
    assert old.grad is None


@pytest.mark.parametrize("level", LEVELS)
def test_a_huge_log_ratio_overflows_nothing(level: RatioLevel) -> None:
    current = torch.zeros(1, 400, requires_grad=True)
    old = torch.full((1, 400), -200.0)
    ratios = probability_ratios(current, old, torch.ones(1, 400).bool(), level=level).values_BT
    ratios.sum().backward()
    assert torch.isfinite(ratios).all()
    assert current.grad is not None
    assert torch.isfinite(current.grad).all()


def test_an_empty_answer_has_ratio_one() -> None:
    mask = torch.zeros(1, 3, dtype=torch.bool)
    for level in LEVELS:
        ratios = probability_ratios(torch.full((1, 3), torch.nan), None, mask, level=level).values_BT
        assert torch.equal(ratios, torch.ones(1, 3))


def test_a_forgotten_dimension_is_refused() -> None:
    with pytest.raises(ValueError, match="old_logprobs_BT has shape"):
        probability_ratios(torch.zeros(2, 3), torch.zeros(3), MASK)
