"""Soft overlong punishment (DAPO, arXiv 2503.14476, equation 13)."""

from verifier_service.rewards import Score

# The paper's buffer is 4,096 of 20,480 tokens: one fifth.
_FIFTHS = 5


def score(completion_tokens: int | None, max_tokens: int | None, truncated: bool | None) -> Score:
    """0 up to max_tokens - buffer, then falling linearly to -1 at max_tokens; -1 beyond.

    The buffer is the last 20% of max_tokens. Where both numbers are known they alone decide, as in the
    paper. Where one is missing, a completion known to be cut off at its limit scores -1; else None.
    """
    if completion_tokens is None or max_tokens is None:
        return Score(-1.0, {"truncated": True}) if truncated else Score(None)
    detail = {"completion_tokens": completion_tokens, "max_tokens": max_tokens}
    if completion_tokens >= max_tokens:
        return Score(-1.0, detail)
    # (limit - buffer - tokens) / buffer, multiplied through so that whole numbers stay whole
    inside = ((_FIFTHS - 1) * max_tokens - _FIFTHS * completion_tokens) / max_tokens
    return Score(min(0.0, inside), detail)
