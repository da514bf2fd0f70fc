"""Dates, times of day and names of days, where both sides say that they are such.

gold          answer            verdict
2019-06-09    June 9, 2019      correct
8:15          08:15             correct     minutes below 60: times where a side or the prompt says so
noon          midnight          incorrect
"""

import re

from ..dates import parse_date, same_time
from ..decision import Decision, correct, incorrect

_CLOCK = re.compile(r"\d{1,2}\s*:\s*[0-5]\d")
_TWO_DIGITS = re.compile(r"0\d\s*:|:\s*0\d")
_SLASHED = re.compile(r"0\d/\d\d|\d\d/0\d")
_FORMULA = re.compile(r"[=^_+*<>()|]|\\frac|\\sqrt")  # nothing of the kind stands in a date or a time
_SAYS_TIME = re.compile(
    r"\b(?:time|o'clock|a\.?m\.?|p\.?m\.?|clock|when|noon|midnight|hour)\b|几点|时间", re.IGNORECASE
)
MAX_CHARS = 60


def compare_times(gold: str, answer: str, prompt: str) -> Decision | None:
    """None where the two are not dates or times."""
    if len(gold) > MAX_CHARS or len(answer) > MAX_CHARS or gold.isdigit():
        return None
    if "/" in gold or "/" in answer:
        undecided = _SLASHED.fullmatch(gold) is not None, _SLASHED.fullmatch(answer) is not None
        if any(undecided):
            return (
                correct("text", "equal text")
                if gold == answer
                else incorrect("text", "a date of either order")
            )
    if _FORMULA.search(gold):
        return None
    date = parse_date(gold)
    if date is not None:
        other = parse_date(answer)
        if other is None:
            return incorrect("rule", "a date is asked for")
        return correct("exact", "the same day") if date == other else incorrect("exact", "another day")
    same = same_time(gold, answer)
    if same is None or not _is_time(gold, answer, prompt):
        return None
    return correct("exact", "the same time") if same else incorrect("exact", "another time")


def _is_time(gold: str, answer: str, prompt: str) -> bool:
    """d:dd is a ratio unless something says that it is a time."""
    if not all(_CLOCK.fullmatch(text.strip()) for text in (gold, answer)):
        return True
    return bool(_TWO_DIGITS.search(gold) or _TWO_DIGITS.search(answer) or _SAYS_TIME.search(prompt))
