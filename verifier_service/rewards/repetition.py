"""Penalty for text that repeats itself (after the n-gram penalty of arXiv 2502.03373)."""

import re

from verifier_service.rewards import Score

_WORDS = 8  # length of a phrase: long enough that good prose hardly ever repeats one
_PER_WORD = 1.7  # Chinese or Japanese characters in the length of a word
_PER_THAI_WORD = 4.4
_MAX_CHARS = 256 * 1024

_TOKEN = re.compile(
    r"(?P<han>[\u3041-\u30ff\u3400-\u9fff\U00020000-\U000323af])"
    r"|(?P<thai>[\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3])"
    r"|[^\W_]+|[^\w\s]"
)


def score(text: str) -> Score:
    """0 where no phrase occurs twice, down to -1: minus the share of phrases that occurred before.

    A phrase is a run of eight tokens: words, numbers and single signs, the case ignored; in scripts without
    spaces, as many characters as eight words have on average. A text shorter than two phrases is measured
    by phrases of half its length, so that "no no no no" counts. Of a text beyond 256 k characters the end is
    read: that is where loops are.
    """
    tokens, words = _tokens(text[-_MAX_CHARS:])
    if len(tokens) < 4:
        return Score(0.0, {"phrases": 0})
    size = min(round(_WORDS * len(tokens) / words), len(tokens) // 2)
    phrases = zip(*(tokens[start:] for start in range(size)), strict=False)
    total = len(tokens) - size + 1
    repeated = total - len(set(phrases))
    value = -repeated / total if repeated else 0.0
    return Score(value, {"phrases": total, "repeated": repeated, "tokens_in_phrase": size})


def _tokens(text: str) -> tuple[list[str], float]:
    """The tokens of a text, and how many words they are worth."""
    tokens: list[str] = []
    words = 0.0
    for token in _TOKEN.finditer(text.lower()):
        tokens.append(token[0])
        kind = token.lastgroup
        words += 1 / _PER_WORD if kind == "han" else 1 / _PER_THAI_WORD if kind == "thai" else 1
    return tokens, words
