"""KL estimates against the reference model."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import KlEstimator, kl_estimate, rewards_with_kl, token_scores

ESTIMATORS: list[KlEstimator] = ["k1", "k2", "k3", "k3+", "abs"]
ONE = torch.ones(1, 1, dtype=torch.bool)


@settings(deadline=None)
@given(st.floats(-80, 0), st.floats(-80, 0), st.sampled_from(["k2", "k3", "k3+", "abs"]))
def test_k3_and_the_other_even_estimates_are_never_negative(
    p: float, q: float, estimator: KlEstimator
) -> None:
    for dtype in (torch.float32, torch.float64):
        policy, reference = torch.tensor([[p]], dtype=dtype), torch.tensor([[q]], dtype=dtype)
        value = float(kl_estimate(policy, reference, ONE, estimator=estimator))
        assert value >= 0
        assert math.isfinite(value)


@settings(deadline=None)
@given(st.floats(1e-12, 1e-6))
def test_k3_is_not_negative_where_its_terms_cancel(gap: float) -> None:
    policy = torch.tensor([[-1.0, -1.0 - gap]])
    reference = torch.tensor([[-1.0 - gap, -1.0]])
    assert (kl_estimate(policy, reference, torch.ones(1, 2).bool()) >= 0).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_policy_that_is_the_reference_pays_nothing(estimator: KlEstimator) -> None:
    logprobs = torch.tensor([[-0.3, -2.0]])
    assert (kl_estimate(logprobs, logprobs, torch.ones(1, 2).bool(), estimator=estimator) == 0).all()


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_the_estimate_is_unbiased(estimator: KlEstimator) -> None:
    generator = torch.Generator().manual_seed(0)
    policy = torch.randn(6, generator=generator, dtype=torch.float64).log_softmax(-1)
    reference = torch.randn(6, generator=generator, dtype=torch.float64).log_softmax(-1)
    exact = (policy.exp() * (policy - reference)).sum()
    # Weighting every outcome by its probability is the expectation itself, without sampling.
    each = kl_estimate(policy[None], reference[None], torch.ones(1, 6).bool(), estimator=estimator)[0]
    assert float((policy.exp() * each).sum()) == pytest.approx(float(exact), abs=1e-12)


def expected_gradient(estimator: KlEstimator) -> torch.Tensor:
    """Gradient on the logits of a loss term E[kl], sampled from the policy: what training would follow."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(5, generator=generator, dtype=torch.float64).requires_grad_()
    reference = torch.randn(5, generator=generator, dtype=torch.float64).log_softmax(-1)
    policy = logits.log_softmax(-1)
    each = kl_estimate(policy[None], reference[None], torch.ones(1, 5).bool(), estimator=estimator)[0]
    (policy.exp().detach() * each).sum().backward()
    assert logits.grad is not None
    return logits.grad


def test_k1_in_a_loss_pulls_nowhere() -> None:
    assert expected_gradient("k1").abs().max() < 1e-12


def test_k2_in_a_loss_has_the_gradient_of_the_kl_and_k3_plus_borrows_it() -> None:
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(5, generator=generator, dtype=torch.float64).requires_grad_()
    reference = torch.randn(5, generator=generator, dtype=torch.float64).log_softmax(-1)
    policy = logits.log_softmax(-1)
    (policy.exp() * (policy - reference)).sum().backward()
    assert logits.grad is not None
    torch.testing.assert_close(expected_gradient("k2"), logits.grad, rtol=0, atol=1e-12)
    torch.testing.assert_close(expected_gradient("k3+"), logits.grad, rtol=0, atol=1e-12)


def test_padding_may_hold_nan() -> None:
    mask = torch.tensor([[True, False]])
    policy = torch.tensor([[-1.0, torch.nan]], requires_grad=True)
    for estimator in ESTIMATORS:
        value = kl_estimate(policy, torch.tensor([[-1.5, torch.nan]]), mask, estimator=estimator)
        value.sum().backward()
        assert float(value.detach()[0, 1]) == 0
        assert policy.grad is not None
        assert torch.isfinite(policy.grad).all()


def test_the_reward_sits_on_the_last_token_and_the_penalty_on_each() -> None:
    mask = torch.tensor([[True, True, True], [True, False, False], [False, False, False]])
    policy = torch.full((3, 3), -1.0, requires_grad=True)
    rewards = rewards_with_kl(torch.tensor([1.0, 2.0, 5.0]), policy, torch.full((3, 3), -1.5), mask, beta=0.1)
    expected = torch.tensor([[-0.05, -0.05, 0.95], [1.95, 0.0, 0.0], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(rewards, expected)
    assert not rewards.requires_grad


def test_the_penalty_in_the_reward_grows_with_the_length_of_the_answer() -> None:
    mask = torch.tensor([[True] * 2 + [False] * 8, [True] * 10])
    policy, reference = torch.full((2, 10), -1.0), torch.full((2, 10), -1.5)
    short, long = rewards_with_kl(torch.ones(2), policy, reference, mask, beta=0.1).sum(-1).tolist()
    assert short == pytest.approx(0.9)
    assert long == pytest.approx(0.5)


def test_temperature_moves_policy_old_and_reference_alike() -> None:
    logits, tokens = (
        torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(2)),
        torch.zeros(2, 3).long(),
    )
    mask = torch.ones(2, 3, dtype=torch.bool)
    for temperature in (0.6, 1.0, 1.3):
        scores = token_scores(logits, tokens, temperature=temperature)
        again = token_scores(logits, tokens, temperature=temperature)
        assert (kl_estimate(scores.logprobs_BT, again.logprobs_BT, mask) == 0).all()


def test_rewards_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="rewards for a mask"):
        rewards_with_kl(torch.ones(3), torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2).bool(), beta=0.1)
