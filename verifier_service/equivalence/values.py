"""Values and what can be asked of them: an exact rational, a real ball, a complex ball.

Exact big-number code stalls or aborts the process on 7^(10^10), while a ball of it costs microseconds: hence the
bounds, beyond which an exact value becomes a ball.
"""

from flint import acb, arb, ctx, fmpq

Value = fmpq | arb | acb

MAX_EXACT_BITS = 300_000  # a power or factorial beyond this becomes a ball
MAX_FACTORIAL = 20_000
ONE, TWO, ZERO, HALF = fmpq(1), fmpq(2), fmpq(0), fmpq(1, 2)


class Undefined(ArithmeticError):
    """Some sub-expression has no value here: a division by zero, a root of a negative number."""


class precision:  # noqa: N801 - reads as the verb of a with statement
    """Working precision of all balls inside the block. A class: a generator would cost as much as the evaluation."""

    __slots__ = ("before", "bits")

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def __enter__(self) -> None:
        self.before = ctx.prec
        ctx.prec = self.bits

    def __exit__(self, *fault: object) -> None:
        ctx.prec = self.before


def ball(value: Value) -> arb | acb:
    return arb(value) if isinstance(value, fmpq) else value


def complex_ball(value: Value) -> acb:
    return value if isinstance(value, acb) else acb(ball(value))


def apart(a: Value, b: Value) -> bool:
    """Are the two certainly different? Exact values by equality, balls by disjointness."""
    if isinstance(a, fmpq) and isinstance(b, fmpq):
        return bool(a != b)
    if isinstance(a, acb) or isinstance(b, acb):
        return not complex_ball(a).overlaps(complex_ball(b))
    return not arb(a).overlaps(arb(b))


def same_kind(a: Value, b: Value) -> tuple[Value, Value]:
    """Both as fmpq, both as arb, or both as acb."""
    if type(a) is type(b):
        return a, b
    if isinstance(a, acb) or isinstance(b, acb):
        return complex_ball(a), complex_ball(b)
    return ball(a), ball(b)


def contains_zero(value: Value) -> bool:
    return bool(value == 0) if isinstance(value, fmpq) else value.contains(0)


def real(value: Value) -> fmpq | arb:
    """Raises Undefined for a value with an imaginary part."""
    if isinstance(value, acb):
        if value.imag.is_zero():
            return value.real
        raise Undefined("a real number is needed")
    return value


def bounded(value: Value) -> Value:
    """An exact value that grew too large becomes a ball."""
    if isinstance(value, fmpq) and value.height_bits() > MAX_EXACT_BITS:
        return arb(value)
    return value
