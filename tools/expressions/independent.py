"""A second opinion on simple answers: TeX read and evaluated without any code of the judge.

It reads little on purpose: arithmetic, roots, the common functions, letters, and flat lists, tuples, sets and
intervals of those. What it cannot read it does not judge.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath  # type: ignore[import-untyped]

DIGITS = 60
AGREEMENT = mpmath.mpf(10) ** -40
LARGEST_EXPONENT = 4_000

_TOKEN = re.compile(r"\d+\.?\d*|\.\d+|\\[a-zA-Z]+|\\.|\S", re.ASCII)
_NOTHING = re.compile(r"\\(?:left|right|displaystyle|,|!|;|:|\s|quad)(?![a-zA-Z])|\$|~")
_GROUPED = re.compile(r"(?<=\d)(?:,\\!|\{,\})(?=\d{3})")
_SPELLINGS = [
    ("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("−", "-"), ("×", "\\times "), ("·", "\\cdot "),
    ("π", "\\pi "), ("∞", "\\infty "), ("√", "\\sqrt"), ("\\lbrace", "\\{"), ("\\rbrace", "\\}"),
    ("½", "\\frac{1}{2}"), ("²", "^2"), ("³", "^3"),
]  # fmt: skip
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec,
    "csc": mpmath.csc, "ln": mpmath.log, "exp": mpmath.exp, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan,
}  # fmt: skip
_OPENING = {"(": ")", "[": "]", "{": "}"}
# Irrational-looking points of both signs; two texts that agree at all of them are taken for equal.
_POINTS = (
    (1.7321, 0.6931, 2.2361, 1.1447),
    (-1.3217, 2.6458, -0.5772, 0.9159),
    (0.4343, 1.2021, 3.3166, 0.2619),
)


class UnreadError(Exception):
    """The text holds something that this reader does not know."""


def cleaned(text: str) -> str:
    """TeX without dollars, spacing and size commands."""
    for old, new in _SPELLINGS:
        text = text.replace(old, new)
    return _NOTHING.sub(" ", _GROUPED.sub("", text)).strip().rstrip(".").strip()


class _Reader:
    """Evaluates while it reads; precedence by recursive descent."""

    def __init__(self, text: str, letters: Mapping[str, Any]) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0
        self.letters = letters

    def whole(self) -> Any:
        value = self.total()
        if self.at < len(self.tokens):
            raise UnreadError(self.peek())
        return value

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise UnreadError(f"{wanted or 'something'} is missing")
        self.at += 1
        return token

    def total(self) -> Any:
        value = self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self) -> Any:
        sign = 1
        while self.peek() in ("+", "-"):
            sign = -sign if self.take() == "-" else sign
        value = self.factor()
        while True:
            token = self.peek()
            if token in ("\\cdot", "\\times", "*"):
                self.take()
                value = value * self.signed_factor()
            elif token in ("/", "\\div"):
                self.take()
                value = value / self.signed_factor()
            elif self._starts_a_factor(token):
                if token[0].isdigit() or token[0] == ".":
                    raise UnreadError("two numbers side by side")
                value = value * self.factor()
            else:
                return sign * value

    def signed_factor(self) -> Any:
        if self.peek() == "-":
            self.take()
            return -self.factor()
        return self.factor()

    def _starts_a_factor(self, token: str) -> bool:
        return bool(token) and (
            token[0].isalnum()
            or token in ("(", "{", "[")
            or token in ("\\frac", "\\sqrt", "\\pi", "\\binom", "\\log")
            or token[1:] in _FUNCTIONS
            or token in self.letters
        )

    def factor(self) -> Any:
        value = self.power(self.atom())
        while self.peek() == "!":
            self.take()
            if value != int(mpmath.re(value)) or not 0 <= mpmath.re(value) <= 200:
                raise UnreadError("factorial")
            value = mpmath.factorial(value)
        return value

    def power(self, base: Any) -> Any:
        if self.peek() != "^":
            return base
        self.take()
        exponent = self.argument()
        if abs(exponent) > LARGEST_EXPONENT:
            raise UnreadError("a large exponent")
        return mpmath.power(base, exponent)

    def argument(self) -> Any:
        """A group, a command with its arguments, or one character: what TeX takes."""
        token = self.peek()
        if token[:1].isdigit() and len(token) > 1:
            self.tokens[self.at : self.at + 1] = list(token)
        return self.atom()

    def atom(self) -> Any:
        token = self.take()
        if token[0].isdigit() or token[0] == ".":
            return self.number(token)
        if token in _OPENING:
            value = self.total()
            self.take(_OPENING[token])
            return value
        if token == "\\frac":
            top = self.argument()
            return top / self.argument()
        if token == "\\binom":
            top = self.argument()
            return mpmath.binomial(top, self.argument())
        if token == "\\sqrt":
            return self.root()
        if token == "\\pi":
            return mpmath.pi
        if token == "\\log":
            self.take("_")
            base = self.argument()
            return mpmath.log(self.applied()) / mpmath.log(base)
        if token[:1] == "\\" and token[1:] in _FUNCTIONS:
            return self.function(_FUNCTIONS[token[1:]])
        if token == "e":
            return mpmath.e
        if token == "i":
            return mpmath.mpc(0, 1)
        if token in self.letters:
            return self.letters[token]
        raise UnreadError(token)

    def number(self, token: str) -> Any:
        value = mpmath.mpf(token)
        if self.peek() == "\\frac" and token.isdigit() and self._is_numeric_fraction():
            return value + self.atom()
        return value

    def _is_numeric_fraction(self) -> bool:
        rest = "".join(self.tokens[self.at : self.at + 7])
        return re.match(r"\\frac(?:\{\d+\}\{\d+\}|\d\d(?!\d))", rest) is not None

    def root(self) -> Any:
        index: Any = mpmath.mpf(2)
        if self.peek() == "[":
            self.take()
            index = self.total()
            self.take("]")
        inside = self.argument()
        if mpmath.im(inside) == 0 and mpmath.re(inside) < 0 and index % 2 == 1:
            return -mpmath.power(-inside, 1 / index)
        return mpmath.power(inside, 1 / index)

    def function(self, call: Callable[[Any], Any]) -> Any:
        power = mpmath.mpf(1)
        if self.peek() == "^":
            self.take()
            power = self.argument()
            if power == -1:
                raise UnreadError("an inverse function")
        return mpmath.power(call(self.applied()), power)

    def applied(self) -> Any:
        """What a function stands before: a bracket, or a product up to the next sign or function."""
        if self.peek() in ("(", "["):
            return self.atom()
        value = self.factor()
        while self._starts_a_factor(self.peek()) and self.peek()[1:] not in (*_FUNCTIONS, "log"):
            if self.peek() in ("(", "["):
                break
            value = value * self.factor()
        return value


def letters_of(text: str) -> list[str]:
    """The variables of a text, in order: letters and Greek, but not e, i and the names of commands."""
    found = re.findall(
        r"\\(?:theta|alpha|beta|lambda|mu|phi)(?![a-zA-Z])|(?<![\\a-zA-Z])[a-zA-Z](?![a-zA-Z])", text
    )
    runs = re.findall(r"(?<![\\a-zA-Z])[a-zA-Z]{2,3}(?![a-zA-Z])", text)
    return sorted((set(found) | set("".join(runs))) - {"e", "i"})


def evaluated(text: str, letters: Mapping[str, Any]) -> Any:
    """The value of a text at a point; None where it cannot be read or is undefined there."""
    try:
        with mpmath.workdps(DIGITS):
            value = mpmath.mpmathify(_Reader(text, letters).whole())
            return value if mpmath.isfinite(value) else None
    except (UnreadError, ZeroDivisionError, ValueError, OverflowError, RecursionError, TypeError):
        return None


def _close(a: Any, b: Any) -> bool:
    with mpmath.workdps(DIGITS):
        return bool(abs(a - b) <= AGREEMENT * max(abs(a), abs(b)))


def same_scalar(one: str, other: str) -> bool | None:
    """Are two expressions equal wherever they are looked at? None: cannot tell."""
    names = sorted(set(letters_of(one)) | set(letters_of(other)))
    seen = 0
    for point in _POINTS:
        letters = {name: mpmath.mpf(point[at % 4]) + at // 4 for at, name in enumerate(names)}
        a, b = evaluated(one, letters), evaluated(other, letters)
        if a is None or b is None:
            continue
        if not _close(a, b):
            return False
        seen += 1
        if not names:
            return True
    return True if seen == len(_POINTS) else None


def split_top(text: str, separators: str = ",;") -> list[str]:
    """The parts of a list, split outside all brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char in separators and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _shape(text: str) -> tuple[str, list[str]]:
    """The outer brackets of a text and the members inside; no brackets for a bare list."""
    if text.startswith("\\{") and text.endswith("\\}"):
        return "{}", split_top(text[2:-2])
    if len(split_top(text)) == 1 and text[:1] in ("(", "[") and text[-1:] in (")", "]"):
        inside = split_top(text[1:-1])
        if len(inside) > 1:
            return text[0] + text[-1], inside
    return "", split_top(text)


def same_value(one: str, other: str) -> bool | None:
    """Do two answers name the same value? None where this reader cannot tell."""
    one, other = cleaned(one), cleaned(other)
    if one == other:
        return True
    brackets, members = _shape(one)
    others_brackets, others = _shape(other)
    if brackets != others_brackets or not (members and others):
        return None
    if len(members) == len(others) == 1 and not brackets:
        return same_scalar(one, other)
    if any(evaluated_anywhere(member) is None for member in (*members, *others)):
        return None
    if len(members) != len(others):
        return False if len({*members}) == len(members) and len({*others}) == len(others) else None
    if brackets in ("{}", ""):
        return _same_unordered(members, others)
    verdicts = [same_value(a, b) for a, b in zip(members, others, strict=True)]
    return False if False in verdicts else (None if None in verdicts else True)


def evaluated_anywhere(text: str) -> Any:
    """The value of a text, or of the values inside its brackets; None where any cannot be read."""
    brackets, members = _shape(text)
    if not brackets and len(members) == 1:
        names = letters_of(text)
        return evaluated(
            text, {name: mpmath.mpf(_POINTS[0][at % 4]) + at // 4 for at, name in enumerate(names)}
        )
    values = [evaluated_anywhere(member) for member in members]
    return None if any(value is None for value in values) else values[0]


def _same_unordered(members: Sequence[str], others: Sequence[str]) -> bool | None:
    """Every member of each side has its equal on the other."""
    doubtful = False
    for ours, theirs in ((members, others), (others, members)):
        for member in ours:
            verdicts = [same_value(member, candidate) for candidate in theirs]
            if True in verdicts:
                continue
            if None not in verdicts:
                return False
            doubtful = True
    return None if doubtful else True
