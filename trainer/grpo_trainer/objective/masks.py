"""Which tokens count, and sums over them. Masks come from lengths, never from token ids."""

import torch
from torch import Tensor


def answer_mask(lengths_B: Tensor, width: int) -> Tensor:
    """True on the tokens of each answer, in a right-padded batch.

    lengths_B: integer, tokens of each answer, its end-of-sequence token included.  width: columns T.
    Returns mask_BT, bool. Where the padding id is also the end-of-sequence id, a mask made from ids
    would drop the very token that teaches the model to stop; lengths cannot make that mistake.
    Raises ValueError if a length is negative or exceeds width.
    """
    if lengths_B.ndim != 1:
        raise ValueError(f"lengths_B must have one dimension, not shape {tuple(lengths_B.shape)}")
    if lengths_B.numel() and not 0 <= int(lengths_B.min()) <= int(lengths_B.max()) <= width:
        low, high = int(lengths_B.min()), int(lengths_B.max())
        raise ValueError(f"answer lengths must lie in 0..{width}, got {low} to {high}")
    return torch.arange(width, device=lengths_B.device) < lengths_B[:, None]


def kept(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """values_BT where the mask is True, exactly 0 elsewhere.

    A selection, not a product: 0 * NaN is NaN, and padded columns may hold anything.
    """
    return torch.where(mask_BT, values_BT, torch.zeros_like(values_BT))


def masked_mean(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Mean over the tokens under the mask, a scalar; 0 where the mask is empty."""
    check_shapes(mask_BT, values_BT=values_BT)
    return kept(values_BT, mask_BT).sum() / mask_BT.sum().clamp(min=1)


def check_shapes(mask_BT: Tensor, **others: Tensor | None) -> None:
    """Refuses a mask that is not boolean and any tensor whose shape differs from it.

    Broadcasting would turn a forgotten dimension into a wrong loss without a word.
    """
    if mask_BT.dtype != torch.bool:
        raise ValueError(f"the mask must be bool, not {mask_BT.dtype}; use mask.bool()")
    for name, tensor in others.items():
        if tensor is not None and tensor.shape != mask_BT.shape:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}, but the mask has {tuple(mask_BT.shape)}"
            )
