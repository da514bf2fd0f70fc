"""Words that stand for mathematics: three, infinity, no solution, all real numbers."""

from flint import fmpq

from .connectives import may_be_noun
from .kinds import phrases
from .kinds.words import family
from .nodes import Const, NamedSet, Neg, Node, Num
from .numerals import number_words


def tree_of_words(words: str) -> Node | None:
    """The tree that a whole phrase means; None where it means none."""
    number = number_words(words)
    if number is not None:
        return Num(fmpq(number.numerator, number.denominator), None, 1)
    meaning = family(words)
    if meaning in (phrases.INFINITY, phrases.INFINITELY_MANY, phrases.INFINITE):
        return Const("inf")
    if meaning == phrases.MINUS_INFINITY:
        return Neg((Const("inf"),))
    if meaning in (phrases.NO_SOLUTION, phrases.EMPTY_SET):
        return NamedSet("empty")
    if meaning == phrases.ALL_REALS:
        return NamedSet("R")
    return None


def counted(words: str) -> Node | None:
    """The number in front of a counted noun: "two solutions"."""
    parts = words.split()
    for size in range(len(parts) - 1, 0, -1):
        if (
            len(parts) - size <= 2
            and all(map(may_be_noun, parts[size:]))
            and (number := number_words(" ".join(parts[:size]))) is not None
        ):
            return Num(fmpq(number.numerator, number.denominator), None, 1)
    return None
