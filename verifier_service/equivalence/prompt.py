"""What the prompt tells about its answer. Each fact is worked out on first use and once per prompt."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from string import ascii_letters

from .decision import Context
from .lexer import Refused, tokenize
from .measures import measured, without_markup
from .nodes import Node, Percent, Quantity, Trait
from .reading import comparable, read
from .text import clean, has_unicode_digits
from .units import Unit, asks_percent, parse_unit, units_in_prompt

MAX_PROMPT_CHARS = 20_000
MAX_FORMULAS = 400

_MATH = re.compile(
    r"\$\$(.+?)\$\$|\$([^$]{1,2000})\$|\\\(((?:(?!\\\().){1,2000}?)\\\)|\\\[((?:(?!\\\[).){1,2000}?)\\\]",
    re.DOTALL,
)
_PLAIN_FORMULA = re.compile(
    r"(?<![A-Za-z0-9])[A-Za-z0-9_.|(\[{\\+\-√][^\s,;:?!]{0,60}(?:\s{0,9}[-+*/=<>^≤≥×·÷∙]\s*[^\s,;:?!]+)+"
    r"|(?<![\d.,])\d[\d.,]*\s{0,9}[A-Za-z°%]+[²³\d^]*"
    r"|√\s*[^\s,;:?!]+|\b(?:sqrt|log|ln|exp|sin|cos|tan)\s*\([^\s,;:?!]*|(?<!\d)\d{1,9}!"
)
_SOLVE_FOR = re.compile(
    r"(?:solve|solved|solving)\b[^.?!]{0,200}?\bfor\s+\$?\\?([A-Za-z](?:_\w|_\{\w+\})?)\b"
    r"|(?:in terms of|as a function of)\b",
    re.IGNORECASE,
)
_SOLVE_SIMPLE = re.compile(r"\bfor\s+\$?\\?([A-Za-z](?:_\w|_\{\w+\})?)\$?(?![\w'])")
_EXPRESS = re.compile(
    r"(?:express|write|find|give|solve for|rewrite|determine)\s+\$?([A-Za-z])\$?\s+"
    r"(?:in terms of|as a function of|explicitly)",
    re.IGNORECASE,
)
_BASE = re.compile(r"\b(?:in\s+)?base[\s-]+\$?(\d{1,2}|[a-z]+)|\b(binary|octal|hexadecimal)\b", re.IGNORECASE)
_BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16, "binary": 2, "octal": 8, "hexadecimal": 16,
}  # fmt: skip
_ORDERED = re.compile(
    r"\b(?:respectively|in (?:the |that |this |increasing |decreasing |ascending |descending )?order|"
    r"ordered (?:pair|triple|quadruple|tuple|list|n-tuple)|from (?:least|smallest|greatest|largest) to)\b",
    re.IGNORECASE,
)
_ROUNDING = re.compile(
    r"\b(?:nearest|decimal places?|significant (?:figures?|digits?)|round(?:ed|ing)?|approximat\w*|"
    r"to \w+ decimals?|d\.p\.|s\.f\.)|保留|四舍五入|精确到|小数",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    r"\b(?:positive|non-?negative|greater than (?:zero|0))\b|>\s*0\b|\\geq?\s*0\b|≥\s*0\b", re.IGNORECASE
)
_ANTIDERIVATIVE = re.compile(
    r"anti-?derivative|indefinite integral|\bprimitive\b|integrate|\\int(?!_)|∫|不定积分|原函数",
    re.IGNORECASE,
)
_DEFINITE = re.compile(r"definite integral|\\int_|\\int\\limits_|定积分", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z\\])([A-Za-z])(?![A-Za-z])")
_ANGLE = re.compile(
    r"angle|degree|\\circ|°|rotat|bearing|measure|\barc|latitude|inclin|argument", re.IGNORECASE
)
_HOW_MANY = re.compile(r"\bhow many\s+(?:more\s+|other\s+)?([a-z]+)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
_MARKED_UP = re.compile(r"[\\&_]")
_LETTERS = frozenset(ascii_letters) - {"x"}
# Brackets, the product sign, which they may stand for, and the signs of division, which may be spelled otherwise.
_SPELLING = frozenset("()[]{}*/") | {"frac", "over", "div"}
_COMMAND = re.compile(r"\\[A-Za-z]+")


_MARKED = Trait.STRUCTURE | Trait.UNIT | Trait.PERCENT | Trait.DEGREE | Trait.PLUS_MINUS


class _Digits:
    """The digits that a text writes, for a cheap look at whether a formula can stand in it."""

    def __init__(self, text: str) -> None:
        self.unknown = has_unicode_digits(text)
        self.written = "".join(_DIGITS.findall(text))  # separators of thousands fall out

    def may_hold(self, numbers: list[str]) -> bool:
        return self.unknown or all(number in self.written for number in numbers)


def _digits_of(tokens: tuple[str, ...]) -> list[str]:
    """The runs of digits in a formula's numbers, without leading zeros and bases, which a word may name."""
    numbers = [token.partition("_")[0] for token in tokens if token[0].isdigit()]
    return [run.lstrip("0") for number in numbers for run in _DIGITS.findall(number)]


class _Formula:
    """A formula of the prompt. It is tokenized on first use: most are never asked for."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digits = _Digits(text)
        # Letters that the tokens are sure to hold: all but those of markup, named bases and 2 x 10^3.
        self.letters = frozenset() if _MARKED_UP.search(text) else _LETTERS.intersection(text)

    @cached_property
    def tokens(self) -> tuple[str, ...] | None:
        try:
            return comparable(tokenize(clean(self.text)).items)
        except Refused:
            return None


class Facts:
    """Facts of one prompt and its data row. Everything is False, empty or None where nothing is known."""

    def __init__(self, context: Context) -> None:
        self.prompt = context.prompt[:MAX_PROMPT_CHARS]
        self.choices = context.choices
        self.row = without_markup(context.unit).strip(" $") if context.unit else ""
        self.row_percent = self.row in ("%", "\\%", "percent")
        self.row_unit = parse_unit(self.row) if self.row and not self.row_percent else None

    @cached_property
    def asks_percent(self) -> bool:
        return self.row_percent or asks_percent(self.prompt)

    def in_row_unit(self, value: Node) -> Node:
        """A plain gold in the unit of its data row; one that carries a mark of its own stays as it is."""
        if not self.row or value.traits & _MARKED:
            return value
        if self.row_percent:
            return Percent(value)
        if self.row_unit is not None:
            return measured(value, self.row_unit)
        return Quantity(value, None, self.row.lower())

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Units that the answer is asked in; the data row's own first."""
        row = (self.row_unit,) if self.row_unit is not None else ()
        return row + (units_in_prompt(self.prompt) if self.prompt else ())

    @cached_property
    def asks_angle(self) -> bool:
        return bool(_ANGLE.search(self.prompt))

    @cached_property
    def counts(self) -> bool:
        """Are things counted ("how many marbles"), so that no measure or price can be the answer?"""
        counted = _HOW_MANY.search(self.prompt)
        return counted is not None and parse_unit(counted[1]) is None

    @cached_property
    def solve_for(self) -> frozenset[str]:
        """Letters that the prompt asks for: "solve P = 2a + 3b for b", "express y in terms of x"."""
        found = {match[1] for match in _EXPRESS.finditer(self.prompt)}
        if "solve" in self.prompt.lower() or "解" in self.prompt or "isolat" in self.prompt.lower():
            found |= {match[1] for match in _SOLVE_SIMPLE.finditer(self.prompt)}
        return frozenset(found)

    @cached_property
    def base(self) -> int | None:
        found = None
        for match in _BASE.finditer(self.prompt):
            label = (match[1] or match[2]).lower()
            base = int(label) if label.isdigit() else _BASE_WORDS.get(label)
            found = base if base is not None and 2 <= base <= 36 else found
        return found

    @cached_property
    def ordered(self) -> bool:
        return bool(_ORDERED.search(self.prompt))

    @cached_property
    def asks_rounding(self) -> bool:
        return bool(_ROUNDING.search(self.prompt))

    @cached_property
    def positive(self) -> bool:
        return bool(_POSITIVE.search(self.prompt))

    @cached_property
    def asks_antiderivative(self) -> bool:
        return bool(_ANTIDERIVATIVE.search(self.prompt)) and not _DEFINITE.search(self.prompt)

    @cached_property
    def letters(self) -> frozenset[str]:
        """Single letters of the prompt's formulas and of its plain text, articles apart."""
        formulas = " ".join(self._mathematics)
        found = set(_LETTER.findall(_COMMAND.sub(" ", formulas)))
        found |= {match for match in _LETTER.findall(self.prompt) if match not in ("a", "A", "I", "s", "t")}
        for run in re.findall(r"(?<![A-Za-z\\])[a-z]{2,4}(?![A-Za-z])", _COMMAND.sub(" ", formulas)):
            found.update(run)
        return frozenset(found)

    @cached_property
    def _numbers(self) -> _Digits:
        return _Digits(self.prompt)

    def may_hold(self, tokens: tuple[str, ...]) -> bool:
        """Could a formula of these tokens stand in the prompt? False only where one of its numbers does not.

        Cheap: most right answers are no echo, and this says so before any formula is looked for.
        """
        return self._numbers.may_hold(_digits_of(tokens))

    @cached_property
    def _mathematics(self) -> tuple[str, ...]:
        return tuple(
            next(part for part in match.groups() if part is not None) for match in _MATH.finditer(self.prompt)
        )

    def has_formula(self, tokens: tuple[str, ...]) -> bool:
        """Do these very tokens stand in the prompt as a formula, in math mode or in plain text?"""
        return any(found == tokens for found, _ in self._formulas_with(tokens))

    def has_formula_like(self, tokens: tuple[str, ...], tree: Node) -> bool:
        """Does the tree stand in the prompt in another spelling? Only formulas of the same other tokens are read."""
        bare = _without_spelling(tokens)
        alike = (text for found, text in self._formulas_with(tokens) if _without_spelling(found) == bare)
        trees = (read(text).tree for text in alike)
        return any(found is not None and found.key == tree.key for found in trees)

    def _formulas_with(self, tokens: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
        """Tokens and text of the formulas that hold all numbers of `tokens` and no other letter: the rest is unread."""
        digits, letters = _digits_of(tokens), set("".join(tokens))
        for formula in self._formulas:
            if formula.letters <= letters and formula.digits.may_hold(digits) and formula.tokens is not None:
                yield formula.tokens, formula.text

    @cached_property
    def _formulas(self) -> tuple[_Formula, ...]:
        texts: list[str] = list(self._mathematics)
        plain = _MATH.sub(" ; ", self.prompt)
        texts += [match.group() for match in _PLAIN_FORMULA.finditer(plain)]
        if not self._mathematics:
            texts.append(plain)
        return tuple(_Formula(piece) for text in texts[:MAX_FORMULAS] for piece in _pieces(text))


def _without_spelling(tokens: tuple[str, ...]) -> str:
    return "".join(token for token in tokens if token not in _SPELLING)


def _pieces(text: str) -> list[str]:
    """A formula, and its parts between commas, semicolons and relation signs at the top level."""
    pieces = [text]
    for separator in (",", ";", "\\quad", "\\qquad", "\\\\"):
        if separator in text:
            pieces += text.split(separator)
    for piece in list(pieces):
        if "=" in piece:
            pieces += piece.split("=")
    return pieces[:64]


@lru_cache(maxsize=512)
def facts_of(context: Context) -> Facts:
    """The facts of a prompt; remembered, since the answers of one group share it."""
    return Facts(context)
