"""Masks come from lengths: the end-of-sequence token counts, what follows it does not."""

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install ./trainer")

import torch

from grpo_trainer.objective import answer_mask, kept, masked_mean

EOS = PAD = 2


def test_the_end_token_is_in_the_mask_and_the_padding_of_the_same_id_is_not() -> None:
    tokens = torch.tensor([[5, 7, EOS, PAD, PAD], [5, EOS, PAD, PAD, PAD], [5, 6, 7, 8, 9]])
    mask = answer_mask(torch.tensor([3, 2, 5]), tokens.shape[1])
    assert mask.tolist() == [
        [True, True, True, False, False],
        [True, True, False, False, False],
        [True, True, True, True, True],
    ]
    assert (tokens[0][mask[0]] == EOS).sum() == 1
    assert (tokens != PAD).sum() < mask.sum(), "a mask from ids would have dropped the end tokens"


def test_an_empty_answer_has_an_empty_row() -> None:
    assert answer_mask(torch.tensor([0, 1]), 2).tolist() == [[False, False], [True, False]]
    assert answer_mask(torch.tensor([], dtype=torch.int64), 4).shape == (0, 4)


@pytest.mark.parametrize("lengths", [[6], [-1]])
def test_a_length_outside_the_batch_is_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match=r"0\.\.5"):
        answer_mask(torch.tensor(lengths), 5)


def test_lengths_of_two_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="one dimension"):
        answer_mask(torch.tensor([[1]]), 5)


def test_what_is_not_kept_is_zero_even_where_it_was_nan() -> None:
    values = torch.tensor([1.0, torch.nan, torch.inf])
    assert kept(values, torch.tensor([True, False, False])).tolist() == [1.0, 0.0, 0.0]


def test_the_mean_of_nothing_is_zero() -> None:
    assert float(masked_mean(torch.ones(2, 2), torch.zeros(2, 2, dtype=torch.bool))) == 0.0
