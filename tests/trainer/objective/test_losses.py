"""The objective: what must hold of it for any batch, however it is cut, padded or ordered."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch
from torch import Tensor

from grpo_trainer.objective import (
    Aggregation,
    LossInputs,
    LossSettings,
    aggregate,
    answer_mask,
    clipped_losses,
    grpo_loss,
    loss_divisor,
    on_tokens,
)

OBJECTIVES = {
    "deepseekmath": LossSettings(kl_beta=0.04),
    "dr_grpo": LossSettings(aggregation="constant"),
    "dapo": LossSettings(aggregation="token", clip_high=0.28),
    "r1": LossSettings(ratio="sequence", clip_low=10, clip_high=10, kl_beta=0.001),
    "gspo": LossSettings(ratio="sequence_mean", clip_low=0.03, clip_high=0.04),
    "cispo": LossSettings(surrogate="cispo", clip_low=1.0, clip_high=0.28, aggregation="token"),
    "all": LossSettings(
        dual_clip=1.5,
        kl_beta=0.1,
        kl_estimator="k2",
        kl_times_ratio=True,
        entropy_coef=0.01,
        aggregation="token",
    ),
}
objectives = pytest.mark.parametrize("name", OBJECTIVES)


def batch(answers: int, width: int, seed: int, dtype: Any = torch.float64) -> LossInputs:
    """A random batch: lengths from 0 to width, ratios far enough from 1 to be clipped on both sides."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(scale: float) -> Tensor:
        return scale * torch.randn(answers, width, generator=generator, dtype=dtype)

    mask = answer_mask(torch.randint(0, width + 1, (answers,), generator=generator), width)
    old = -numbers(1.0).abs()
    return LossInputs(
        mask_BT=mask,
        logprobs_BT=old + numbers(0.3),
        advantages_BT=on_tokens(torch.randn(answers, generator=generator, dtype=dtype), mask),
        old_logprobs_BT=old,
        ref_logprobs_BT=old + numbers(0.3),
        entropy_BT=numbers(1.0).abs(),
        weights_BT=numbers(0.2).exp(),
    )


def on_all(inputs: LossInputs, change: Any) -> LossInputs:
    """The same change to every tensor of a batch."""
    tensors = {name: getattr(inputs, name) for name in inputs.__slots__}
    return LossInputs(**{name: None if t is None else change(t) for name, t in tensors.items()})


def divisor_of(inputs: LossInputs, settings: LossSettings) -> float:
    length = 7.0 if settings.aggregation == "constant" else None
    return loss_divisor(inputs.mask_BT, settings.aggregation, length=length)


def loss_and_gradient(pieces: list[LossInputs], rules: LossSettings, divisor: float) -> tuple[Tensor, Tensor]:
    """Summed loss of the micro-batches and the gradient on the log-probabilities, piece after piece."""
    total, gradients = torch.zeros((), dtype=torch.float64), []
    for piece in pieces:
        leaf = piece.logprobs_BT.clone().requires_grad_()
        loss = grpo_loss(replace(piece, logprobs_BT=leaf), rules, divisor=divisor).total
        loss.backward()
        total = total + loss.detach()
        assert leaf.grad is not None
        gradients.append(leaf.grad)
    return total, torch.cat(gradients)


@objectives
@settings(max_examples=20, deadline=None)
@given(answers=st.integers(1, 9), width=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_any_number_of_micro_batches_gives_the_same_loss_and_gradient(
    name: str, answers: int, width: int, seed: int
) -> None:
    whole, rules = batch(answers, width, seed), OBJECTIVES[name]
    divisor = divisor_of(whole, rules)
    loss, gradient = loss_and_gradient([whole], rules, divisor)
    for pieces in sorted({1, 2, 3, answers}):
        rows = torch.arange(answers).chunk(pieces)
        cut = [on_all(whole, lambda t, r=r: t[r]) for r in rows]
        cut_loss, cut_gradient = loss_and_gradient(cut, rules, divisor)
        torch.testing.assert_close(cut_loss, loss, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(cut_gradient, gradient, rtol=1e-12, atol=1e-15)


@objectives
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_answers_does_not_matter(name: str, seed: int) -> None:
    whole, rules = batch(6, 5, seed), OBJECTIVES[name]
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    loss, gradient = loss_and_gradient([whole], rules, divisor_of(whole, rules))
    moved = on_all(whole, lambda t: t[order])
    moved_loss, moved_gradient = loss_and_gradient([moved], rules, divisor_of(moved, rules))
    torch.testing.assert_close(moved_loss, loss, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(moved_gradient, gradient[order], rtol=1e-12, atol=1e-15)


@objectives
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), extra=st.integers(0, 5))
def test_the_width_of_padding_does_not_matter_and_it_may_hold_nan(name: str, seed: int, extra: int) -> None:
    narrow, rules = batch(5, 4, seed), OBJECTIVES[name]
    loss, gradient = loss_and_gradient([narrow], rules, divisor_of(narrow, rules))

    def widen(tensor: Tensor) -> Tensor:
        filler = False if tensor.dtype == torch.bool else torch.nan
        wide = torch.cat([tensor, torch.full((5, extra), filler, dtype=tensor.dtype)], 1)
        mask = torch.cat([narrow.mask_BT, torch.zeros(5, extra, dtype=torch.bool)], 1)
        return torch.where(mask, wide, torch.tensor(filler, dtype=tensor.dtype))

    wide = on_all(narrow, widen)
    wide_loss, wide_gradient = loss_and_gradient([wide], rules, divisor_of(wide, rules))
    torch.testing.assert_close(wide_loss, loss, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(wide_gradient[:, :4], gradient, rtol=1e-12, atol=1e-15)
    assert (wide_gradient[:, 4:] == 0).all()


# The weight of CISPO is held fixed, so its gradient is not that of its value.
@pytest.mark.parametrize("name", sorted(OBJECTIVES.keys() - {"cispo"}))
def test_the_gradient_agrees_with_finite_differences(name: str) -> None:
    whole, rules = batch(4, 3, seed=5), OBJECTIVES[name]
    leaf = whole.logprobs_BT.clone().requires_grad_()

    def total(logprobs: Tensor) -> Tensor:
        inputs = replace(whole, logprobs_BT=logprobs, entropy_BT=whole.entropy_BT)
        return grpo_loss(inputs, rules, divisor=divisor_of(whole, rules)).total

    assert torch.autograd.gradcheck(total, (leaf,), eps=1e-7, atol=1e-5)


def test_on_policy_every_surrogate_has_the_plain_policy_gradient() -> None:
    whole = replace(batch(6, 5, seed=3), old_logprobs_BT=None, weights_BT=None)
    for rules in (LossSettings(aggregation="token"), OBJECTIVES["cispo"]):
        _, gradient = loss_and_gradient([whole], rules, divisor_of(whole, rules))
        plain = -whole.advantages_BT / whole.mask_BT.sum()
        torch.testing.assert_close(gradient, plain, rtol=1e-12, atol=1e-15)


def test_an_answer_of_no_tokens_leaves_the_divisor_unless_asked_to_stay() -> None:
    mask = answer_mask(torch.tensor([2, 0, 3]), 3)
    assert loss_divisor(mask, "sequence") == 2
    assert loss_divisor(mask, "sequence", count_empty=True) == 3
    assert loss_divisor(mask, "token") == 5
    assert loss_divisor(mask, "constant", length=10) == 20


@pytest.mark.parametrize("aggregation", ["sequence", "token"])
def test_a_batch_without_tokens_has_loss_and_gradient_zero(aggregation: Aggregation) -> None:
    empty = replace(batch(3, 4, seed=0), mask_BT=torch.zeros(3, 4, dtype=torch.bool))
    rules = LossSettings(aggregation=aggregation, kl_beta=0.1)
    loss, gradient = loss_and_gradient([empty], rules, divisor_of(empty, rules))
    assert float(loss) == 0
    assert (gradient == 0).all()


def test_a_token_of_a_long_answer_weighs_less_only_under_the_sequence_mean() -> None:
    mask = answer_mask(torch.tensor([1, 4]), 4)
    leaf = torch.ones(2, 4, requires_grad=True)
    for how, length, expected in [("sequence", None, 4.0), ("token", None, 1.0), ("constant", 9.0, 1.0)]:
        leaf.grad = None
        aggregate(leaf, mask, how, loss_divisor(mask, how, length=length)).backward()  # type: ignore[arg-type]
        assert leaf.grad is not None
        assert float(leaf.grad[0, 0] / leaf.grad[1, 0]) == pytest.approx(expected)


def clip(ratio: float, advantage: float, **edges: Any) -> tuple[float, float, bool, bool, bool]:
    """Loss, gradient on the ratio, and flags of one token."""
    leaf = torch.tensor([[ratio]], dtype=torch.float64, requires_grad=True)
    mask = torch.ones(1, 1, dtype=torch.bool)
    losses = clipped_losses(leaf, torch.tensor([[advantage]], dtype=torch.float64), mask, **edges)
    losses.values_BT.sum().backward()
    assert leaf.grad is not None
    flags = (losses.below_BT, losses.above_BT, losses.capped_BT)
    return (float(losses.values_BT.detach()), float(leaf.grad), *(bool(f) for f in flags))


@pytest.mark.parametrize(
    "ratio, advantage, edges, expected",
    [
        (1.5, 1.0, {}, (-1.2, 0.0, False, True, False)),
        (1.5, -1.0, {}, (1.5, 1.0, False, False, False)),
        (0.5, 1.0, {}, (-0.5, -1.0, False, False, False)),
        (0.5, -1.0, {}, (0.8, 0.0, True, False, False)),
        (1.25, 1.0, {"clip_high": 0.28}, (-1.25, -1.0, False, False, False)),
        (5.0, -1.0, {"dual_clip": 3.0}, (3.0, 0.0, False, False, True)),
        (5.0, 1.0, {"dual_clip": 3.0}, (-1.2, 0.0, False, True, False)),
        (5.0, -1.0, {"clip_low": 10.0, "clip_high": 10.0}, (5.0, 1.0, False, False, False)),
        (1.5, 0.0, {}, (0.0, 0.0, False, False, False)),
    ],
)
def test_clipping_case_by_case(
    ratio: float, advantage: float, edges: Any, expected: tuple[float, float, bool, bool, bool]
) -> None:
    loss, gradient, *flags = clip(ratio, advantage, **edges)
    assert loss == pytest.approx(expected[0])
    assert gradient == pytest.approx(expected[1])
    assert tuple(flags) == expected[2:]


def test_nothing_that_is_only_logged_carries_a_gradient() -> None:
    whole = batch(3, 4, seed=1)
    leaf = whole.logprobs_BT.clone().requires_grad_()
    rules = OBJECTIVES["deepseekmath"]
    loss = grpo_loss(replace(whole, logprobs_BT=leaf), rules, divisor=divisor_of(whole, rules))
    assert loss.total.requires_grad
    assert loss.kl_BT is not None
    assert not any(t.requires_grad for t in (loss.kl_BT, loss.ratios_BT, loss.tokens.values_BT))


@pytest.mark.parametrize(
    "change, rules, message",
    [
        ({"ref_logprobs_BT": None}, LossSettings(kl_beta=0.1), "ref_logprobs_BT is needed"),
        ({"entropy_BT": None}, LossSettings(entropy_coef=0.1), "entropy_BT is needed"),
        ({"advantages_BT": torch.ones(3)}, LossSettings(), "advantages_BT has shape"),
        ({"weights_BT": torch.ones(3)}, LossSettings(), "weights_BT has shape"),
        ({}, LossSettings(surrogate="cispo", dual_clip=3.0), "dual_clip does nothing"),
        ({}, LossSettings(dual_clip=0.9), "dual_clip must exceed 1"),
        ({}, LossSettings(clip_low=-0.1), "negative"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: Any, rules: LossSettings, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grpo_loss(replace(batch(3, 4, seed=0), **change), rules, divisor=1.0)


@pytest.mark.parametrize(
    "how, length, message",
    [("token", 3.0, "only to it"), ("constant", None, "only to it"), ("constant", 0.0, "above 0")],
)
def test_a_divisor_that_cannot_be_meant_is_refused(how: Any, length: float | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_divisor(torch.ones(1, 1).bool(), how, length=length)
    with pytest.raises(ValueError, match="negative"):
        aggregate(torch.ones(1, 1), torch.ones(1, 1).bool(), "token", -1.0)
