"""Days and times of day, read where they can be read in one way only.

05/03/2024 is two days, so it is none; 25/12/2024 is one. 9:05 is returned as a time whether or not it is a
ratio: that is for the caller, who knows the prompt.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from . import date_table as table
from .numerals import number_words

MAX_CHARS = 80
MINUTES_OF_DAY = 24 * 60
MINUTES_OF_HALF_DAY = 12 * 60
_DAYS_OF_MONTH = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True, slots=True)
class Date:
    """A day, or as much of it as the text gives: "June 9" has no year, "Friday" is a weekday alone.

    weekday: 1 Monday to 7 Sunday, kept only where nothing else is known.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


@lru_cache(maxsize=2048)
def parse_date(text: str) -> Date | None:
    """The day that a whole text names: 2019-06-09, "June 9, 2019", "9 June", 2019年6月9日, "Tue"."""
    if len(text) > MAX_CHARS:
        return None
    words = _plain(text).strip(" .")
    if words in table.WEEKDAYS:
        return Date(weekday=table.WEEKDAYS[words])
    if words in table.MONTHS:
        return Date(month=table.MONTHS[words])
    return _numeric_date(words) or _chinese_date(words) or _worded_date(words)


@lru_cache(maxsize=2048)
def parse_time(text: str) -> Fraction | None:
    """Minutes since midnight of a time of day: "9:05", "3 p.m.", "noon", "15h30", "half past two", 3点半."""
    found = _clock(text)
    return None if found is None else found.minutes


def same_time(first: str, second: str) -> bool | None:
    """Whether two texts are the same time of day; a bare 3:30 is also 3:30 p.m. None if one is no time."""
    one, other = _clock(first), _clock(second)
    if one is None or other is None:
        return None
    if one.minutes == other.minutes:
        return True
    open_to_noon = (one.halves and other.marked) or (other.halves and one.marked)
    return open_to_noon and (one.minutes - other.minutes) % MINUTES_OF_HALF_DAY == 0


_MARKUP = re.compile(r"\\(?:text(?:rm|bf|it|sf)?|math(?:rm|bf|it)|mbox|rm)(?![A-Za-z])|\\[,;:! ]|[~$]")


def _plain(text: str) -> str:
    """Lower case without markup and accents."""
    bare = _MARKUP.sub(" ", text).replace("{", "").replace("}", "")
    return " ".join(table.fold(bare.replace("’", "'").replace("：", ":")).split())


# Days


def _date(year: int | None, month: int | None, day: int | None) -> Date | None:
    if month is None or not 1 <= month <= 12:
        return None
    if day is not None and not 1 <= day <= _DAYS_OF_MONTH[month - 1]:
        return None
    if (month, day) == (2, 29) and year is not None and not _is_leap(year):
        return None
    return Date(year, month, day)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


_ISO = re.compile(r"(\d{4})([-/.])(\d{2})\2(\d{2})")
_SLASHED = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")


def _numeric_date(text: str) -> Date | None:
    """Year first with two digits each, or year last where one number can only be the day."""
    iso = _ISO.fullmatch(text)
    if iso is not None:
        return _date(int(iso[1]), int(iso[3]), int(iso[4]))
    slashed = _SLASHED.fullmatch(text)
    if slashed is None:
        return None
    first, second, year = int(slashed[1]), int(slashed[3]), int(slashed[4])
    if first == second or second > 12:
        return _date(year, first, second)
    return _date(year, second, first) if first > 12 else None


_CHINESE = re.compile(r"(?:(\d{4}) ?[年년] ?)?(\w{1,3}?) ?[月월](?: ?(\w{1,3}?) ?[日号號일])?")


def _chinese_date(text: str) -> Date | None:
    found = _CHINESE.fullmatch(text)
    if found is None:
        return None
    month = _small(found[2])
    day = _small(found[3]) if found[3] else None
    if month is None or (found[3] and day is None):
        return None
    return _date(int(found[1]) if found[1] else None, month, day)


def _small(text: str) -> int | None:
    """A whole number of one or two digits, in digits or words."""
    if text.isdecimal():
        return int(text)
    value = number_words(text)
    return int(value) if value is not None and value.denominator == 1 and 0 <= value < 60 else None


_DATE_WORD = re.compile(r"[^\W\d_]+|\d+(?:st|nd|rd|th|er|º|ª)?|[.,]|\S")
_FILLERS = frozenset(("of", "the", ",", ".", "de", "del", "le", "el", "года", "г", "day", "on"))
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|er|º|ª)?")


def _worded_date(text: str) -> Date | None:
    """A month by its name, with a day, a year or both around it: "5th of March, 2024", "5-Mar-2024"."""
    tokens = [token for token in _DATE_WORD.findall(text.replace("-", " ")) if token not in _FILLERS]
    if tokens and tokens[0] in table.WEEKDAYS:
        tokens = tokens[1:]
    if not 2 <= len(tokens) <= 3:
        return None
    month = day = year = None
    for token in tokens:
        if token in table.MONTHS and month is None:
            month = table.MONTHS[token]
        elif len(token) == 4 and token.isdecimal() and year is None:
            year = int(token)
        elif (found := _DAY.fullmatch(token)) is not None and day is None:
            day = int(found[1])
        else:
            return None
    return _date(year, month, day) if month is not None else None


# Times of day


@dataclass(frozen=True, slots=True)
class _Clock:
    """Minutes since midnight; marked: a.m., p.m., noon said so; halves: hours 1 to 12, could be either."""

    minutes: Fraction
    marked: bool
    halves: bool


_SPECIAL = dict.fromkeys(map(table.fold, table.NOON.split()), 720)
_SPECIAL |= dict.fromkeys(map(table.fold, table.MIDNIGHT.split()), 0)
_TWELVE = re.compile(r"(?:12|twelve)(?:[:.]00)?(?: o'clock)? ?(?:in the |at )?(\S+)")
_DIGITS = re.compile(
    r"(?P<hour>\d{1,2})(?: ?(?P<mark>[:.h]) ?(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?"
    r" ?(?P<clock>o'clock|uhr|hrs|часов)?"
    r" ?(?P<half>[ap] ?\.? ?m\.?|in the (?:morning|afternoon|evening)|at night)?"
)
_CHINESE_TIME = re.compile(
    r"(?P<half>上午|早上|早晨|凌晨|下午|傍晚|晚上|中午|夜里|오전|오후|午前|午後)? ?"
    r"(?P<hour>\d{1,2}|\w{1,3}?) ?"
    r"(?P<unit>[点點时時시]|:)(?:整|钟)?"
    r"(?: ?(?:(?P<minute>\d{1,2}|\w{1,4}?) ?[分분]?|(?P<part>半|一刻|三刻)))?"
)
_LATE = ("noon", "evening", "night")
_AFTERNOON = frozenset(("下午", "傍晚", "晚上", "夜里", "오후", "午後"))
_PAST = re.compile(
    r"(?:a )?(half|quarter|[a-z-]+|\d{1,2}) (?:minutes )?(past|after|to|before|till) ([a-z]+|\d{1,2})"
)


@lru_cache(maxsize=2048)
def _clock(text: str) -> _Clock | None:
    if len(text) > MAX_CHARS:
        return None
    words = _plain(text).strip()
    special = _SPECIAL.get(words.strip(" ."))
    if special is not None:
        return _Clock(Fraction(special), marked=True, halves=False)
    twelve = _TWELVE.fullmatch(words)
    if twelve is not None and twelve[1].strip(".") in _SPECIAL:
        return _Clock(Fraction(_SPECIAL[twelve[1].strip(".")]), marked=True, halves=False)
    return _digital(words) or _chinese_time(words) or _spoken(words)


def _digital(text: str) -> _Clock | None:
    found = _DIGITS.fullmatch(text)
    if found is None:
        return None
    half = found["half"]
    if found["minute"] is None and half is None and found["clock"] is None:
        return None
    if found["mark"] == "." and half is None and found["clock"] is None:
        return None  # 3.45 is a decimal
    if found["second"] and half is None and not found["hour"].startswith("0"):
        return None  # 10:20:30 is a ratio
    seconds = int(found["second"] or 0)
    if seconds >= 60:
        return None
    named = (
        None
        if half is None
        else ("p" if half[0] == "p" or half.endswith(("noon", "evening", "night")) else "a")
    )
    padded = found["hour"].startswith("0") or found["mark"] == "h"
    return _timed(int(found["hour"]), int(found["minute"] or 0), seconds, named, padded)


def _timed(hour: int, minute: int, second: int, half: str | None, padded: bool) -> _Clock | None:
    """half: "a" before noon, "p" after, None unsaid."""
    if minute >= 60 or hour > 24 or (half is not None and hour > 12 and half == "a"):
        return None
    if half == "p" and hour < 12:
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    minutes = Fraction(60 * hour + minute) + Fraction(second, 60)
    if minutes > MINUTES_OF_DAY:
        return None
    return _Clock(minutes % MINUTES_OF_DAY, half is not None, half is None and not padded and 1 <= hour <= 12)


def _chinese_time(text: str) -> _Clock | None:
    found = _CHINESE_TIME.fullmatch(text)
    if found is None or (found["unit"] == ":" and (found["half"] is None or found["minute"] is None)):
        return None
    if found["unit"] in "时時" and not (found["half"] or found["minute"] or found["part"]):
        return None  # hours, not a time
    hour = _small(found["hour"])
    minute = {"半": 30, "一刻": 15, "三刻": 45}.get(found["part"] or "", 0)
    if found["minute"]:
        counted = {"半": 30, "一刻": 15, "三刻": 45}.get(found["minute"], _small(found["minute"]))
        if counted is None:
            return None
        minute = counted
    if hour is None:
        return None
    half = None if found["half"] is None else ("p" if found["half"] in _AFTERNOON else "a")
    return _timed(hour, minute, 0, None if found["half"] == "中午" else half, padded=False)


def _spoken(text: str) -> _Clock | None:
    """ "half past two", "quarter to 9", "ten past five", "three o'clock"."""
    if text.endswith(" o'clock"):
        hour = _small(text.removesuffix(" o'clock"))
        return _timed(hour, 0, 0, None, padded=False) if hour is not None and hour <= 12 else None
    found = _PAST.fullmatch(text)
    if found is None:
        return None
    minutes = {"half": 30, "quarter": 15}.get(found[1], _small(found[1]))
    hour = _small(found[3])
    if minutes is None or hour is None or not 1 <= hour <= 12:
        return None
    if found[2] in ("to", "before", "till"):
        hour, minutes = (hour - 1) or 12, 60 - minutes
    return _timed(hour, minutes, 0, None, padded=False)
