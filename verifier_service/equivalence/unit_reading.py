"""From the spelling of a unit to its factors: tables of spellings, tokens, one pass over them.

Nothing here knows what a unit is good for; units.py does. Hostile text costs one pass and no exception.
"""

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from . import unit_table as table

Dimension = tuple[tuple[str, int], ...]

MAX_TERMS = 8
MAX_EXPONENT = 12


# The table


@dataclass(frozen=True, slots=True)
class Atom:
    name: str
    dimension: Dimension
    factor: Fraction


def fold(text: str) -> str:
    """Case and accents do not count in words."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return "".join(ch for ch in unicodedata.normalize("NFD", folded) if not unicodedata.combining(ch))


def _dimension(text: str) -> Dimension:
    powers: dict[str, int] = {}
    base = ""
    for word in text.split():
        if word.lstrip("-").isdigit():
            powers[base] = int(word)
        else:
            base = word
            powers[base] = 1
    return tuple(sorted(powers.items()))


def _factor(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(top) / Fraction(bottom or "1")


class _Tables:
    """Spellings to atoms, in the order of the table: the first is the likeliest."""

    def __init__(self) -> None:
        self.symbols: dict[str, tuple[Atom, ...]] = {}
        self.words: dict[str, tuple[Atom, ...]] = {}
        for line in table.UNITS.strip().split("\n"):
            name, dimension, factor, symbols, words = (part.strip() for part in line.split("|"))
            atom = Atom(name, _dimension(dimension), _factor(factor))
            for spelling in symbols.split():
                self._add_symbol(spelling, atom)
            for spelling in words.split():
                self._add_word(spelling.replace("_", " "), atom)
        self.loose = self._loosely()

    def _add(self, into: dict[str, tuple[Atom, ...]], key: str, atom: Atom) -> None:
        known = into.get(key, ())
        if all((other.dimension, other.factor) != (atom.dimension, atom.factor) for other in known):
            into[key] = (*known, atom)

    def _add_symbol(self, spelling: str, atom: Atom) -> None:
        symbol, _, prefixes = spelling.partition("*")
        self._add(self.symbols, symbol, atom)
        for prefix in prefixes:
            scale = Fraction(10) ** table.PREFIX_SYMBOLS[prefix]
            name = prefix.replace("u", "μ") + symbol
            self._add(self.symbols, prefix + symbol, Atom(name, atom.dimension, atom.factor * scale))

    def _add_word(self, spelling: str, atom: Atom) -> None:
        word = fold(spelling.rstrip("*"))
        plural = [word + "s"] if word.isascii() else []
        forms = [word, *plural, *(_first_plural(word) if " " in word else ())]
        for form in forms:
            self._add(self.words, form, atom)
            if spelling.endswith("*"):
                for prefix, power in table.PREFIX_WORDS.items():
                    factor = atom.factor * Fraction(10) ** power
                    scaled = Atom(_prefixed(prefix, power, atom), atom.dimension, factor)
                    self._add(self.words, prefix + form, scaled)

    def _loosely(self) -> dict[str, tuple[Atom, ...]]:
        """Symbols in any case, where only one unit has that spelling: KM is km, MW is not mW."""
        found: dict[str, set[tuple[Atom, ...]]] = {}
        for symbol, atoms in self.symbols.items():
            if len(symbol) > 1:
                found.setdefault(symbol.casefold(), set()).add(atoms)
        return {symbol: next(iter(atoms)) for symbol, atoms in found.items() if len(atoms) == 1}


def _first_plural(word: str) -> list[str]:
    """The plural on the first word: "degrees celsius"; no harm where it is no word."""
    head, _, rest = word.partition(" ")
    return [f"{head}s {rest}"]


def _prefixed(prefix: str, power: int, atom: Atom) -> str:
    symbols = (short for short, value in table.PREFIX_SYMBOLS.items() if value == power and short != "u")
    return next(symbols, prefix) + atom.name


_TABLES = _Tables()
_SQUARED_BEFORE = frozenset(map(fold, table.SQUARED_BEFORE.split()))
_CUBED_BEFORE = frozenset(map(fold, table.CUBED_BEFORE.split()))
_POWERS_BEFORE = dict.fromkeys(_SQUARED_BEFORE, 2) | dict.fromkeys(_CUBED_BEFORE, 3)
_POWERS_AFTER = dict.fromkeys(map(fold, table.SQUARED_AFTER.split()), 2) | dict.fromkeys(
    map(fold, table.CUBED_AFTER.split()), 3
)
_PER = frozenset(map(fold, table.PER.split()))
_PER_BETWEEN = frozenset(table.PER_BETWEEN.split())
OPENERS = frozenset(word.split()[0] for word in _TABLES.words if " " in word) | frozenset(_POWERS_BEFORE)
_PERCENT = frozenset(("per cent", "per cents", "por ciento", "pour cent"))
_TRAILING = frozenset(("each", "apiece"))


def atoms_of(spelling: str) -> tuple[Atom, ...]:
    """Readings of one spelling: symbol by exact case, then word, then symbol in another case."""
    found = _TABLES.symbols.get(spelling)
    if found is not None:
        return found
    word = fold(spelling)
    return _TABLES.words.get(word) or (_TABLES.loose.get(word, ()) if len(word) > 1 else ())


# From text to terms


@dataclass(frozen=True, slots=True)
class Term:
    atoms: tuple[Atom, ...]
    power: int


_WRAPPED = re.compile(r"\\(?:text(?:rm|bf|it|sf)?|math(?:rm|bf|it|sf)|mbox|hbox|operatorname)\s*\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SPACING = re.compile(r"\\(?:rm|bf|left|right|displaystyle)(?![A-Za-z])|\\[,;:! ]|~")
_COMMANDS = {
    "\\cdot": "·",
    "\\times": "·",
    "\\circ": "°",
    "\\degree": "°",
    "\\Omega": "Ω",
    "\\mu": "μ",
    "\\ell": "ℓ",
}
_COMMAND = re.compile(r"\\[A-Za-z]+")
_TOKEN = re.compile(
    r"\s+|(?P<word>(?:US|CA|C|AU|A|HK|S|R|MX)\$|°\s?[CFKcfk](?![A-Za-z])|[^\W\d_⁰¹²³⁴-⁹]+\.?|[$£€¥₹₽₩₺₪₦₱฿₫¢￥￡￠°º′″℃℉])"
    r"|(?P<power>\^\s*\(?\s*[-+−]?\d+\s*\)?|\*\*\s*[-+−]?\d+|⁻?[⁰¹²³⁴-⁹]+|[-−]?\d+)"
    r"|(?P<times>[*·⋅×•∙-])|(?P<per>[/⁄∕])|(?P<open>[(\[])|(?P<close>[)\]])"
)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--")


def without_markup(text: str) -> str:
    """A unit without its TeX: \\frac{\\text{km}}{\\text{h}} is km/h."""
    if "\\" not in text and "{" not in text and "~" not in text:
        return text
    bare = _FRACTION.sub(r"\1/\2", _WRAPPED.sub(r"\1", text))
    bare = _SPACING.sub(" ", bare).replace("{", "").replace("}", "")
    return _COMMAND.sub(lambda match: _COMMANDS.get(match[0], match[0]), bare).strip()


def terms_of(text: str) -> list[Term]:
    """Factors with their powers; empty where the text is no unit. What follows "per" or "/" divides."""
    if fold(text) in _PERCENT:
        return []
    reader = _Reader(text)
    while reader.alive and reader.tokens:
        reader.step()
    return reader.terms if reader.is_complete() else []


class _Reader:
    """One pass over the tokens of a unit."""

    def __init__(self, text: str) -> None:
        self.terms: list[Term] = []
        self.sign = 1
        self.depth = 0
        self.next_power = 0  # from "square" and "cubic"
        self.pending = False  # an operator that still wants its unit
        self.closed = False  # a parenthesis just closed: no power may follow
        self.tokens = _tokens(text)
        self.alive = bool(self.tokens)
        self.tokens.reverse()

    def is_complete(self) -> bool:
        return self.alive and not self.pending and not self.next_power and self.depth == 0

    def step(self) -> None:
        kind, value = self.tokens.pop()
        if kind == "word":
            self._word(value)
        elif kind == "power":
            self._raise(_power(value))
        elif kind == "open":
            self.depth += 1
        elif kind == "close":
            self.depth -= 1
            self.alive = self.depth >= 0 and not self.pending
            self.closed = True
            return
        elif self.pending or self.next_power or (kind == "times" and not self.terms):
            self.alive = False
        else:
            self.pending = True
            self.sign = -1 if kind == "per" else self.sign
        self.closed = False

    def _word(self, word: str) -> None:
        folded = fold(word)
        if folded in _TRAILING and not self.tokens and self.terms and not self.pending:
            return
        if folded in _PER or (folded in _PER_BETWEEN and self.terms and self.tokens):
            self.alive = not self.pending and not self.next_power
            self.sign, self.pending = -1, True
        elif folded in _POWERS_BEFORE and self._opens_power():
            self.alive = not self.next_power
            self.next_power = _POWERS_BEFORE[folded]
        elif folded in _POWERS_AFTER and self.terms and not self.pending:
            self._raise(_POWERS_AFTER[folded])
        else:
            self._unit(word)

    def _opens_power(self) -> bool:
        return any(kind == "word" for kind, _ in self.tokens)

    def _unit(self, word: str) -> None:
        atoms = self._longest(word)
        if not atoms or len(self.terms) == MAX_TERMS:
            self.alive = False
            return
        self.terms.append(Term(atoms, self.sign * (self.next_power or 1)))
        self.next_power, self.pending = 0, False

    def _longest(self, word: str) -> tuple[Atom, ...]:
        """The longest run of words that is one unit ("fluid ounces", "degrees Celsius")."""
        if fold(word) in OPENERS or (fold(word) in ("°", "º")):
            for extra in (2, 1):
                following = self.tokens[-extra:][::-1]
                if len(following) == extra and all(kind == "word" for kind, _ in following):
                    atoms = atoms_of(" ".join([word, *(value for _, value in following)]))
                    if atoms:
                        del self.tokens[-extra:]
                        return atoms
        return atoms_of(word)

    def _raise(self, power: int) -> None:
        if self.pending or self.closed or not self.terms or not 0 < abs(power) <= MAX_EXPONENT:
            self.alive = False
            return
        last = self.terms[-1]
        if abs(last.power) != 1:
            self.alive = False
            return
        self.terms[-1] = Term(last.atoms, last.power * power)


def _power(text: str) -> int:
    digits = text.translate(_SUPERSCRIPTS).lstrip("^*").strip(" ()").replace(" ", "")
    return int(digits) if len(digits) <= 3 else 0


def _tokens(text: str) -> list[tuple[str, str]]:
    """Tokens of a unit; empty where something in it is no part of any unit."""
    found: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            return []
        kind, value, place = match.lastgroup, match[0], match.end()
        if kind == "power" and value[0].isdecimal() and found and text[match.start() - 1].isspace():
            return []  # "feet 6 inches" is no power of feet
        if kind == "word":
            value = value.removesuffix(".").replace("° ", "°")
            found += [("word", part) for part in _split(value)]
        elif kind == "power" and not found and value.strip() == "1":
            continue  # "1/s"
        elif kind is not None:
            found.append((kind, value))
    return found


def _split(word: str) -> list[str]:
    """A run of Chinese or Japanese, or a German compound, into its words: 千米每小时, Quadratmeter."""
    if atoms_of(word):
        return [word]
    if not "\u3040" <= word[0] <= "\ud7af":
        folded = word.casefold()
        for opener in ("quadrat", "kubik"):
            if folded.startswith(opener) and len(folded) > len(opener):
                return [opener, word[len(opener) :]]
        return [word]
    parts: list[str] = []
    place = 0
    while place < len(word):
        size = _known_prefix(word[place : place + 8])
        if size == 0:
            return [word]
        parts.append(word[place : place + size])
        place += size
    return parts


def _known_prefix(word: str) -> int:
    return next((size for size in range(len(word), 0, -1) if _known(word[:size])), 0)


def _known(word: str) -> bool:
    return bool(atoms_of(word)) or fold(word) in _PER or fold(word) in _POWERS_BEFORE
