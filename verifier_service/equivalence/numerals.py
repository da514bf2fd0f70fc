"""Numbers written in words: English, Chinese and Japanese numerals, small ones of six other languages.

A text is a number or it is not; nothing is found inside a longer text. Ordinals are not cardinals:
"third" alone is no number, "a third" is one.
"""

import re
import unicodedata
from fractions import Fraction
from functools import lru_cache

from . import numeral_table as table

MAX_CHARS = 160
MAX_DIGITS = 30

_SIGNS = {"minus": -1, "negative": -1, "plus": 1, "positive": 1, "menos": -1, "moins": -1, "минус": -1}
_WORD = re.compile(r"[^\W_]+")
_DASHES = str.maketrans({"‐": "-", "‑": "-", "\u00a0": " "})
# "twenty-fifths" is a denominator only; without the hyphen it could be twenty of them.
_HYPHENED_DENOMINATOR = re.compile(
    rf"(?<![a-z])({'|'.join(table.TENS)})-({'|'.join(table.ORDINALS)})(s?)(?![a-z])"
)


@lru_cache(maxsize=4096)
def number_words(text: str) -> Fraction | None:
    """The number that a whole text spells: "twenty-one", "three and a half", "三分之二", "minus five"."""
    text = text.strip()
    if not text or len(text) > MAX_CHARS or not any(map(str.isalpha, text)):
        return None
    if text[0] in table.CJK_STARTS or text[-1] in table.CJK_UNITS:
        return _cjk(text)
    folded = text.translate(_DASHES).casefold()
    if not folded.isascii():
        folded = _without_accents(folded)
    value = _english(folded)
    return value if value is not None else _foreign(folded)


@lru_cache(maxsize=1024)
def scale_word(text: str) -> int | None:
    """The factor that a whole word stands for after a number ("million", "dozen", "万"), else None."""
    if len(text) > 40:
        return None
    word = " ".join(_without_accents(text.casefold()).split())
    return table.SCALE_WORDS.get(word)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(ch for ch in parts if not unicodedata.combining(ch)))


def _signed(words: list[str]) -> tuple[int, list[str]]:
    sign = _SIGNS.get(words[0]) if len(words) > 1 else None
    return (1, words) if sign is None else (sign, words[1:])


# English


def _english(text: str) -> Fraction | None:
    text = _HYPHENED_DENOMINATOR.sub(r"\1_\2\3", text)
    words = text.replace("-", " ").replace(",", " ").split()
    if not words or not all(word.replace("_", "").isalnum() for word in words):
        return None
    sign, words = _signed(words)
    value = _unsigned(words)
    return None if value is None else sign * value


def _unsigned(words: list[str]) -> Fraction | None:
    whole = _whole(words)
    if whole is not None:
        return Fraction(whole)
    if "point" in words:
        return _decimal(words)
    simple = _fraction(words)
    if simple is not None:
        return simple
    for place in range(len(words) - 1, 0, -1):  # the last "and" parts the whole from the fraction
        if words[place] == "and":
            return _mixed(words[:place], words[place + 1 :])
    return None


def _mixed(before: list[str], after: list[str]) -> Fraction | None:
    whole, part = _whole(before), _fraction(after)
    if whole is None or part is None or not part < 1:
        return None
    return whole + part


def _decimal(words: list[str]) -> Fraction | None:
    place = words.index("point")
    whole = _whole(words[:place]) if place else 0
    digits = [table.UNITS.get(word, 10) for word in words[place + 1 :]]
    if whole is None or not digits or max(digits) > 9 or len(digits) > MAX_DIGITS:
        return None
    return whole + Fraction(int("".join(map(str, digits))), 10 ** len(digits))


def _fraction(words: list[str]) -> Fraction | None:
    """ "half", "a third", "two thirds", "three twenty-fifths", "half a dozen", "five hundredths"."""
    if words == ["half"]:
        return Fraction(1, 2)
    if words[:2] == ["half", "a"] and len(words) == 3 and words[2] in table.HALVED:
        return Fraction(table.HALVED[words[2]], 2)
    if len(words) < 2:
        return None
    last = words[-1]
    singular = table.DENOMINATORS.get(last)
    denominator = singular if singular is not None else table.DENOMINATORS_PLURAL.get(last)
    if denominator is None:
        return None
    numerator = 1 if words[:-1] in (["a"], ["an"]) else _whole(words[:-1])
    if numerator is None or (numerator == 1) != (singular is not None):
        return None
    return Fraction(numerator, denominator)


def _whole(words: list[str]) -> int | None:
    """A cardinal; scales must fall and every word must fit the place that is free."""
    if len(words) == 1:
        single = words[0]
        if single.isdecimal():
            return int(single) if len(single) <= MAX_DIGITS else None
        return table.UNITS.get(single, table.TENS.get(single, table.ALONE.get(single)))
    if words and words[0] == "a" and words[1] in table.ALONE:
        words = ["one", *words[1:]]
    if words and words[-1] == "dozen":
        count = _whole(words[:-1])
        return None if count is None else 12 * count
    return _summed(words)


def _summed(words: list[str]) -> int | None:
    total = group = 0
    ceiling = 10**30
    may_and = after_and = False
    for word in words:
        if word == "and":
            if not may_and:
                return None
            may_and, after_and = False, True
            continue
        if word in table.UNITS:
            value = table.UNITS[word]
            after_tens = group % 100 >= 20 and group % 10 == 0 and value < 10
            if value == 0 or (group % 100 and not after_tens):
                return None
            group += value
        elif word in table.TENS:
            if group % 100:
                return None
            group += table.TENS[word]
        elif word == "hundred":
            if not 0 < group < 100 or after_and:
                return None
            group *= 100
        elif word in table.SCALES:
            scale = table.SCALES[word]
            if not 0 < group < 10_000 or scale >= ceiling:
                return None
            total, group, ceiling = total + group * scale, 0, scale
        else:
            return None
        may_and = word == "hundred" or word in table.SCALES
        after_and = False
    return None if after_and or group >= ceiling else total + group


# Spanish, French, German, Italian, Portuguese, Russian: what one meets in short answers


def _foreign(text: str) -> Fraction | None:
    words = _WORD.findall(text)
    if not words or _WORD.sub("", text).strip(" -"):
        return None
    sign, words = _signed(words)
    value = table.FOREIGN.get(" ".join(words))
    return None if value is None else sign * value


# Chinese and Japanese

_CJK_NUMBER = re.compile(
    rf"[负負]?(?:[{table.CJK_DIGITS}{table.CJK_UNITS}]|\d+(?:\.\d+)?)+(?:[点點][{table.CJK_DIGITS}]+)?"
)
_CJK_PIECE = re.compile(r"\d+(?:\.\d+)?|.")


def _cjk(text: str) -> Fraction | None:
    sign = -1 if text[0] in "负負" else 1
    body = text[1:] if text[0] in "负負正" else text
    if body in ("半", "一半"):
        return sign * Fraction(1, 2)
    if "分之" in body:
        return _cjk_fraction(sign, body)
    value = _cjk_number(body)
    return None if value is None else sign * value


def _cjk_fraction(sign: int, body: str) -> Fraction | None:
    front, _, numerator_text = body.partition("分之")
    whole_text, mixed, denominator_text = front.rpartition("又")
    whole = _cjk_number(whole_text) if mixed else Fraction(0)
    denominator = Fraction(100) if denominator_text == "百" else _cjk_number(denominator_text)
    numerator = _cjk_number(numerator_text)
    if whole is None or numerator is None or not denominator:
        return None
    return sign * (whole + numerator / denominator)


def _cjk_number(text: str) -> Fraction | None:
    if not text or text[0] in "负負" or not _CJK_NUMBER.fullmatch(text):
        return None
    whole_text, point, tail = text.replace("點", "点").partition("点")
    whole = _cjk_whole(whole_text)
    if whole is None or not point:
        return whole
    digits = "".join(str(table.CJK_VALUES[ch]) for ch in tail)
    return whole + Fraction(int(digits), 10 ** len(digits))


def _cjk_whole(text: str) -> Fraction | None:
    pieces = _CJK_PIECE.findall(text)
    if all(piece in table.CJK_VALUES for piece in pieces):
        return _cjk_digits(pieces)
    total = section = pending = Fraction(0)
    has_pending = after_zero = False
    large, small = 10**20, 10**4  # the units last met: both must fall
    for piece in pieces:
        if piece in "零〇":
            if has_pending:
                return None
            after_zero = True
        elif piece not in table.CJK_UNIT_VALUES:
            if has_pending:
                return None
            pending, has_pending = _cjk_value(piece), True
        else:
            unit = table.CJK_UNIT_VALUES[piece]
            if unit < 10**4:
                if unit >= small or not (has_pending or unit == 10):
                    return None
                section += (pending if has_pending else 1) * unit
                small = unit
            else:
                section += pending
                if unit >= large or not section:
                    return None
                total, section = total + section * unit, Fraction(0)
                large, small = unit, 10**4
            pending, has_pending, after_zero = Fraction(0), False, False
    if has_pending and not after_zero and 1 <= pending <= 9:
        last = small if small < 10**4 else large
        if 10 < last < 10**20:  # "三万五" is 35,000
            pending *= last // 10
    return total + section + pending


def _cjk_digits(pieces: list[str]) -> Fraction | None:
    """One digit, or a number read digit by digit, which only a zero inside shows to be one number."""
    if len(pieces) == 1:
        return Fraction(table.CJK_VALUES[pieces[0]])
    if len(pieces) < 3 or len(pieces) > MAX_DIGITS or not {"零", "〇"} & set(pieces):
        return None
    return Fraction(int("".join(str(table.CJK_VALUES[piece]) for piece in pieces)))


def _cjk_value(piece: str) -> Fraction:
    known = table.CJK_VALUES.get(piece)
    return Fraction(piece) if known is None else Fraction(known)
