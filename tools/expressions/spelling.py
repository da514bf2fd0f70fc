"""Rewrites of an answer's text that keep its value: spelling, spacing, order, and plain arithmetic.

Each rewrite takes a text and a random source and returns the new text, or None where it does not apply.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from random import Random

from .independent import same_value, split_top

Rewrite = Callable[[str, Random], str | None]

_WORDS = re.compile(
    r"\\(?:text\w*|mathrm|mathbf|mbox|operatorname|begin|end)\b|(?<![\\a-zA-Z])(?:[a-zA-Z]{3,}|[A-Z][a-z])"
)
_INTEGER = re.compile(r"-?\d+", re.ASCII)
_NUMERIC_FRACTION = re.compile(r"(-?)\\[dt]?frac\{?(\d+)\}?\{?(\d+)\}?", re.ASCII)
_SIMPLE_FRACTION = re.compile(r"\\[dt]?frac\{(-?\d+|[a-z])\}\{(\d+|[a-z])\}", re.ASCII)
_LOOSE_SIGN = re.compile(r"(?<=[\w})\]]) ?([+=]|(?<!\{)-) ?(?=[\w\\(])", re.ASCII)


def is_formula(text: str) -> bool:
    """No words and no environments: nothing but mathematics."""
    return bool(text.strip()) and not _WORDS.search(text) and "&" not in text and "\n" not in text


def bare(text: str) -> str:
    """Without the dollars around the whole."""
    stripped = text.strip()
    while stripped.startswith("$") and stripped.endswith("$") and "$" not in stripped[1:-1].strip("$"):
        inner = stripped.strip("$").strip()
        if inner == stripped or not inner:
            break
        stripped = inner
    return stripped


# -- spelling


def display_fractions(text: str, rng: Random) -> str | None:
    new = re.sub(r"\\[dt]?frac(?![a-zA-Z])", lambda _: rng.choice(("\\dfrac", "\\tfrac")), text)
    return new if new != text else None


def short_fraction(text: str, rng: Random) -> str | None:
    new = re.sub(r"\\frac\{(\d)\}\{(\d)\}(?!\d)", r"\\frac\1\2", text, flags=re.ASCII)
    return new if new != text else None


def sized_brackets(text: str, rng: Random) -> str | None:
    if (
        re.search(r"\\(?:left|right|[bB]ig)|\\[{}()]", text)
        or not re.search(r"[(\[]", text)
        or "\\sqrt[" in text
    ):
        return None
    if not is_formula(text) or len(re.findall(r"[(\[]", text)) != len(re.findall(r"[)\]]", text)):
        return None
    return re.sub(r"[)\]]", r"\\right\g<0>", re.sub(r"[(\[]", r"\\left\g<0>", text))


def plain_brackets(text: str, rng: Random) -> str | None:
    new = re.sub(r"\\(?:left|right)\s*(?=[()\[\]|]|\\[{}])", "", text)
    return new if new != text else None


def wide_signs(text: str, rng: Random) -> str | None:
    if not is_formula(text):
        return None
    new = _LOOSE_SIGN.sub(lambda sign: rng.choice((" {} ", "\\, {} ", "  {}  ")).format(sign[1]), text)
    return new if new != text else None


def tight_signs(text: str, rng: Random) -> str | None:
    if not is_formula(text):
        return None
    new = re.sub(r"(?<=[\w})]) +([+=-]) +(?=[\w(\\])", r"\1", text, flags=re.ASCII)
    return new if new != text else None


def thin_spaces(text: str, rng: Random) -> str | None:
    return text.replace(",", ",\\ ") if is_formula(text) and re.search(r",(?!\d{3}|[\\!}])", text) else None


def braced_exponents(text: str, rng: Random) -> str | None:
    new = re.sub(r"([\^_])([0-9a-z])", r"\1{\2}", text)
    return new if new != text else None


def bare_exponents(text: str, rng: Random) -> str | None:
    new = re.sub(r"\^\{([0-9a-z])\}", r"^\1", text)
    return new if new != text else None


def dollars(text: str, rng: Random) -> str | None:
    if "$" in text or "\\(" in text or not (is_formula(text) or text.startswith("\\")):
        return None
    return rng.choice(("${}$", "\\({}\\)", "$ {} $")).format(text)


def padded(text: str, rng: Random) -> str | None:
    return rng.choice((" {} ", "{}\n", "\\, {}", "{}\\;")).format(text)


def final_stop(text: str, rng: Random) -> str | None:
    return None if text.endswith((".", "%")) or not text[-1:].isalnum() else text + "."


_LETTERS_OF_UNICODE = [
    ("\\pi", "π"), ("\\times", "×"), ("\\cdot", "·"), ("\\leqslant", "≤"), ("\\leq", "≤"), ("\\geqslant", "≥"),
    ("\\geq", "≥"), ("\\infty", "∞"), ("\\cup", "∪"), ("^\\circ", "°"), ("^{\\circ}", "°"), ("\\theta", "θ"),
    ("\\pm", "±"), ("\\ne", "≠"),
]  # fmt: skip


def unicode_signs(text: str, rng: Random) -> str | None:
    new = text
    for command, sign in _LETTERS_OF_UNICODE:
        new = re.sub(re.escape(command) + r"(?![a-zA-Z])", sign, new)
    if is_formula(text):
        new = new.replace("-", "−")
    return new if new != text else None


def roots_of_unicode(text: str, rng: Random) -> str | None:
    new = re.sub(r"\\sqrt\{(\d+)\}(?!\d)", r"√\1", text, flags=re.ASCII)
    return new if new != text and not re.search(r"√\d+[\d!^]", new) else None


def slashed_fractions(text: str, rng: Random) -> str | None:
    """a/b where nothing binds it otherwise: the fraction is the whole, or stands between signs."""
    whole = re.fullmatch(r"(-?)\\[dt]?frac\{(-?\d+)\}\{(\d+)\}", bare(text), re.ASCII)
    if whole is not None:
        return rng.choice(("{}{}/{}", "{}{} / {}", "{}({})/({})")).format(*whole.groups())
    if not is_formula(text) or "^" in text:
        return None
    new = _SIMPLE_FRACTION.sub(r"(\1/\2)", text)
    return new if new != text and not re.search(r"\d\(|\[\d\]\(", new) else None


def matrix_brackets(text: str, rng: Random) -> str | None:
    new = re.sub(r"(?<=\{)pmatrix(?=\})", "bmatrix", text)
    return new if new != text else None


def text_markup(text: str, rng: Random) -> str | None:
    """A word in or out of its markup."""
    wrapped = re.fullmatch(r"\\text\{([^{}]+)\}", text.strip())
    if wrapped is not None:
        return rng.choice(("{}", "\\textbf{{{}}}", "\\mathrm{{{}}}", " \\text{{ {} }}")).format(wrapped[1])
    return f"\\text{{{text}}}" if re.fullmatch(r"[A-Za-z]{3,}", text) else None


# -- value


def _fraction_of(text: str) -> Fraction | None:
    text = bare(text)
    if _INTEGER.fullmatch(text):
        return Fraction(int(text))
    found = _NUMERIC_FRACTION.fullmatch(text)
    if found is not None and int(found[3]) and (len(found[0]) > 7 or "{" in text):
        return Fraction(int(found[1] + found[2]), int(found[3]))
    if re.fullmatch(r"-?\d*\.\d+", text, re.ASCII):
        return Fraction(text)
    return None


def decimal_of(value: Fraction) -> str | None:
    """The decimal of a terminating fraction, None for one that does not end within twelve places."""
    places = next((n for n in range(13) if value.denominator and 10**n % value.denominator == 0), None)
    if places is None:
        return None
    scaled = abs(value.numerator) * 10**places // value.denominator
    whole, rest = divmod(scaled, 10**places)
    return ("-" if value < 0 else "") + (f"{whole}.{rest:0{places}}" if places else f"{whole}")


def as_decimal(text: str, rng: Random) -> str | None:
    value = _fraction_of(text)
    written = decimal_of(value) if value is not None else None
    if written is None:
        return None
    return written + rng.choice(("0", "00")) if "." in written else written + rng.choice((".0", ".00", "."))


def as_fraction(text: str, rng: Random) -> str | None:
    value = _fraction_of(text)
    if value is None or abs(value.numerator) > 10**9:
        return None
    k = rng.randint(1 if value.denominator > 1 else 2, 6)
    shape = rng.choice(("{}\\frac{{{}}}{{{}}}", "{}{}/{}", "\\frac{{{}{}}}{{{}}}"))
    return shape.format("-" if value < 0 else "", abs(value.numerator) * k, value.denominator * k)


def as_mixed(text: str, rng: Random) -> str | None:
    value = _fraction_of(text)
    if value is None or abs(value) < 1 or value.denominator == 1 or value.denominator > 1000:
        return None
    whole, rest = divmod(abs(value.numerator), value.denominator)
    return f"{'-' if value < 0 else ''}{whole}\\frac{{{rest}}}{{{value.denominator}}}"


def thousands(text: str, rng: Random) -> str | None:
    text = bare(text)
    if not re.fullmatch(r"-?\d{4,15}", text, re.ASCII):
        return None
    return f"{int(text):,}".replace(",", rng.choice((",", "{,}", ",\\!", "\\,")))


def plus_sign(text: str, rng: Random) -> str | None:
    return "+" + bare(text) if re.fullmatch(r"\d+", bare(text), re.ASCII) else None


def full_width(text: str, rng: Random) -> str | None:
    text = bare(text)
    return "".join(chr(ord(c) + 0xFEE0) for c in text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else None


def split_sum(text: str, rng: Random) -> str | None:
    """A small integer as the value of a closed form."""
    value = _fraction_of(text)
    if value is None or value.denominator != 1 or abs(value) > 10**6:
        return None
    k = rng.randint(2, 9)
    return rng.choice((f"{value - k}+{k}", f"\\frac{{{value * k}}}{{{k}}}", f"{value + k}-{k}"))


# -- order

_NO_PLAIN_SUM = re.compile(
    r"[=<>,;:|&!%'$]|\\(?:pm|mp|le|ge|ne|cup|in|to|left|right|log|ln|sin|cos|tan|cot|sec|csc|circ)"
)


def _terms(text: str) -> list[str] | None:
    """The signed terms of a sum, None where the text is no plain sum."""
    if not is_formula(text) or _NO_PLAIN_SUM.search(text):
        return None
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char in "+-" and depth == 0 and text[:at].strip() and text[:at].rstrip()[-1] not in "+-*/^_(":
            if text[:at].rstrip().endswith(("\\cdot", "\\times", "\\div")):
                continue
            parts.append(text[start:at].strip())
            start = at
    return [*parts, text[start:].strip()]


def reordered_sum(text: str, rng: Random) -> str | None:
    terms = _terms(bare(text))
    if terms is None or len(terms) < 2:
        return None
    turned = terms[1:] + terms[:1] if rng.random() < 0.5 else terms[::-1]
    joined = "".join(term if term[0] in "+-" else "+" + term for term in turned)
    return joined.removeprefix("+")


def times_one(text: str, rng: Random) -> str | None:
    terms = _terms(bare(text))
    if terms is None or re.search(r"_|(?<![a-zA-Z\\])i(?![a-zA-Z])", text):
        return None
    inner = bare(text)
    k = rng.randint(2, 7)
    return rng.choice((f"1 \\cdot ({inner})", f"\\frac{{{k}({inner})}}{{{k}}}", f"({inner})+0"))


def swapped_sides(text: str, rng: Random) -> str | None:
    sides = bare(text).split("=")
    if (
        len(sides) != 2
        or not is_formula(text)
        or re.search(r"[<>,;:$]|\.$|=\s*[a-zA-Z]$|\\(?:le|ge|ne|pm|in)", text)
    ):
        return None
    return f"{sides[1].strip()} = {sides[0].strip()}" if all(side.strip() for side in sides) else None


def reordered_set(text: str, rng: Random) -> str | None:
    found = re.fullmatch(r"\\\{(.*)\\\}", bare(text))
    members = split_top(found[1]) if found is not None and "|" not in text and "mid" not in text else []
    if len(members) < 2 or any(not member or "dots" in member for member in members):
        return None
    return "\\{" + ", ".join(members[1:] + members[:1]) + "\\}"


def reordered_union(text: str, rng: Random) -> str | None:
    parts = bare(text).split("\\cup")
    if len(parts) < 2 or not is_formula(text) or not all(re.match(r"\s*(?:\\left)?[(\[]", p) for p in parts):
        return None
    if any(not re.search(r"[)\]]\s*$", part) for part in parts):
        return None
    return " \\cup ".join(part.strip() for part in reversed(parts))


SPELLINGS: tuple[Rewrite, ...] = (
    display_fractions, short_fraction, sized_brackets, plain_brackets, wide_signs, tight_signs, thin_spaces,
    braced_exponents, bare_exponents, dollars, final_stop, unicode_signs, roots_of_unicode,
    slashed_fractions, matrix_brackets, text_markup,
)  # fmt: skip
VALUES: tuple[Rewrite, ...] = (
    as_decimal, as_fraction, as_mixed, thousands, plus_sign, full_width, split_sum, reordered_sum, times_one,
    swapped_sides, reordered_set, reordered_union,
)  # fmt: skip
TRIVIAL: tuple[Rewrite, ...] = (
    display_fractions,
    sized_brackets,
    plain_brackets,
    wide_signs,
    padded,
    dollars,
)


def rewritten(
    text: str, rng: Random, rewrites: tuple[Rewrite, ...] = SPELLINGS + VALUES
) -> tuple[str, str] | None:
    """The text after one rewrite that changes it, and the rewrite's name; None where none applies.

    A rewrite that an independent evaluation finds to change the value is not used.
    """
    for rewrite in (*rng.sample(rewrites, len(rewrites)), padded):
        new = rewrite(text, rng)
        if new is not None and new != text and same_value(text, new) is not False:
            return new, rewrite.__name__
    return None


def variants(text: str, rng: Random, count: int) -> list[tuple[str, str]]:
    """Up to `count` different rewrites of a text, each with its name; some are two rewrites in a row."""
    found: dict[str, str] = {}
    for _ in range(4 * count):
        first = rewritten(text, rng)
        if first is None:
            break
        new, name = first
        if rng.random() < 0.3 and (second := rewritten(new, rng, SPELLINGS)) is not None:
            new, name = second[0], f"{name}, {second[1]}"
        if new != text:
            found.setdefault(new, name)
        if len(found) == count:
            break
    return list(found.items())
