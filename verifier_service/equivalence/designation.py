r"""What stands left of "=" and only says of what the value is: P(A \mid B), \det A, |S|, m\angle A.

P(A \mid B) = 1/3     1/3
\dim V = 2            2
x + 1 = 3             nothing: an equation, of which 3 is no solution
"""

import re

MAX_HEAD = 80

_WRAPPED = r"\\(?:operatorname|text|textrm|mathrm|mathbb|mathbf|mathcal)\*?\s*\{[^{}=]{1,40}\}"
_NAME = re.compile(
    rf"(?:(?:P|Pr|E|D|V|Var|Cov|Area|Vol|n|N)(?=\s*(?:\\left\s*)?[(\[])|\\(?:Pr|det|dim|deg|ker|max|min|sup|arg)(?![a-zA-Z])"
    rf"|{_WRAPPED}|m\s*(?=\\angle)|\\#)\s*"
)
_LABEL = re.compile(r"(?:\\text\w*\s*\{\s*)?[A-Z][A-Za-z ]{2,40}:\s*(?:\}\s*)?(?=\S)")
_TAKEN_BACK = re.compile(
    r"\b(?:not|wrong|false|incorrect|except|without|never|negative|minus)\b", re.IGNORECASE
)
_GROUP = re.compile(r"(?:\\left\s*)?[(\[{]")
_OBJECT = re.compile(
    r"\s*(?:\\(?:angle|triangle|vec|mathbf|mathcal|overrightarrow|overline)\s*)?(?:\{[^{}=]{1,20}\}|[A-Za-z]{1,4})(?:_\w)?\s*"
)
_BARS = re.compile(
    r"(?:\\left\s*)?(?:\||\\[lr]?[vV]ert(?![a-z])|\\\|)\s*"
    r"(?:[A-Z]{1,4}|\\(?:vec|mathbf|overrightarrow|overline|mathcal)\s*(?:\{[^{}]{1,8}\}|[a-zA-Z]))\s*"
    r"(?:\\right\s*)?(?:\||\\[lr]?[vV]ert(?![a-z])|\\\|)\s*"
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def designated_value(text: str) -> str:
    """What stands behind a designation and its "="; "" where the text does not begin with one."""
    text = text.strip(" $")
    label = _LABEL.match(text)
    if label is not None:
        return "" if _TAKEN_BACK.search(label.group()) else text[label.end() :]
    if "=" not in text:
        return ""
    end = _end_of_head(text)
    rest = text[end:].lstrip() if end and not _TAKEN_BACK.search(text[:end]) else ""
    return rest[1:].strip() if rest.startswith("=") else ""


_LETTERS_ONLY = re.compile(
    r"(?:(?<![A-Za-z])[A-Za-z](?![A-Za-z])|\\(?:mid|vert|cap|cup|left|right)(?![a-zA-Z])|[|,'^_0-9{}\s])+"
)
_BAR = re.compile(r"\\(?:mid|vert)(?![a-zA-Z])|\|")
_DRAWN_ALIKE = re.compile(r"\\(?:left|right)(?![a-zA-Z])|[{}\s]")


def subject_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Of what a designation in plain letters says what it is, left and right of the bar, in no order; () elsewhere.

    P(A \\mid B) = 1/3      A; B, which is not P(B \\mid A)
    P(A \\cap B) = 1/3      A, B, and so is P(B \\cap A)
    P(X > 2) = 1/3         nothing: conditions and words can say one thing in many ways
    """
    if "=" not in text:
        return ()
    text = text.strip(" $")
    name = _NAME.match(text)
    group = _GROUP.match(text, name.end()) if name is not None else None
    if group is None:
        return ()
    inside = text[group.end() : _closing(text, group.end() - 1) - 1]
    if not _LETTERS_ONLY.fullmatch(inside):
        return ()
    return tuple(tuple(sorted(_DRAWN_ALIKE.sub("", side))) for side in _BAR.split(inside))


def _end_of_head(text: str) -> int:
    """Where a designation ends; 0 where none begins."""
    bars = _BARS.match(text)
    if bars is not None:
        return bars.end()
    name = _NAME.match(text)
    if name is None:
        return 0
    group = _GROUP.match(text, name.end())
    if group is not None:
        return _closing(text, group.end() - 1)
    named = _OBJECT.match(text, name.end())
    return named.end() if named is not None else 0


def _closing(text: str, opening: int) -> int:
    """Behind the bracket that closes the one at `opening`; 0 where none does nearby."""
    depth = 0
    for at in range(opening, min(len(text), MAX_HEAD)):
        if text[at] in _PAIRS:
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return 0
