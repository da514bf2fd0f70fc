"""Moving the reference model."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import moved_reference


def test_alpha_one_is_an_exact_copy() -> None:
    generator = torch.Generator().manual_seed(0)
    policy, reference = torch.randn(50, generator=generator), torch.randn(50, generator=generator)
    assert torch.equal(moved_reference(reference, policy, alpha=1.0), policy)


def test_less_is_a_moving_average_in_the_type_of_the_reference() -> None:
    moved = moved_reference(torch.zeros(2).bfloat16(), torch.ones(2), alpha=0.25)
    assert moved.dtype == torch.bfloat16
    assert moved.tolist() == [0.25, 0.25]


@pytest.mark.parametrize("alpha", [0.0, -0.5, 1.5])
def test_alpha_outside_its_range_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="alpha"):
        moved_reference(torch.zeros(2), torch.ones(2), alpha=alpha)


def test_shapes_must_agree() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        moved_reference(torch.zeros(2), torch.ones(3), alpha=1.0)
