"""Exact identity of rational functions: cross-multiplied multivariate polynomials over the rationals."""

from math import comb

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from .nodes import Add, Const, Div, Mixed, Mul, Neg, Node, Num, Pow, Repeating, Sym, Trait

MAX_TERMS = 3_000
MAX_DEGREE = 2_000

_NOT_RATIONAL = (
    Trait.TRANSCENDENTAL | Trait.ABS | Trait.INTEGER_ONLY | Trait.IMAGINARY | Trait.UNEVALUATED | Trait.STRUCTURE
    | Trait.PLUS_MINUS | Trait.PERCENT | Trait.UNIT | Trait.DEGREE
)  # fmt: skip

Fraction = tuple[fmpq_mpoly, fmpq_mpoly]


class TooLarge(ArithmeticError):
    """The polynomials would have too many terms; sample instead."""


def looks_rational(node: Node) -> bool:
    """Only sums, products, quotients and small whole powers of numbers and letters."""
    return not node.traits & _NOT_RATIONAL


def _times(a: fmpq_mpoly, b: fmpq_mpoly) -> fmpq_mpoly:
    if len(a) * len(b) > 20 * MAX_TERMS:
        raise TooLarge
    return a * b


def _power(a: fmpq_mpoly, exponent: int) -> fmpq_mpoly:
    terms = len(a)
    if terms > 1 and comb(exponent + terms - 1, min(terms - 1, exponent)) > MAX_TERMS:
        raise TooLarge
    if terms == 1 and exponent * max(a.total_degree(), 1) > MAX_DEGREE:
        raise TooLarge
    return a**exponent


class _Builder:
    def __init__(self, names: list[str]) -> None:
        self.context = fmpq_mpoly_ctx.get(tuple(f"v{i}" for i in range(len(names))), Ordering.lex)
        self.letters = dict(zip(names, self.context.gens(), strict=True))
        self.one = self.context.constant(1)

    def constant(self, value: fmpq) -> Fraction:
        return self.context.constant(value), self.one

    def fraction(self, node: Node) -> Fraction:
        if isinstance(node, (Num, Repeating)):
            return self.constant(node.value)
        if isinstance(node, (Sym, Const)):
            return self.letters[node.name], self.one
        if isinstance(node, Add):
            return self._sum(node)
        if isinstance(node, Mul):
            return self._product(node)
        if isinstance(node, Neg):
            top, bottom = self.fraction(node.args[0])
            return -top, bottom
        if isinstance(node, Div):
            a, b = self.fraction(node.args[0])
            c, d = self.fraction(node.args[1])
            if not c:
                raise ZeroDivisionError
            return _times(a, d), _times(b, c)
        if isinstance(node, Pow):
            return self._raised(node)
        if isinstance(node, Mixed):
            whole, part, parts = (arg.value for arg in node.args if isinstance(arg, Num))
            return self.constant(whole + part / parts)
        raise TooLarge

    def _sum(self, node: Node) -> Fraction:
        top, bottom = self.fraction(node.args[0])
        for arg in node.args[1:]:
            c, d = self.fraction(arg)
            if bottom == d:
                top = top + c
            else:
                top, bottom = _times(top, d) + _times(c, bottom), _times(bottom, d)
            if len(top) > MAX_TERMS:
                raise TooLarge
        return top, bottom

    def _product(self, node: Node) -> Fraction:
        top, bottom = self.fraction(node.args[0])
        for arg in node.args[1:]:
            c, d = self.fraction(arg)
            top, bottom = _times(top, c), _times(bottom, d)
        return top, bottom

    def _raised(self, node: Node) -> Fraction:
        base, exponent = node.args
        if not isinstance(exponent, Num) or exponent.value.q != 1 or abs(exponent.value) > MAX_DEGREE:
            raise TooLarge
        n = int(exponent.value.p)
        top, bottom = self.fraction(base)
        if n < 0:
            if not top:
                raise ZeroDivisionError
            top, bottom, n = bottom, top, -n
        return _power(top, n), _power(bottom, n)


def same_rational_function(a: Node, b: Node, names: list[str]) -> bool | None:
    """Are a and b one rational function of `names`? None where that is too large to expand.

    Raises ZeroDivisionError where one side divides by the zero polynomial.
    """
    builder = _Builder(names)
    try:
        top_a, bottom_a = builder.fraction(a)
        top_b, bottom_b = builder.fraction(b)
        if bottom_a == bottom_b:
            return bool(top_a == top_b)
        return bool(_times(top_a, bottom_b) == _times(top_b, bottom_a))
    except TooLarge:
        return None


def constants_in(node: Node) -> frozenset[str]:
    """pi and e are letters to a polynomial: they satisfy no equation of its kind."""
    return frozenset(part.name for part in node.walk() if isinstance(part, Const))


def polynomial_coefficients(node: Node, names: list[str]) -> Fraction | None:
    """Numerator and denominator of a rational expression; None where it is none or too large."""
    if not looks_rational(node):
        return None
    try:
        return _Builder(names).fraction(node)
    except (TooLarge, ZeroDivisionError):
        return None


__all__ = ["TooLarge", "looks_rational", "polynomial_coefficients", "same_rational_function"]
