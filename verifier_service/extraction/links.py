"""What stands between two boxes, and the name that stands before one."""

import re
from typing import Literal

from verifier_service.extraction.vocabulary import AND, CONCLUSION, FILLER, OR, UNSPACED, WITHDRAWAL

# "beside": nothing between but spaces, marks, "or", "and", or the same name again: alternatives, unless the
# gold has as many parts.  "linked": another name or a few words of one sentence.  "apart": a new sentence,
# words of correction, a conclusion.
Link = Literal["beside", "linked", "apart"]

_EMPTY = AND | OR | FILLER
_MOST_WORDS = 6
_LABEL_WINDOW = 80

_BETWEEN = re.compile(
    r"(?P<markup>\x1b\[[\d;]*m|</?[A-Za-z][^<>\n]{0,40}>|&[a-z]{2,6};|\^\s?\{?\\circ(?![A-Za-z])"
    r"|\\(?:begin|end|[hv]space\*?)\s?\{[^{}\n]{1,20}\}"
    r"|\\(?:text[a-z]*|mbox|mathrm|mathbf|left|right|[bB]igg?[lr]?|q?quad|displaystyle|hfill|mid|vert"
    r"|(?:small|med|big)skip|noindent|boxed|fbox|item|hline|newline|par|cr)(?![A-Za-z]))"
    r"|(?P<conclusion>\\(?:implies|iff|to|(?:[lL]ong)?[rR]ightarrow|therefore)(?![A-Za-z])|[=-]>|[→⇒⟹∴])"
    r"|(?P<stop>[.!?](?!\w)|[。！？]|\n\s*\n)"
    rf"|(?P<word>{'|'.join(UNSPACED)}|[\u3040-\u9fff\uac00-\ud7a3]|[^\W\d_\u3040-\u9fff\uac00-\ud7a3]+(?:'\w+)?"
    r"|\\[A-Za-z]+|[=&])"
)


def link_between(gap: str, label: str, previous_label: str) -> Link:
    """How a box hangs together with the one before it.

    gap: the text between them, without the name of the second.  label, previous_label: their names.
    """
    new_sentence = False
    words: list[str] = []
    content_words = 0
    for match in _BETWEEN.finditer(gap):
        word = match[0].lower()
        if match.lastgroup == "conclusion" or word in WITHDRAWAL:
            return "apart"
        new_sentence = new_sentence or match.lastgroup == "stop"
        if match.lastgroup == "word":
            words.append(word)
            content_words += word not in _EMPTY
            if content_words > _MOST_WORDS:
                return "apart"
    telling = _telling(words)
    if not telling:
        return "beside" if not label or label == previous_label else "linked"
    if new_sentence or len(telling) > _MOST_WORDS or not CONCLUSION.isdisjoint(words):
        return "apart"
    return "linked"


def _telling(words: list[str]) -> list[str]:
    """The words that neither join nor, beside an "or", merely fill; "3 cm or 4 cm" may repeat a unit."""
    if OR.isdisjoint(words):
        return [word for word in words if word not in AND]
    telling = [word for word in words if word not in _EMPTY]
    return [] if telling == words[:1] else telling


_GREEK = (
    "alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|(?:var)?theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau"
    "|upsilon|(?:var)?phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega|ell"
)
_ATOM = (
    r"(?:\\(?:vec|hat|bar|tilde|dot|overline|mathbf|mathrm|mathcal|mathbb|boldsymbol)\s*\{[A-Za-z]{1,3}\}"
    rf"|(?:\\(?:angle|triangle)\s*|[∠△])?[A-Z]{{1,4}}|[a-zα-ωΑ-Ω]|\\(?:{_GREEK})(?![A-Za-z]))"
)
_NAME = (
    rf"{_ATOM}(?:\s?_\s?(?:\{{[^{{}}]{{1,12}}\}}|[A-Za-z0-9]+))?(?:'{{1,3}}|\^\{{?\\(?:prime|ast|circ)\}}?)?"
    r"(?:\s?\([^()=$]{1,24}\))?"
)
_TUPLE = rf"\(\s?{_NAME}(?:\s?,\s?{_NAME}){{1,5}}\s?\)"
_LABEL = re.compile(
    rf"(?<![A-Za-z\d_'])(?P<name>{_NAME}|{_TUPLE})(?:[\s$*]|\\\))*"
    r"&?\s*(?P<verb>:?=|\\approx(?![A-Za-z])|≈|(?<=[\s$)])(?:is|equals)(?=[\s$])|[:：]|是|为|為|等于)\s*&?"
    r"(?:[\s${*]|\\[(\[,;:!\s]|\\(?:displaystyle|left|quad|textbf|mathbf)(?![A-Za-z]))*\Z"
)
_ASSIGNMENT = frozenset({"=", ":=", r"\approx", "≈"})

# Before a name: it is the last letter of an expression, as y in "x + y =", "2 y =", "\sin y =".
_EXPRESSION = re.compile(
    r"(?:[-+−±/^=<>≤≥≠·×÷|_!)\d]|(?<!\*)\*"
    r"|\\(?!q?quad|item|left|displaystyle|hline)[A-Za-z]+|(?<![A-Za-z])[b-zB-HJ-Z]|(?P<group>\}))\s*\Z"
)
_BULLET = re.compile(r"(?:\A|\n)\s*(?:[-+*•]|\(?\w{1,3}[.)])\s+\Z")
_TEXT_GROUP = re.compile(r"\\(?:text[a-z]*|mbox|mathrm|begin)\s*\{[^{}]*\}\s*\Z")


def label_before(text: str, floor: int, start: int) -> tuple[str, int]:
    """The name given to the box at `start`, as x in "$x = \\boxed{5}$", and where the name begins.

    Nothing before `floor` belongs to it. ("", start) where there is none.
    """
    window = text[max(floor, start - _LABEL_WINDOW) : start]
    match = _LABEL.search(window)
    if match is None or _names_nothing(match["name"], match["verb"]):
        return "", start
    before = window[: match.start()]
    if _ends_in_expression(before):
        return "", start
    return match["name"].strip(), start - len(window) + match.start()


def _names_nothing(name: str, verb: str) -> bool:
    """ "a is" and "A: " are words of a sentence, not names of a quantity."""
    return verb not in _ASSIGNMENT and (name == "a" or (len(name) == 1 and name.isupper()))


def _ends_in_expression(before: str) -> bool:
    match = _EXPRESSION.search(before)
    if match is None or _BULLET.search(before):
        return False
    if match["group"]:
        return _TEXT_GROUP.search(before) is None
    return not before.endswith((r"\)", ") "))
