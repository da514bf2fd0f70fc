"""Units of measure and money: what a spelling means, exact conversion, and what a prompt asks for.

A table of our own rather than a units library: it loads in a millisecond, it never evaluates or interpolates
hostile text, and a spelling with several meanings ("pounds", "C", "minutes") keeps all of them, so that the
other side of a comparison can settle which one was meant.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product

from .numerals import number_words
from .unit_reading import OPENERS, Atom, Dimension, Term, atoms_of, fold, terms_of, without_markup
from .unit_table import COUNT_WORDS, CURRENCY_SIGNS

MAX_CHARS = 120
MAX_READINGS = 6


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: a value of `1 unit` is `factor` in the base units of its dimension.

    name: a canonical spelling ("km/h").  dimension: base and exponent, sorted by base.
    bare_letter: a single letter, with or without an exponent, which may as well be a variable.
    others: other readings of the same spelling.
    """

    name: str
    dimension: Dimension
    factor: Fraction
    bare_letter: bool = False
    others: tuple["Unit", ...] = field(default=(), compare=False, repr=False)


def convertible(a: Unit, b: Unit) -> Fraction | None:
    """k with 1 a = k b, by the likeliest readings that agree; None where no readings do."""
    for first in (a, *a.others):
        for second in (b, *b.others):
            if first.dimension == second.dimension:
                return first.factor / second.factor
    return None


@lru_cache(maxsize=8192)
def parse_unit(text: str) -> Unit | None:
    """The unit that a whole text spells ("cm^2", "sq. ft", "meters per second squared", "千米/小时")."""
    text = text.strip()
    if not text or len(text) > MAX_CHARS:
        return None
    single = atoms_of(text)
    terms = [Term(single, 1)] if single else terms_of(without_markup(text))
    if not terms:
        return None
    units = [_multiplied(choice) for choice in islice(product(*_readings(terms)), MAX_READINGS)]
    first, bare = units[0], _is_bare_letter(text, terms)
    return Unit(first.name, first.dimension, first.factor, bare, tuple(units[1:]))


@lru_cache(maxsize=256)
def currency_symbol(ch: str) -> Unit | None:
    """The money that a sign before a number stands for: $ £ € ¥ ₹, US$, USD; None for anything else."""
    return parse_unit(ch) if ch in CURRENCY_SIGNS else None


def is_count_word(text: str) -> bool:
    """Whether a text is a measure word of Chinese or Japanese, which only counts (三个)."""
    return text in COUNT_WORDS


def is_unit_word(word: str) -> bool:
    """Whether a word is in the table or begins a unit of several words ("square", "fluid")."""
    return bool(atoms_of(word)) or fold(word) in OPENERS


# From terms to units

_ANGLE: Dimension = (("angle", 1),)


def _readings(terms: list[Term]) -> list[list[tuple[Atom, int]]]:
    """Atoms of each factor; inside a product nobody means arc seconds or degrees of temperature."""
    if len(terms) == 1:
        return [[(atom, terms[0].power) for atom in terms[0].atoms]]
    return [
        [(atom, term.power) for atom in term.atoms if atom is term.atoms[0] or atom.dimension != _ANGLE]
        for term in terms
    ]


def _multiplied(factors: tuple[tuple[Atom, int], ...]) -> Unit:
    powers: dict[str, int] = {}
    value = Fraction(1)
    for atom, power in factors:
        value *= atom.factor**power
        for base, exponent in atom.dimension:
            powers[base] = powers.get(base, 0) + exponent * power
    dimension = tuple(sorted((base, power) for base, power in powers.items() if power))
    return Unit(_name(factors), dimension, value)


def _name(factors: tuple[tuple[Atom, int], ...]) -> str:
    above = [_powered(atom.name, power) for atom, power in factors if power > 0]
    below = [_powered(atom.name, -power) for atom, power in factors if power < 0]
    top = "*".join(above) or "1"
    if not below:
        return top
    return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


def _powered(name: str, power: int) -> str:
    return name if power == 1 else f"{name}^{power}"


def _is_bare_letter(text: str, terms: list[Term]) -> bool:
    if len(terms) != 1:
        return False
    letters = [ch for ch in text if ch.isalpha()]
    return len(letters) == 1 and letters[0] < "\u0500" and letters[0] not in "µμΩÅ" and "°" not in text


# What a prompt says about units

MAX_PROMPT_CHARS = 20_000
MAX_UNITS = 16

_PROMPT_MARKUP = re.compile(
    r"\\(?:text(?:rm|bf|it|sf)?|mathrm|mathbf|mbox|operatorname|rm)\s*(?=\{)|\\[,;:! ()\[\]]|[~$]|(?<!\\)[{}]"
)
_SENTENCE = re.compile(r"[^.?!。？！\n]*(?:\.(?=\d|\s?[a-z(])[^.?!。？！\n]*)*[.?!。？！\n]?")
_ASKING = re.compile(
    r"[?？]|\b(?:find|express|give|calculate|compute|determine|what|how|convert|write|state|evaluate"
    r"|estimate|round|answer|nearest|which|measured?|solve|calcula|halla|encuentra|calculer|trouver|berechne|найдите)\b"
    r"|[求多几]|单位|_{2}|[(（]\s*[)）]",
    re.IGNORECASE,
)
_TRIGGER = re.compile(
    r"(?:\b(?:in|how many|cu[aá]nt[oa]s|quant[oa]s|quant[ie]|combien d(?:e|')|wie ?viele?|сколько|en|em|в"
    r"|units? (?:of|is|are)|units?\s*[:=]"
    r"|nearest(?: (?:whole|half|tenth|hundredth|thousandth)(?: of an?)?)?"
    r"|convert(?:ed)? [^.?!]{0,60}?\b(?:to|into)"
    r"|(?:what|find|determine|calculate|compute)\b[^.?!]{0,40}\bnumber of)"
    r"(?: (?:more|fewer|less|additional|extra|total|whole|full|complete|other|the|units of))*\s+"
    r"|(?:=\s*\?|(?<!_)_{2,40}|[(（]\s*[)）]|\\square)\s{0,3}(?=[^\W\d_]))",
    re.IGNORECASE,
)
_CJK_TRIGGER = re.compile(
    r"(?:多少|几|单位\s{0,3}[:：是为]?|[(（]\s{0,9}[)）]|(?<!_)_{2,40})\s{0,3}([^\W\d_]{1,8}(?:/[^\W\d_]{1,4})?)"
)
_STEP = re.compile(
    r"\s*(?:[^\W\d_⁰¹²³⁴-⁹]+\.?|°\s?[CFK]?|\^\s*\(?-?\d\)?|[⁻⁰¹²³⁴-⁹]+|[/·⋅*-]|(?<=[A-Za-z])[23])"
)
_JOINED = re.compile(r"\s*(?:,|and|or|y|et|und)\s+", re.IGNORECASE)
_TRAPS = frozenset(  # singulars that follow "in" or "how many" in other meanings: "in second place"
    "second minute hour day week month year foot yard pound cup unit degree stone rod mole bit grain bar "
    "penny cent century decade case mark mi mo st ct d c t".split(" ")
)
_RATE_WORDS = frozenset("per por par pro a an square squared sq cubic cubed cu".split(" "))
_NO_METRES = re.compile(
    r"(?:polynomial|functions?|expression|equation|quadratic|linear|degree|variables?|monomial|series|terms"
    r"|inequality|formula|relation|solution|solved?) (?:of \w+ )?in\s+$",
    re.IGNORECASE,
)
_MONEY_ASKED = re.compile(
    r"\b(?:how much|costs?|price|pay|paid|spend|spent|money|earn(?:ed|s|ings)?|profit|revenue|salary|wages?"
    r"|change|owe|charge|worth|bill|income|balance|savings?|budget|fee|fare|cu[aá]nto|combien)\b|钱",
    re.IGNORECASE,
)
_MONEY_SIGN = re.compile(r"(?:\b(?:US|CA|C|AU|A|HK|S|R|MX))?(?:\\\$|[$£€¥￥₹₽₩])(?=\s?\d)")
_MONEY_WORD = re.compile(
    r"\b(?:dollars?|cents|euros?|yen|yuan|rupees?|rubles?|pesos?|pence|d[oó]lares)\b|元|рубл[а-я]*",
    re.IGNORECASE,
)
_UNESCAPED_DOLLAR = re.compile(r"(?<!\\)\$")


@lru_cache(maxsize=512)
def units_in_prompt(prompt: str) -> tuple[Unit, ...]:
    """Units that the question asks for: "in metres", "how many minutes", "to the nearest cent", "多少元".

    Where no unit is asked for by name but money is ("how much does it cost"), the prompt's own money.
    """
    text = _plain(prompt)
    sentences = _SENTENCE.findall(text)
    asking = [sentence for sentence in sentences if _ASKING.search(sentence)]
    found = _asked_in(asking) or _asked_in(sentences)
    if found or not any(map(_asks_money, asking)):
        return tuple(found[:MAX_UNITS])
    return tuple(_money_in(prompt[:MAX_PROMPT_CHARS]))


def names_unit(prompt: str, unit: Unit) -> bool:
    """Whether the prompt uses the unit as a unit, in any of its spellings ("5 cm", "centimetres")."""
    wanted = {(reading.dimension, reading.factor) for reading in (unit, *unit.others)}
    named = (*units_in_prompt(prompt), *_all_units(prompt))
    return any(
        (reading.dimension, reading.factor) in wanted for one in named for reading in (one, *one.others)
    )


def _asks_money(sentence: str) -> bool:
    counts = "how many" in sentence.lower() and "how much" not in sentence.lower()
    return not counts and _MONEY_ASKED.search(sentence) is not None


def _plain(prompt: str) -> str:
    return _PROMPT_MARKUP.sub(_blank, prompt[:MAX_PROMPT_CHARS])


def _blank(match: re.Match[str]) -> str:
    return "" if match[0] in ("{", "}") else " "


def _asked_in(sentences: list[str]) -> list[Unit]:
    found: dict[tuple[Dimension, Fraction], Unit] = {}
    for sentence in sentences:
        for match in _TRIGGER.finditer(sentence):
            for unit in _units_from(sentence, match):
                found.setdefault((unit.dimension, unit.factor), unit)
        for match in _CJK_TRIGGER.finditer(sentence):
            cjk = _longest_prefix(match[1])
            if cjk is not None and sentence[match.start(1) + 1 : match.start(1) + 2] != "之":
                found.setdefault((cjk.dimension, cjk.factor), cjk)
    return list(found.values())


def _units_from(sentence: str, trigger: re.Match[str]) -> list[Unit]:
    """The unit behind a trigger, and those joined to it by "and"."""
    found: list[Unit] = []
    place = trigger.end()
    nearest = "nearest" in trigger[0]
    for _ in range(3):
        unit, end = _unit_at(sentence, place)
        if unit is None or (not nearest and _is_trap(sentence[place:end], trigger[0])):
            break
        if unit.bare_letter and not _stands_for_a_unit(sentence, trigger, end):
            break
        if (head := _head_of_rate(sentence[place:end])) is not None:
            found.append(head)
        found.append(unit)
        joint = _JOINED.match(sentence, end)
        if joint is None:
            break
        place = joint.end()
    return found


def _is_trap(piece: str, trigger: str) -> bool:
    """Whether a spelling means something else there: "in second place", "how many in all"."""
    words = piece.casefold().replace(".", " ").split()
    if words[0] == "in" and not trigger.rstrip().casefold().endswith("in"):
        return True
    plain = "/" not in piece and not any(word in _RATE_WORDS for word in words)
    return plain and any(word in _TRAPS for word in words)


def _head_of_rate(piece: str) -> Unit | None:
    """The miles of "how many miles a day", which are asked for as much as the miles a day."""
    head = re.split(r"\s+an?\s+", piece, maxsplit=1)
    return parse_unit(head[0]) if len(head) == 2 else None


def _stands_for_a_unit(sentence: str, trigger: re.Match[str], end: int) -> bool:
    """Whether a single letter after "in" is a unit: the sentence ends there, and speaks of no variable."""
    if _NO_METRES.search(sentence[max(0, trigger.start() - 40) : trigger.end()]):
        return False
    rest = sentence[end:].lstrip()
    return not rest or rest[0] in ".,;:?!)("


def _unit_at(text: str, place: int) -> tuple[Unit | None, int]:
    """The longest unit that starts at a place, and where it ends."""
    ends: list[int] = []
    at, before = place, ""
    while len(ends) < 8 and (step := _STEP.match(text, at)) is not None:
        word = step[0].strip(" .")
        if (not ends and not is_unit_word(word)) or (step[0][0].isspace() and _begins_anew(before, word)):
            break
        at, before = step.end(), word
        ends.append(at)
    for end in reversed(ends):
        unit = parse_unit(text[place:end])
        if unit is not None:
            return unit, end
    return None, place


def _begins_anew(before: str, word: str) -> bool:
    """Whether a word behind a unit is not part of it: "a 5 cm rod", but "5 fluid ounces", "3 N m"."""
    if not before or fold(before) in OPENERS or (len(before) <= 2 and len(word) <= 2):
        return False
    return is_unit_word(before) and is_unit_word(word)


def _longest_prefix(text: str) -> Unit | None:
    for end in range(len(text), 0, -1):
        unit = parse_unit(text[:end])
        if unit is not None:
            return unit
    return None


def _money_in(prompt: str) -> list[Unit]:
    """Money by its sign before a number, or by its word. A dollar sign may delimit mathematics instead."""
    found: dict[Dimension, Unit] = {}
    dollars = _UNESCAPED_DOLLAR.findall(prompt)
    delimiting = len(dollars) % 2 == 0 and len(re.findall(r"(?<!\\)\$\d", prompt)) < len(dollars)
    marks = [match[0] for match in _MONEY_SIGN.finditer(prompt) if match[0] != "$" or not delimiting]
    for mark in (*marks, *_MONEY_WORD.findall(prompt)):
        unit = parse_unit(mark.replace("\\", ""))
        if unit is not None:
            found.setdefault(unit.dimension, unit)
    return list(found.values())


_CANDIDATE = re.compile(r"(?P<number>\d\s{0,2}-?\s{0,2})?(?P<word>[^\W\d_⁰¹²³⁴-⁹]+|°\s?[CF]?)")


@lru_cache(maxsize=512)
def _all_units(prompt: str) -> tuple[Unit, ...]:
    """Units anywhere in a prompt: words of four letters or more, symbols only after a number; and money."""
    text = _plain(prompt)
    found: dict[tuple[Dimension, Fraction], Unit] = {}
    for match in _CANDIDATE.finditer(text):
        word = match["word"]
        if not match["number"] and (len(word) < 4 or word.casefold() in _TRAPS):
            continue
        unit, end = _unit_at(text, match.start("word")) if word.isascii() else (_longest_prefix(word[:8]), 0)
        if unit is None or len(found) > 4 * MAX_UNITS:
            continue
        apart = match["number"] is not None and match["number"][-1].isspace()
        if unit.bare_letter and not (apart and _is_no_variable(text, word, end)):
            continue
        found.setdefault((unit.dimension, unit.factor), unit)
    return (*found.values(), *_money_in(prompt[:MAX_PROMPT_CHARS]))


def _is_no_variable(text: str, letter: str, end: int) -> bool:
    """Whether a letter behind a number may be a unit: words follow, and nothing is calculated with it."""
    rest = text[end : end + 40].lstrip()
    return (rest[:1] in "?.,;:!)" or rest[:2].isalpha()) and not _is_calculated_with(text, letter)


@lru_cache(maxsize=64)
def _is_calculated_with(text: str, letter: str) -> bool:
    alone = rf"(?<![^\W\d_]){re.escape(letter)}(?![^\W\d_])"
    after_operator = rf"[-+*/=<>^(]\s?\d{{0,9}}\s?{re.escape(letter)}(?![^\W\d_])"
    return re.search(rf"{after_operator}|{alone}\s?[-+*=<>(]|of {alone}", text) is not None


_PERCENT = re.compile(
    r"(?P<noun>\bpercentages?|百分之几|百分之多少|porcentajes?|pourcentages?|prozentsatz|porcentagem|percentuale"
    r"|百分数|百分比|百分率|率[^，。？,.?]{0,8}(?:多少|几)|tanto por ciento)"
    r"|(?P<counted>\bper ?cents?\b|por ciento|pour cent|prozent|процент\w*)|(?P<sign>\\?%)",
    re.IGNORECASE,
)
_PERCENTAGE_ASKED = re.compile(
    r"\b(?:what|which|find|express\w*|calculate|determine|compute|give|state|estimate|by|as|in|want)(?:'?s)?\s+"
    r"(?:[\w']+\s+){0,4}$",
    re.IGNORECASE,
)
_BEFORE_PERCENT = re.compile(r"(?:(\d|[)}\]$])|(?<![^\W\d_])([^\W\d_]+))[\s-]*$")


@lru_cache(maxsize=512)
def asks_percent(prompt: str) -> bool:
    """Whether the answer is asked for in percent ("what percent", "百分之几"); "20% of" asks for nothing."""
    text = prompt[:MAX_PROMPT_CHARS]
    for match in _PERCENT.finditer(text):
        if match["noun"]:
            if not match["noun"].isascii() or match["noun"].lower()[:6] != "percen":
                return True
            if _PERCENTAGE_ASKED.search(text, max(0, match.start() - 80), match.start()):
                return True
            continue
        before = _BEFORE_PERCENT.search(text, max(0, match.start() - 24), match.start())
        if match["sign"]:
            blank = text[: match.start()].rstrip()[-1:]
            if blank in ("_", "(", "（") or (
                before is not None and before[2] in ("in", "as", "what", "多少")
            ):
                return True
        elif before is None or before[2] in ("a", "A") or _is_no_count(before[2]):
            return True
    return False


def _is_no_count(word: str | None) -> bool:
    return word is not None and len(word) > 1 and number_words(word) is None
