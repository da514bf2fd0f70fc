"""Text for sympy: bounds that are checked before any library sees it, and the reading by latex2sympy2.

latex2sympy2 turns what it misreads into products of letters (STOP = POTS) and sums of digits, and sympy
multiplies out what it is given, so that much is refused here.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_CHARS = 1200
MAX_DEPTH = 40
MAX_NUMBER_DIGITS = 100
MAX_DIGITS = 600
MAX_EXPONENT = 1000
MAX_FACTORIAL = 500
MAX_BOUND_DIGITS = 4  # of numbers in binomials, sums and products, which sympy multiplies out

_COMMAND = re.compile(r"\\[A-Za-z]+")
_LETTER = re.compile(r"[A-Za-z]")
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NUMBER = re.compile(r"\d+")
_SPACING = re.compile(r"\\(?:left|right|big|Big|bigg|Bigg|displaystyle|limits)(?![A-Za-z])|\\[!,;:> ]|~")
_SIDE_BY_SIDE = re.compile(r"\d\s+\d")
_POWER = re.compile(r"\^\s*(?:\{|\(|\d|\\)|\*\*")
_POWER_OF_POWER = re.compile(r"[\d})\]]\s*\^")
_FACTORIAL = re.compile(r"!")
_SIMPLE_FACTORIAL = re.compile(
    r"(?:(?<!\d)\d{1,3}|(?<![A-Za-z])[A-Za-z]|\([A-Za-z][-+ \dA-Za-z]{0,10}\))\s*$"
)
_LARGE = re.compile(rf"\d{{{MAX_BOUND_DIGITS + 1},}}")
_MULTIPLIED_OUT = re.compile(r"\\(?:[dt]?binom|sum|prod|Gamma|choose|int|lim)(?![A-Za-z])")
_DROPPED = re.compile(r"\^\s*\{?\s*(?:T|\\top|\\intercal|\\dagger|\\ast|\*)(?![A-Za-z])|'")
_TEXT = re.compile(
    r"\\(?:text|mathrm|mbox|operatorname|mathbb|mathcal|textbf|mathbf|vec|overline|hat)(?![A-Za-z])"
)
_ENVIRONMENT = re.compile(r"\\(?:begin|end)\s*\{[a-z]+\*?\}(?:\{[lcr| ]*\})?")
_FORBIDDEN = re.compile(
    r"[\"`;@#?]|__|\\(?:input|include|write|def|href|url|quad|qquad|phantom|color)(?![A-Za-z])"
)
_SHORT_WORDS = frozenset(
    "mod gcd lcm max min sin cos tan cot sec csc log exp det and for all not yes odd has the are lim ln or if "
    "no to of is in be by".split(" ")
)
_DECIMAL = re.compile(r"(?<![\d.])(\d*)\.(\d+)(?![\d.])")


def _refusal(text: str) -> str:
    """Why a text is not given to sympy, "" if it is."""
    if not text.strip():
        return "empty"
    if len(text) > MAX_CHARS:
        return f"longer than {MAX_CHARS} characters"
    if _depth(text) > MAX_DEPTH:
        return f"nested deeper than {MAX_DEPTH}"
    digits = [len(number) for number in _NUMBER.findall(text)]
    if sum(digits) > MAX_DIGITS or max(digits, default=0) > MAX_NUMBER_DIGITS:
        return "too many digits"
    if _FORBIDDEN.search(text) or not text.isprintable():
        return "signs that are no formula"
    if _SIDE_BY_SIDE.search(text):
        return "two numbers side by side"
    if _DROPPED.search(text) or _TEXT.search(text) or _has_word(text):
        return "words or marks that sympy would misread"
    return _growth(text)


def _has_word(text: str) -> bool:
    """Letters that latex2sympy would take for a product: a word, or several capitals."""
    runs = _LETTERS.findall(_COMMAND.sub(" ", _ENVIRONMENT.sub(" ", text)))
    return any(len(run) > 3 or run in _SHORT_WORDS or run.isupper() or not run.isascii() for run in runs)


def _growth(text: str) -> str:
    """Why a short text could become a huge number: towers of powers, large factorials, large products."""
    for power in _POWER.finditer(text):
        exponent = _group(text, power.end() - 1)
        if _POWER_OF_POWER.search(exponent) or "!" in exponent:
            return "a tower of powers"
        if any(len(number) > 4 or int(number) > MAX_EXPONENT for number in _NUMBER.findall(exponent)):
            return f"an exponent above {MAX_EXPONENT}"
    for mark in _FACTORIAL.finditer(text):
        before = _SIMPLE_FACTORIAL.search(text, max(0, mark.start() - 16), mark.start())
        if before is None or any(int(number) > MAX_FACTORIAL for number in _NUMBER.findall(before[0])):
            return "a large factorial"
    if _MULTIPLIED_OUT.search(text) and _LARGE.search(text):
        return "a large sum, product or binomial"
    return ""


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "{([":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "})]":
            depth -= 1
    return deepest


def _group(text: str, place: int) -> str:
    """The exponent that begins at a place: a bracketed group, or everything up to the next sign of a sum."""
    if text[place] not in "{(":
        tail = re.match(r"[\d\\A-Za-z{}()^!]*", text[place:])
        return tail[0] if tail is not None else ""
    depth = 0
    for end in range(place, len(text)):
        depth += (text[end] in "{(") - (text[end] in "})")
        if depth == 0:
            return text[place + 1 : end]
    return text[place:]


# Reading


@dataclass(frozen=True, slots=True)
class ReadTex:
    value: Any
    fault: str


@lru_cache(maxsize=256)
def read_tex(tex: str) -> ReadTex:
    text = _SPACING.sub(" ", tex.replace("{,}", "").replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac"))
    text = text.strip()
    fault = _refusal(text)
    if fault:
        return ReadTex(None, fault)
    return _parse(
        _SHORT_FRACTION.sub(_braced, _SHORT_ROOT.sub(r"\\sqrt{\1}", _DECIMAL.sub(_as_fraction, text)))
    )


_SHORT_ROOT = re.compile(r"\\sqrt\s*([0-9A-Za-z])")
_SHORT_FRACTION = re.compile(r"\\frac\s*(?:(\d)|\{([^{}]*)\})\s*(?:(\d)|\{([^{}]*)\})")


def _braced(match: re.Match[str]) -> str:
    """\\frac12 and \\frac1{x} with the braces that latex2sympy2 wants."""
    return f"\\frac{{{match[1] or match[2]}}}{{{match[3] or match[4]}}}"


def _as_fraction(match: re.Match[str]) -> str:
    """A decimal as an exact fraction: sympy would round it to a float."""
    return f"(\\frac{{{int(match[1] + match[2])}}}{{{10 ** len(match[2])}}})"


def _parse(text: str) -> ReadTex:
    from latex2sympy2_extended import latex2sympy
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig

    config = ConversionConfig(lowercase_symbols=False)
    try:
        value = latex2sympy(text, normalization_config=None, conversion_config=config)
    except MemoryError:
        raise
    except Exception as fault:  # noqa: BLE001  its grammar raises bare Exception, and its actions whatever they meet
        return ReadTex(None, f"latex2sympy2 cannot read it ({type(fault).__name__})")
    return ReadTex(value, "") if value is not None else ReadTex(None, "latex2sympy2 made nothing of it")
