"""Generalised advantage estimation: the recursion against its definition as a sum."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch
from torch import Tensor

from grpo_trainer.objective import generalised_advantages, whiten


def row(numbers: list[float]) -> Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=7),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_the_recursion_is_the_discounted_sum_of_errors(
    steps: list[tuple[float, float]], gamma: float, lam: float
) -> None:
    rewards, values = [s[0] for s in steps], [s[1] for s in steps]
    padded = [*values, 0.0]
    deltas = [rewards[t] + gamma * padded[t + 1] - values[t] for t in range(len(steps))]
    sums = [
        sum((gamma * lam) ** (k - t) * deltas[k] for k in range(t, len(steps))) for t in range(len(steps))
    ]
    mask = torch.ones(1, len(steps), dtype=torch.bool)
    result = generalised_advantages(row(rewards), row(values), mask, gamma=gamma, lam=lam)
    torch.testing.assert_close(result.advantages_BT, row(sums), rtol=0, atol=1e-12)
    torch.testing.assert_close(result.returns_BT, row(sums) + row(values), rtol=0, atol=1e-12)


def test_lambda_one_is_the_return_minus_the_value_and_lambda_zero_the_one_step_error() -> None:
    rewards, values, mask = row([0.0, 0.0, 1.0]), row([0.2, 0.5, 0.9]), torch.ones(1, 3).bool()
    far = generalised_advantages(rewards, values, mask, lam=1.0).advantages_BT
    near = generalised_advantages(rewards, values, mask, lam=0.0).advantages_BT
    torch.testing.assert_close(far, row([0.8, 0.5, 0.1]))
    torch.testing.assert_close(near, row([0.3, 0.4, 0.1]))


def test_padding_and_gaps_are_passed_over() -> None:
    plain = generalised_advantages(
        row([0.1, 0.2, 1.0]), row([0.3, 0.4, 0.5]), torch.ones(1, 3).bool(), lam=0.9
    )
    mask = torch.tensor([[True, False, True, True, False]])
    nan = float("nan")
    gap = generalised_advantages(
        row([0.1, nan, 0.2, 1.0, nan]), row([0.3, nan, 0.4, 0.5, nan]), mask, lam=0.9
    )
    torch.testing.assert_close(gap.advantages_BT[mask], plain.advantages_BT[0])
    assert (gap.advantages_BT[~mask] == 0).all()
    assert (gap.returns_BT[~mask] == 0).all()


def test_whitened_advantages_have_mean_zero_and_sample_variance_one() -> None:
    values = torch.randn(4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor([6, 2, 4, 1])[:, None]
    inside = whiten(torch.where(mask, values, torch.nan), mask)[mask]
    assert float(inside.mean()) == pytest.approx(0, abs=1e-12)
    assert float(inside.var()) == pytest.approx(1, rel=1e-6)


def test_whitening_fewer_than_two_tokens_gives_zero() -> None:
    assert float(whiten(row([5.0, 1.0]), torch.tensor([[True, False]])).abs().sum()) == 0
    assert float(whiten(row([5.0, 1.0]), torch.tensor([[False, False]])).abs().sum()) == 0


@pytest.mark.parametrize("gamma, lam", [(1.1, 1.0), (1.0, -0.1)])
def test_factors_outside_zero_to_one_are_refused(gamma: float, lam: float) -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        generalised_advantages(row([1.0]), row([0.0]), torch.ones(1, 1).bool(), gamma=gamma, lam=lam)
