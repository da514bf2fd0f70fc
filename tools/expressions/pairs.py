"""Pairs of texts without a label: for promises that hold of any two texts, such as symmetry."""

from collections.abc import Iterator
from random import Random

from .answers import KINDS, answer, equal_answer, other_answer
from .writing import Style

_JUNK = (
    *("{", "}", "\\", "$", "^", "_", "(", ")", "|", ",", ";", "=", "&", "%"),
    *("\\frac", "\\sqrt", "\\text{", "\x00", "\ud800", "٣", "∞", "⅓"),
)


def mangled(text: str, rng: Random) -> str:
    """A text with a few characters lost, doubled, or replaced by what a parser may stumble over."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(("", text[at : at + 1] * 2, *_JUNK)) + text[at + 1 :]
    return text


def generated_pairs(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Equal, near, unrelated and broken pairs of every kind of answer."""
    for number in range(count):
        rng = Random(f"{seed}:{number}")
        one = answer(rng, KINDS[number % len(KINDS)])
        first = one.written(rng)
        style = Style(plain=rng.random() < 0.2)
        choice = rng.randrange(8)
        if choice < 3:
            second = equal_answer(one, rng).written(rng, style)
        elif choice < 5:
            second = other_answer(one, rng).written(rng, style)
        elif choice == 5:
            second = answer(rng).written(rng, style)
        elif choice == 6:
            second = mangled(first, rng)
        else:
            first, second = mangled(first, rng), mangled(equal_answer(one, rng).written(rng, style), rng)
        yield first, second
