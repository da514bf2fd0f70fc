"""Moving the reference model after the policy."""

import torch
from torch import Tensor


def moved_reference(reference: Tensor, policy: Tensor, *, alpha: float) -> Tensor:
    """One weight of the reference model, a share alpha of the way towards the policy's.

    alpha = 1 replaces it, as DeepSeek-R1 does every 400 steps (arXiv 2501.12948); less is an
    exponential moving average. Raises ValueError unless 0 < alpha <= 1 and the shapes agree.
    """
    if not 0 < alpha <= 1:
        raise ValueError(f"alpha must lie in (0, 1], got {alpha}")
    if reference.shape != policy.shape:
        raise ValueError(f"reference {tuple(reference.shape)} does not fit policy {tuple(policy.shape)}")
    return torch.lerp(reference, policy.detach().to(reference.dtype), alpha)
