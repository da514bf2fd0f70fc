"""Log-probabilities and entropy from logits: one function for policy, sampler and reference alike."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TokenScores:
    """logprobs_BT: log-probability of each given token.  entropy_BT: of the distribution it came from.

    Both in nats; entropy_BT is None where it was not asked for.
    """

    logprobs_BT: Tensor
    entropy_BT: Tensor | None


def token_scores(
    logits_BTV: Tensor, tokens_BT: Tensor, *, temperature: float = 1.0, entropy: bool = True
) -> TokenScores:
    """Log-probability of each token and entropy of its distribution, at the sampling temperature.

    x = logits / temperature;  log p = x[token] - logsumexp x;  H = logsumexp x - sum p x.
    logits_BTV: float, the row that predicts tokens_BT[b, t] at [b, t] (already shifted).
    tokens_BT: int64.  temperature: the one that the tokens were sampled at. If it were left out on
    one side only, policy and sampler would differ before any training.
    Half-precision logits are taken to float32 first: their exponentials do not add up otherwise.
    Raises ValueError if a shape differs or temperature <= 0.
    """
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, got {temperature}; at 0 there is no distribution")
    if logits_BTV.shape[:-1] != tokens_BT.shape:
        raise ValueError(f"logits {tuple(logits_BTV.shape)} do not fit tokens {tuple(tokens_BT.shape)}")
    wide = torch.promote_types(logits_BTV.dtype, torch.float32)
    logits_BTV = logits_BTV.to(wide) / temperature
    normaliser_BT = logits_BTV.logsumexp(-1)
    logprobs_BT = logits_BTV.gather(-1, tokens_BT[..., None]).squeeze(-1) - normaliser_BT
    if not entropy:
        return TokenScores(logprobs_BT, None)
    probabilities_BTV = torch.exp(logits_BTV - normaliser_BT[..., None])
    # A logit of minus infinity has probability 0 and adds nothing; 0 * -inf would be NaN.
    finite_BTV = torch.where(probabilities_BTV > 0, logits_BTV, 0.0)
    return TokenScores(logprobs_BT, normaliser_BT - (probabilities_BTV * finite_BTV).sum(-1))
