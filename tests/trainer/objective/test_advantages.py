"""Advantages: the published numbers, and what must hold for any rewards."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch
from torch import Tensor

from grpo_trainer.objective import Scale, group_advantages, live_groups, on_tokens

SCALES: list[Scale] = ["population", "sample", "batch", "none"]


def doubles(rows: list[list[float]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def all_judged(rewards: Tensor) -> Tensor:
    return torch.ones_like(rewards, dtype=torch.bool)


@st.composite
def judged_rewards(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Groups of 2 to 9 answers, rewards of every kind the profiles pay, some answers without a verdict."""
    size = draw(st.integers(2, 9))
    number = st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.5, 0.1]), st.floats(-3, 3, width=16))
    row = st.lists(number, min_size=size, max_size=size)
    rows = draw(st.lists(row, min_size=1, max_size=4))
    seen = [draw(st.lists(st.booleans(), min_size=size, max_size=size)) for _ in rows]
    return doubles(rows), torch.tensor(seen)


@pytest.mark.parametrize(
    "right, up, down", [(3, 1.29, -0.77), (7, 0.38, -2.65)], ids=["3 of 8 right", "7 of 8 right"]
)
def test_the_papers_numbers_come_out_with_the_default_scale(right: int, up: float, down: float) -> None:
    rewards = doubles([[1.0] * right + [0.0] * (8 - right)])
    values = group_advantages(rewards, all_judged(rewards)).values_PG[0]
    assert round(float(values[0]), 2) == up
    assert round(float(values[-1]), 2) == down


@pytest.mark.parametrize("right", range(1, 8))
def test_zero_one_rewards_have_the_closed_form(right: int) -> None:
    p = right / 8
    rewards = doubles([[1.0] * right + [0.0] * (8 - right)])
    values = group_advantages(rewards, all_judged(rewards)).values_PG[0]
    assert float(values[0]) == pytest.approx(math.sqrt((1 - p) / p), abs=1e-12)
    assert float(values[-1]) == pytest.approx(-math.sqrt(p / (1 - p)), abs=1e-12)


@settings(deadline=None)
@given(judged_rewards(), st.sampled_from(SCALES), st.sampled_from(["mean", "leave_one_out"]))
def test_advantages_of_a_group_sum_to_zero(given: tuple[Tensor, Tensor], scale: Scale, baseline: str) -> None:
    rewards, judged = given
    values = group_advantages(rewards, judged, scale=scale, baseline=baseline).values_PG  # type: ignore[arg-type]
    assert values.sum(-1).abs().max() < 1e-9
    assert torch.isfinite(values).all()


@settings(deadline=None)
@given(judged_rewards(), st.sampled_from(SCALES))
def test_an_answer_without_a_verdict_gets_zero_and_moves_nobody(
    given: tuple[Tensor, Tensor], scale: Scale
) -> None:
    rewards, judged = given
    plain = group_advantages(rewards, judged, scale=scale)
    junk = torch.where(judged, rewards, torch.nan)
    again = group_advantages(junk, judged, scale=scale)
    assert torch.equal(plain.values_PG, again.values_PG)
    assert torch.equal(plain.live_P, again.live_P)
    assert (plain.values_PG[~judged] == 0).all()


@settings(deadline=None)
@given(judged_rewards())
def test_a_missing_verdict_equals_a_smaller_group(given: tuple[Tensor, Tensor]) -> None:
    rewards, judged = given
    for row, seen in zip(rewards, judged, strict=True):
        if seen.sum() >= 2:
            whole = group_advantages(row[None], seen[None]).values_PG[0][seen]
            alone = group_advantages(row[seen][None], seen[seen][None]).values_PG[0]
            torch.testing.assert_close(whole, alone, rtol=1e-12, atol=1e-12)


@settings(deadline=None)
@given(judged_rewards(), st.sampled_from(["population", "sample"]), st.floats(0.1, 10), st.floats(-2, 2))
def test_scaled_advantages_ignore_the_unit_of_reward(
    given: tuple[Tensor, Tensor], scale: Scale, factor: float, shift: float
) -> None:
    rewards = torch.round(given[0] * 8) / 8  # so that scaling cannot make unequal rewards equal
    judged = given[1]
    before = group_advantages(rewards, judged, scale=scale).values_PG
    after = group_advantages(rewards * factor + shift, judged, scale=scale)
    torch.testing.assert_close(after.values_PG[after.live_P], before[after.live_P], rtol=1e-9, atol=1e-9)


def test_equality_decides_a_dead_group_where_the_float_std_is_not_zero() -> None:
    rewards = torch.full((1, 7), 0.1, dtype=torch.float64)
    assert float(rewards.std(unbiased=False)) > 0, "the trap this test is about"
    result = group_advantages(rewards, all_judged(rewards))
    assert not result.live_P.any()
    assert (result.values_PG == 0).all()


def test_a_difference_too_small_to_square_still_gives_finite_advantages() -> None:
    rewards = doubles([[0.0, 0.0, 0.0, 1e-200]])
    values = group_advantages(rewards, all_judged(rewards)).values_PG[0]
    expected = doubles([[0.0, 0.0, 0.0, 1.0]])
    torch.testing.assert_close(values, group_advantages(expected, all_judged(expected)).values_PG[0])


def test_rewards_are_shaped_per_group_and_not_across_groups() -> None:
    rewards = doubles([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    together = group_advantages(rewards, all_judged(rewards)).values_PG
    for row, values in zip(rewards, together, strict=True):
        assert torch.equal(group_advantages(row[None], all_judged(row[None])).values_PG[0], values)


def test_a_group_of_one_verdict_is_dead() -> None:
    rewards = doubles([[1.0, 0.0, 0.0]])
    for scale in SCALES:
        result = group_advantages(rewards, torch.tensor([[True, False, False]]), scale=scale)
        assert not result.live_P.any()
        assert (result.values_PG == 0).all()


def test_leave_one_out_subtracts_the_mean_of_the_others() -> None:
    rewards = doubles([[0.5, 1.0, -0.25, 2.0]])
    values = group_advantages(rewards, all_judged(rewards), scale="none", baseline="leave_one_out").values_PG
    for i in range(4):
        others = [float(rewards[0, j]) for j in range(4) if j != i]
        assert float(values[0, i]) == pytest.approx(float(rewards[0, i]) - sum(others) / 3)


def test_a_threshold_above_zero_filters_by_the_sample_deviation() -> None:
    rewards = doubles([[0.5, 0.5, 0.5000001], [1.0, 0.0, 1.0]])
    assert live_groups(rewards, all_judged(rewards)).tolist() == [True, True]
    assert live_groups(rewards, all_judged(rewards), threshold=1e-6).tolist() == [False, True]


def test_every_token_of_an_answer_carries_its_advantage() -> None:
    mask = torch.tensor([[True, True, False], [True, False, False]])
    spread = on_tokens(torch.tensor([0.5, -2.0]), mask)
    assert spread.tolist() == [[0.5, 0.5, 0.0], [-2.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    "rewards, judged, eps, message",
    [
        (torch.zeros(2, 1), torch.ones(2, 1).bool(), 0.0, "at least 2"),
        (torch.zeros(2, 3), torch.ones(2, 2).bool(), 0.0, "shape"),
        (torch.zeros(4), torch.ones(4).bool(), 0.0, "prompts x answers"),
        (torch.zeros(2, 2), torch.ones(2, 2), 0.0, "bool"),
        (torch.zeros(2, 2), torch.ones(2, 2).bool(), -1.0, "negative"),
        (torch.tensor([[torch.nan, 0.0]]), torch.ones(1, 2).bool(), 0.0, "not finite"),
        (torch.tensor([[torch.inf, 0.0]]), torch.ones(1, 2).bool(), 0.0, "not finite"),
        (torch.zeros(2, 2, dtype=torch.int64), torch.ones(2, 2).bool(), 0.0, "float"),
    ],
)
def test_what_cannot_be_meant_is_refused(rewards: Tensor, judged: Tensor, eps: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        group_advantages(rewards, judged, eps=eps)
