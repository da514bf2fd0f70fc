"""Powers and roots of values, with bounds before anything is computed.

complex_values: are roots of negative numbers complex, instead of undefined?
"""

from flint import acb, arb, fmpq, fmpz

from .lexer import Refused
from .values import MAX_EXACT_BITS, ONE, ZERO, Undefined, Value, complex_ball, contains_zero


def power(complex_values: bool, base: Value, exponent: Value) -> Value:
    if type(exponent) is fmpq:
        if exponent.q == 1:
            return _integer_power(base, exponent.p)
        if isinstance(base, acb):
            return base ** acb(arb(exponent))
        return _rational_power(complex_values, base, exponent)
    if isinstance(base, acb) or isinstance(exponent, acb):
        if contains_zero(base):
            raise Undefined("zero to a complex power")
        return complex_ball(base) ** complex_ball(exponent)
    base = arb(base)
    if base > 0:
        return base**exponent
    if base == 0 and exponent > 0:
        return ZERO
    if complex_values and base < 0:
        return acb(base) ** acb(exponent)
    raise Undefined("a negative base under a real exponent")


def _integer_power(base: Value, exponent: fmpz) -> Value:
    if exponent < 0 and contains_zero(base):
        raise Undefined("division by zero")
    if type(base) is fmpq:
        if exponent == 0 or base == 1:
            return ONE
        if base == 0:
            return ZERO
        if base == -1:
            return ONE if exponent % 2 == 0 else -ONE
        if abs(exponent) * base.height_bits() <= MAX_EXACT_BITS:
            return base ** int(exponent)
        base = arb(base)
    if abs(exponent) < 1 << 62:
        return base ** int(exponent)
    if isinstance(base, acb):
        return base ** acb(exponent)
    size = (-base if base < 0 else base) ** arb(exponent)
    return -size if base < 0 and exponent % 2 == 1 else size


def _rational_power(complex_values: bool, base: fmpq | arb, exponent: fmpq) -> Value:
    degree = exponent.q
    if contains_zero(base) and exponent < 0:
        raise Undefined("division by zero")
    rooted = nth_root(complex_values, base, degree)
    return _integer_power(rooted, exponent.p)


def nth_root(complex_values: bool, base: fmpq | arb, degree: fmpz) -> Value:
    """The real root where there is one (odd roots of negatives too), else the principal one if allowed."""
    if degree > 1 << 30:
        raise Refused("root out of bounds")
    n = int(degree)
    if type(base) is fmpq:
        if base < 0:
            if n % 2:
                return -nth_root(complex_values, -base, degree)
        elif (exact := _exact_root(base, n)) is not None:
            return exact
    real = arb(base)
    if real >= 0:
        return real.root(n)
    if real < 0:
        if n % 2:
            return -((-real).root(n))
        if complex_values:
            return acb(real).root(n)
    raise Undefined("an even root of a negative number")


def _exact_root(base: fmpq, n: int) -> fmpq | None:
    """The n-th root of a non-negative rational if it is rational."""
    if base.height_bits() > 20_000:
        return None
    if n == 2:
        if base.p.is_square() and base.q.is_square():
            return fmpq(base.p.isqrt(), base.q.isqrt())
        return None
    top, bottom = base.p.root(n), base.q.root(n)
    return fmpq(top, bottom) if top**n == base.p and bottom**n == base.q else None
