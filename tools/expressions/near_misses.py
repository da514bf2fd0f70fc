"""One token of an answer changed, so that the answer is another one.

Where the independent reader can evaluate both, it must find them different; where it cannot, only changes
that no reading of the text undoes are made.
"""

import re
from collections.abc import Callable, Iterator
from random import Random

from .independent import same_value, split_top
from .spelling import bare, is_formula

Mutation = Callable[[str, Random], str | None]

_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+", re.ASCII)
# Numbers that name something: indices, the columns of an array, what stands in the name of a colour or letter.
_NAMING = re.compile(
    r"_\{?\s*[\w,+-]*$|_\{?\s*\\\w+\{?[\w\s]*$|\{array\}\{[^}]*$|\\begin\{[^}]*$|[A-Za-z]$", re.ASCII
)
_CLOSINGS = {")": "]", "]": ")"}


def _changeable(text: str) -> list[re.Match[str]]:
    start = 0
    if text.count("=") and not re.search(r"[<>]|\\(?:le|ge|ne)(?![a-z])|\\[lg]eq|\\begin", text):
        start = text.rindex("=")  # what stands left of the last "=" may be no more than a label
    return [
        found
        for found in _NUMBER.finditer(text)
        if found.start() >= start and not _NAMING.search(text[max(0, found.start() - 40) : found.start()])
    ]


def _changed_digits(digits: str, rng: Random) -> str:
    if "." in digits:
        last = int(digits[-1])
        return digits[:-1] + str((last + rng.choice((1, 2, -1))) % 10)
    value = int(digits)
    choices = [value + 1, value + 2, value * 10 + 1, value + 10]
    if value > 1:
        choices.append(value - 1)
    turned = digits[::-1]
    if len(digits) > 1 and turned != digits and turned[0] != "0":
        choices.append(int(turned))
    return str(rng.choice(choices))


def other_number(text: str, rng: Random) -> str | None:
    """One number of the text is another number."""
    found = _changeable(text)
    if not found:
        return None
    chosen = rng.choice(found)
    new = _changed_digits(chosen[0], rng)
    if chosen.end() < len(text) and text[chosen.end()].isdigit():
        return None
    if len(chosen[0]) == 1 < len(new) and re.search(r"(?:\^|frac|frac\d|sqrt)$", text[: chosen.start()]):
        new = f"{{{new}}}"
    return text[: chosen.start()] + new + text[chosen.end() :]


_SIGN_MAY_NOT_MATTER = re.compile(
    r"[<>|!]|\\(?:pm|mp|leq?|geq?|cos|sec|infty)(?![a-z])|\\[{]|\^|\d,\d{3}", re.ASCII
)


def other_sign(text: str, rng: Random) -> str | None:
    """A sum for a difference, a negative for a positive."""
    if not is_formula(text) or "=" in text or _SIGN_MAY_NOT_MATTER.search(text):
        return None
    signs = [at for at, char in enumerate(text) if char in "+-" and at and text[at - 1] not in "{(["]
    if not signs:
        return (
            f"-{bare(text)}" if re.fullmatch(r"[\d.]*[1-9][\d.]*|\\frac.*|\d*\\sqrt.*", bare(text)) else None
        )
    at = rng.choice(signs)
    return text[:at] + ("-" if text[at] == "+" else "+") + text[at + 1 :]


def other_end(text: str, rng: Random) -> str | None:
    """An interval with one end closed that was open, or the other way round."""
    plain = bare(text)
    found = re.fullmatch(r"(\(|\[)([^()\[\]{}]*),([^()\[\]{}]*)(\]|\))", plain)
    if found is None or (found[1] == "(" and found[4] == ")") or "infty" in found[3]:
        return None
    return plain[:-1] + _CLOSINGS[plain[-1]]


def swapped_places(text: str, rng: Random) -> str | None:
    """Two entries of a tuple change places."""
    plain = bare(text)
    members = (
        split_top(plain[1:-1])
        if plain[:1] == "(" and plain[-1:] == ")" and len(split_top(plain)) == 1
        else []
    )
    if len(members) < 2 or same_value(members[0], members[1]) is not False:
        return None
    return "(" + ", ".join([members[1], members[0], *members[2:]]) + ")"


def one_missing(text: str, rng: Random) -> str | None:
    """A member of a list is left out."""
    plain = bare(text)
    found = re.fullmatch(r"\\\{(.*)\\\}", plain)
    members = split_top(found[1] if found else plain)
    if not is_formula(text) or len(members) < 3 or re.search(r"dots|\d,\d{3}|[=|:$]", plain):
        return None
    verdicts = {same_value(members[0], member) for member in members[1:]}
    if verdicts != {False}:
        return None
    return ("\\{{{}\\}}" if found else "{}").format(", ".join(members[1:]))


def other_letter(text: str, rng: Random) -> str | None:
    """A word spelled otherwise, or another option."""
    found = re.fullmatch(r"(\\text\{)?(\(?)([A-Za-z][A-Za-z ]*)(\)?)(\})?", text.strip())
    if found is None:
        return None
    word = found[3]
    if len(word) == 1:
        other = rng.choice([letter for letter in "ABCDE" if letter != word.upper()])
    elif len(word) >= 4:
        at = rng.randrange(1, len(word) - 1)
        other = word[:at] + ("q" if word[at] != "q" else "v") + word[at + 1 :]
    else:
        return None
    return "".join((found[1] or "", found[2], other, found[4], found[5] or ""))


MUTATIONS: tuple[Mutation, ...] = (other_sign, other_end, swapped_places, one_missing, other_letter)


def _attempts(text: str, rng: Random) -> Iterator[tuple[str | None, str]]:
    if rng.random() < 0.3:
        for mutation in rng.sample(MUTATIONS, len(MUTATIONS)):
            yield mutation(text, rng), mutation.__name__
    for _ in range(6):
        yield other_number(text, rng), other_number.__name__
    for mutation in rng.sample(MUTATIONS, len(MUTATIONS)):
        yield mutation(text, rng), mutation.__name__


def near_miss(text: str, rng: Random) -> tuple[str, str] | None:
    """A text that differs in one token and in value, and the change's name; None where none is certain."""
    for new, name in _attempts(text, rng):
        if new is None or new == text:
            continue
        same = same_value(text, new)
        if same is False or (same is None and _is_certain(text)):
            return new, name
    return None


_UNCERTAIN = re.compile(
    r"(?<![\d.])0(?![\d.])\s*(?:\\cdot|\\times|[a-zA-Z(])"
    r"|\\(?:Rightarrow|text\{ ?or|lfloor|lceil)|:|\bor\b|\\approx|≈|\\begin\{aligned|\\end\{\w+\}[^=]{0,60}="
)
# Sentences work an answer out: a slip on the way there is no other answer.
_SENTENCES = re.compile(
    r"(?<![\\A-Za-z])(?:yes|no|so|thus|therefore|hence|have|(?:is|are)\s)(?![A-Za-z])", re.IGNORECASE
)


def _is_certain(text: str) -> bool:
    """No factor of nothing, no choice of names, no second form of the same answer that could stand alone."""
    return not _UNCERTAIN.search(text) and not _SENTENCES.search(text)
