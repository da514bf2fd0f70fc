"""Text -> Reading: the tokens for text equality, the tree where it is mathematics, the words where it is not."""

import re
from functools import lru_cache
from typing import NamedTuple

from .kinds.words import canonical_text
from .lexer import Refused, Token, tokenize
from .literals import number, signed
from .measures import without_markup
from .nodes import Node
from .parser import Parser
from .text import clean

MAX_CACHED_CHARS = 1_000


class Reading(NamedTuple):
    """One reading of one text.

    text: clean.  tokens: its token values, braces around single tokens dropped: equal tokens are equal text.
    tree: None where it is no mathematics; refusal then says why.  words: canonical words where the text holds
    letters only, or where it is no mathematics; "" otherwise.  grouped: "1,000" was read as one number.
    """

    text: str
    tokens: tuple[str, ...]
    tree: Node | None
    refusal: str
    words: str
    grouped: bool

    @property
    def is_blank(self) -> bool:
        return not self.tokens


def read(text: str, *, group_commas: bool = True) -> Reading:
    """Read an answer or a gold. Never raises."""
    if len(text) <= MAX_CACHED_CHARS:
        return _cached(text, group_commas)
    return _read(text, group_commas)


def _read(text: str, group_commas: bool) -> Reading:
    text = clean(text)
    if (plain := _plain_decimal(text)) is not None:
        return plain
    try:
        tokens, grouped = tokenize(text, group_commas=group_commas)
    except Refused as refusal:
        return Reading(text, (text,), None, str(refusal), words_of(text), False)
    values = comparable(tokens)
    spelled = _spelled_out(tokens, text)
    if not tokens:
        return Reading(text, (), None, "blank", "", False)
    try:
        tree = Parser(text, list(tokens)).parse()
    except Refused as refusal:
        return Reading(text, values, None, str(refusal), spelled or words_of(text), grouped)
    return Reading(text, values, tree, "", spelled, grouped)


_cached = lru_cache(maxsize=8192)(_read)

_DECIMAL = re.compile(r"([-+]?)([0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_MAX_DECIMAL_CHARS = 40


def _plain_decimal(text: str) -> Reading | None:
    """The commonest text of all, a bare number, needs no lexer and no parser to be read as they would."""
    bare = _DECIMAL.fullmatch(text) if len(text) <= _MAX_DECIMAL_CHARS else None
    if bare is None:
        return None
    sign, digits = bare.groups()
    tree: Node = number(Token("n", digits, 0, len(digits)))
    value = _plain_number(digits)
    values = (sign, value) if sign else (value,)
    return Reading(text, values, signed(tree) if sign == "-" else tree, "", "", False)


def words_of(text: str) -> str:
    return canonical_text(without_markup(text[:2_000]).replace("\\\\", " "))


_SPACES = ("\\,", "\\;", "\\:", "\\!", "\\ ", "~", "\\\\", "\\quad", "\\left", "\\right")
_WRAPPED_WORDS = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf)|mbox|operatorname)\s*\{([^{}]*)\}"
)


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """Clean text without the markup of words: what options, dates and phrases are read from."""
    if "\\" not in text and "~" not in text:
        return " ".join(text.split())
    for space in _SPACES:
        text = text.replace(space, " ")
    return " ".join(_WRAPPED_WORDS.sub(r"\1", text).split())


def _spelled_out(tokens: list[Token], text: str) -> str:
    """The words of a text that holds letters only; "" where it holds any mathematics."""
    long_word = False
    for token in tokens:
        if token.kind == "t" or (token.kind == "w" and len(token.value) > 1):
            long_word = True
        elif token.kind not in "wt" and token.value not in _WORD_MARKS:
            return ""
    if not long_word and not (len(tokens) == 1 and tokens[0].kind in "wt"):
        return ""
    return words_of(text)


_WORD_MARKS = frozenset(
    {"-", ",", ".", "'", "?", "!", '"', ";", "(", ")", "{", "}", ":", "/", "&", "setminus"}
)


def comparable(tokens: list[Token]) -> tuple[str, ...]:
    values: list[str] = []
    last = len(tokens) - 1
    for at, token in enumerate(tokens):
        value = token.value
        if value == "{" and at + 2 <= last and tokens[at + 2].value == "}":
            continue
        if value == "}" and at >= 2 and tokens[at - 2].value == "{":
            continue
        if token.kind == "n":
            if len(value) == 2 and at and tokens[at - 1].value == "frac" and value.isdigit():
                values.extend(value)  # \frac12 is \frac{1}{2}
                continue
            if not (value[0] == "0" and "/" in (tokens[at - 1].value, tokens[min(at + 1, last)].value)):
                value = _plain_number(value)
        elif value in _PRODUCT_SIGNS:
            value = "*"
        elif token.kind in "wt" and len(value) > 1:
            values.extend(value)
            continue
        values.append(value)
    return tuple(values)


_PRODUCT_SIGNS = frozenset({"cdot", "times"})


def comparable_text(text: str) -> tuple[str, ...]:
    """Token values of a text for comparison as text; empty where it cannot be tokenized."""
    try:
        return comparable(tokenize(clean(text)).items)
    except Refused:
        return ()


def _plain_number(digits: str) -> str:
    """Leading zeros and a bare point are no part of the number as text; trailing decimals are."""
    if digits[0] == ".":
        digits = "0" + digits
    stripped = digits.lstrip("0")
    return stripped.rstrip(".") if stripped[:1].isdigit() else "0" + stripped.rstrip(".")
