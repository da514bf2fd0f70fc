"""Small expression trees: their value, equal and unequal neighbours. How they are written is writing.py's affair."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any, TypeAlias

import mpmath  # type: ignore[import-untyped]

from .independent import DIGITS

CALLS: dict[str, Callable[[Any], Any]] = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "ln": mpmath.log,
}
CONSTANTS = {"\\pi": mpmath.pi, "e": mpmath.e}
LETTERS = ("x", "y", "a", "b", "n", "t")
# Positive and of both signs; irrational-looking, so that an accidental agreement is out of the question.
POINTS: tuple[Mapping[str, float], ...] = (
    dict(zip(LETTERS, (1.7321, 0.6931, 2.2361, 1.1447, 3.1463, 0.2619), strict=True)),
    dict(zip(LETTERS, (-1.3217, 2.6458, -0.5772, -0.9159, 1.4513, -2.7193), strict=True)),
)


@dataclass(frozen=True, slots=True)
class Num:
    value: Fraction


@dataclass(frozen=True, slots=True)
class Name:
    """A letter, or a constant by its TeX name."""

    name: str


@dataclass(frozen=True, slots=True)
class Sum:
    args: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Product:
    args: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Quotient:
    args: tuple["Tree", ...]


@dataclass(frozen=True, slots=True)
class Power:
    args: tuple["Tree", ...]
    exponent: int


@dataclass(frozen=True, slots=True)
class Root:
    args: tuple["Tree", ...]
    index: int


@dataclass(frozen=True, slots=True)
class Call:
    args: tuple["Tree", ...]
    name: str


Branch: TypeAlias = Sum | Product | Quotient | Power | Root | Call
Tree: TypeAlias = Num | Name | Branch


def number(value: int | Fraction) -> Num:
    return Num(Fraction(value))


def letters_in(tree: Tree) -> frozenset[str]:
    if isinstance(tree, Num):
        return frozenset()
    if isinstance(tree, Name):
        return frozenset({tree.name} - set(CONSTANTS))
    return frozenset[str]().union(*(letters_in(arg) for arg in tree.args))


# -- value


def _value(tree: Tree, point: Mapping[str, float]) -> Any:
    if isinstance(tree, Num):
        return mpmath.mpf(tree.value.numerator) / tree.value.denominator
    if isinstance(tree, Name):
        return +CONSTANTS[tree.name] if tree.name in CONSTANTS else mpmath.mpf(point[tree.name])
    values = [_value(arg, point) for arg in tree.args]
    if isinstance(tree, Sum):
        return mpmath.fsum(values)
    if isinstance(tree, Product):
        return mpmath.fprod(values)
    if isinstance(tree, Quotient):
        return values[0] / values[1]
    if isinstance(tree, Power):
        return values[0] ** tree.exponent
    if isinstance(tree, Root):
        negative = tree.index % 2 == 1 and mpmath.im(values[0]) == 0 and mpmath.re(values[0]) < 0
        return -mpmath.root(-values[0], tree.index) if negative else mpmath.root(values[0], tree.index)
    return CALLS[tree.name](values[0])


def value(tree: Tree, point: Mapping[str, float] = POINTS[0]) -> Any:
    """The value at a point, to 60 digits; None where it is undefined."""
    with mpmath.workdps(DIGITS):
        try:
            return mpmath.mpmathify(_value(tree, point))
        except (ZeroDivisionError, ValueError, OverflowError):
            return None


def agree(one: Tree, other: Tree) -> bool | None:
    """Have two trees one value at every point? None where neither has a value anywhere."""
    verdict: bool | None = None
    for point in POINTS:
        a, b = value(one, point), value(other, point)
        if a is None or b is None:
            continue
        with mpmath.workdps(DIGITS):
            if abs(a - b) > mpmath.mpf(10) ** -45 * max(abs(a), abs(b)):
                return False
        verdict = True
    return verdict


# -- making


def scalar(rng: Random, depth: int = 2, letters: tuple[str, ...] = ()) -> Tree:
    """An expression of a given depth; with letters, one that may hold them."""
    if depth <= 0:
        return leaf(rng, letters)
    kind = rng.randrange(9)

    def inner() -> Tree:
        return scalar(rng, depth - 1 - rng.randrange(2), letters)

    if kind <= 2:
        return Sum(tuple(inner() for _ in range(rng.choice((2, 2, 3)))))
    if kind <= 4:
        return Product(tuple(inner() for _ in range(2)))
    if kind == 5:
        return Quotient((inner(), _nonzero(rng, depth - 1, letters)))
    if kind == 6:
        return Power((inner(),), rng.randint(2, 4))
    if kind == 7:
        return Root((number(rng.choice((2, 3, 5, 6, 7, 10, 12, 18, 50))),), rng.choice((2, 2, 2, 3)))
    if letters:
        return Call((leaf(rng, letters),), rng.choice(("sin", "cos", "tan")))
    return rng.choice((Name("\\pi"), Name("e"), Call((number(rng.randint(2, 9)),), "ln")))


def leaf(rng: Random, letters: tuple[str, ...] = ()) -> Tree:
    if letters and rng.random() < 0.55:
        return Name(rng.choice(letters))
    if rng.random() < 0.75:
        return number(rng.choice((1, -1, 1)) * rng.randint(1, 30))
    return Num(
        Fraction(rng.choice((1, -1)) * rng.randint(1, 40), rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 10, 20)))
    )


def _nonzero(rng: Random, depth: int, letters: tuple[str, ...]) -> Tree:
    for _ in range(4):
        found = scalar(rng, depth - 1, letters)
        if all(abs(value(found, point) or 0) > 1e-9 for point in POINTS):
            return found
    return number(rng.randint(2, 12))


def polynomial(rng: Random, letter: str = "x") -> Tree:
    """A sum of a few powers of one letter."""
    degrees = sorted(rng.sample(range(5), rng.randint(2, 4)), reverse=True)
    return Sum(
        tuple(_monomial(rng.choice((1, -1)) * rng.randint(1, 12), letter, degree) for degree in degrees)
    )


def _monomial(factor: int, letter: str, degree: int) -> Tree:
    if degree == 0:
        return number(factor)
    power: Tree = Name(letter) if degree == 1 else Power((Name(letter),), degree)
    return power if factor == 1 else Product((number(factor), power))


# -- neighbours


def equal_tree(tree: Tree, rng: Random) -> Tree:
    """The same value by another expression: one law of arithmetic at one place."""
    if not isinstance(tree, Num | Name) and rng.random() < 0.5:
        return _with_arg(tree, rng, equal_tree)
    laws = (_commuted, _distributed, _multiplied_out, _scaled, _added_nothing, _split)
    for law in rng.sample(laws, len(laws)):
        new = law(tree, rng)
        if new is not None:
            return new
    return tree


def _with_arg(tree: Branch, rng: Random, change: Callable[[Tree, Random], Tree]) -> Tree:
    at = rng.randrange(len(tree.args))
    return replace(tree, args=(*tree.args[:at], change(tree.args[at], rng), *tree.args[at + 1 :]))


def _commuted(tree: Tree, rng: Random) -> Tree | None:
    if not isinstance(tree, Sum | Product):
        return None
    return replace(tree, args=tree.args[1:] + tree.args[:1])


def _distributed(tree: Tree, rng: Random) -> Tree | None:
    if not isinstance(tree, Product):
        return None
    for at, arg in enumerate(tree.args):
        if isinstance(arg, Sum):
            rest = tree.args[:at] + tree.args[at + 1 :]
            return Sum(tuple(Product((*rest, term)) for term in arg.args))
    return None


def _multiplied_out(tree: Tree, rng: Random) -> Tree | None:
    if not isinstance(tree, Power) or tree.exponent > 3:
        return None
    return Product(tree.args * tree.exponent)


def _scaled(tree: Tree, rng: Random) -> Tree | None:
    factor = number(rng.randint(2, 9))
    if isinstance(tree, Quotient):
        return Quotient(tuple(Product((factor, arg)) for arg in tree.args))
    return Quotient((Product((factor, tree)), factor))


def _added_nothing(tree: Tree, rng: Random) -> Tree | None:
    extra = rng.randint(1, 12)
    return Sum((tree, number(extra), number(-extra)))


def _split(tree: Tree, rng: Random) -> Tree | None:
    if not isinstance(tree, Num):
        return None
    part = rng.randint(1, 20)
    return Sum((Num(tree.value - part), number(part)))


def other_tree(tree: Tree, rng: Random) -> Tree:
    """Another value: one number, sign, exponent or name is another. The values are compared."""
    for _ in range(20):
        new = _changed(tree, rng)
        if agree(tree, new) is False:
            return new
    return Sum((tree, number(1)))


def _changed(tree: Tree, rng: Random) -> Tree:
    if isinstance(tree, Num):
        step = rng.choice((1, -1, 2)) if tree.value.denominator == 1 else Fraction(1, tree.value.denominator)
        return Num(-tree.value) if rng.random() < 0.15 else Num(tree.value + step)
    if isinstance(tree, Name):
        return rng.choice((Product((number(2), tree)), Sum((tree, number(1)))))
    if isinstance(tree, Power) and rng.random() < 0.3:
        return replace(tree, exponent=tree.exponent + 1)
    if isinstance(tree, Root) and rng.random() < 0.2:
        return replace(tree, index=5 - tree.index)
    if isinstance(tree, Call) and tree.name != "ln" and rng.random() < 0.4:
        return replace(tree, name="sin" if tree.name != "sin" else "cos")
    return _with_arg(tree, rng, _changed)
