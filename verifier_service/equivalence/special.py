"""The named functions, on values: trigonometry, logarithms, roundings, factorials."""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

from flint import acb, arb, fmpq, fmpz

from .lexer import Refused
from .powers import nth_root, power
from .values import (
    MAX_EXACT_BITS,
    ONE,
    ZERO,
    Undefined,
    Value,
    ball,
    complex_ball,
    contains_zero,
    real,
    same_kind,
)

MAX_FACTORIAL = 20_000

Values = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Mode:
    """complex_values: roots and logarithms of negative numbers are complex instead of undefined.
    log_base: what \\log without a base means, 0 for natural.
    """

    complex_values: bool = False
    log_base: int = 0


def exp_of(value: Value) -> Value:
    return ONE if type(value) is fmpq and value == 0 else ball(value).exp()


def _analytic(name: str) -> Callable[[Mode, Values], Value]:
    """An everywhere real-analytic function of balls: sin, tanh, ..."""

    def apply(mode: Mode, args: Values) -> Value:
        (arg,) = args
        value = ball(arg)
        result: Value = getattr(value, name)()
        return result

    return apply


def _inverse(name: str, low: int, high: int | None) -> Callable[[Mode, Values], Value]:
    """An inverse function, real on [low, high] only."""

    def apply(mode: Mode, args: Values) -> Value:
        (arg,) = args
        value = ball(arg)
        if isinstance(value, arb) and (value < low or (high is not None and value > high)):
            if not mode.complex_values:
                raise Undefined("outside the domain")
            value = acb(value)
        result: Value = getattr(value, name)()
        return result

    return apply


def _reciprocal_of(inverse: str) -> Callable[[Mode, Values], Value]:
    """arcsec, arccsc, arccot through the reciprocal."""

    def apply(mode: Mode, args: Values) -> Value:
        value = ball(args[0])
        if inverse == "acot":
            return arb.pi() / 2 - value.atan()
        if value.contains(0):
            raise Undefined("division by zero")
        value = 1 / value
        if isinstance(value, arb) and not abs(value) <= 1:
            raise Undefined("outside the domain")
        result: Value = getattr(value, inverse)()
        return result

    return apply


def _ln(mode: Mode, args: Values) -> Value:
    return log_of(mode, args[0])


def log_of(mode: Mode, value: Value) -> Value:
    if contains_zero(value):
        raise Undefined("logarithm of zero")
    if type(value) is fmpq and value == 1:
        return ZERO
    value = ball(value)
    if isinstance(value, arb) and not value > 0:
        if not mode.complex_values:
            raise Undefined("logarithm of a negative number")
        value = acb(value)
    return value.log()


def _log(mode: Mode, args: Values) -> Value:
    value = args[0]
    return _log_to(mode, value, fmpq(mode.log_base)) if mode.log_base else log_of(mode, value)


def _logb(mode: Mode, args: Values) -> Value:
    return _log_to(mode, args[0], args[1])


def _log_to(mode: Mode, value: Value, base: Value) -> Value:
    top, bottom = same_kind(ball(log_of(mode, value)), ball(log_of(mode, base)))
    if contains_zero(bottom):
        raise Undefined("logarithm to the base one")
    return top / bottom


def _sqrt(mode: Mode, args: Values) -> Value:
    value = args[0]
    if isinstance(value, acb):
        return value.sqrt()
    return nth_root(mode.complex_values, value, fmpz(2))


def _root(mode: Mode, args: Values) -> Value:
    index = args[1]
    if type(index) is not fmpq or index.q != 1 or index < 1:
        if contains_zero(index):
            raise Undefined("a root of index zero")
        return power(mode.complex_values, args[0], ONE / index)
    value = args[0]
    return value.root(int(index)) if isinstance(value, acb) else nth_root(mode.complex_values, value, index.p)


def _abs(mode: Mode, args: Values) -> Value:
    value = args[0]
    if isinstance(value, acb):
        return (value * value.conjugate()).real.sqrt()
    return -value if value < 0 else value if value >= 0 else abs_ball(arb(value))


def abs_ball(value: arb) -> arb:
    """|x| of a ball that straddles zero."""
    return (value * value).sqrt()


def _rounding(name: str) -> Callable[[Mode, Values], Value]:
    def apply(mode: Mode, args: Values) -> Value:
        value = real(args[0])
        if type(value) is fmpq:
            return fmpq(getattr(value, name)())
        rounded = getattr(value, name)().unique_fmpz()
        if rounded is None:
            raise Undefined("rounding at the edge")
        return fmpq(rounded)

    return apply


def _extreme(pick: Callable[[arb, arb], bool]) -> Callable[[Mode, Values], Value]:
    def apply(mode: Mode, args: Values) -> Value:
        best = real(args[0])
        for arg in args[1:]:
            value = real(arg)
            if pick(arb(value), arb(best)):
                best = value
        return best

    return apply


def _integers(mode: Mode, args: Values) -> list[fmpz]:
    found = []
    for arg in args:
        if not isinstance(arg, fmpq) or arg.q != 1:
            raise Undefined("integers are needed")
        found.append(arg.p)
    return found


def _gcd(mode: Mode, args: Values) -> Value:
    result, *rest = _integers(mode, args)
    for other in rest:
        result = result.gcd(other)
    return fmpq(abs(result))


def _lcm(mode: Mode, args: Values) -> Value:
    result, *rest = _integers(mode, args)
    for other in rest:
        result = result.lcm(other)
        if result.bit_length() > MAX_EXACT_BITS:
            raise Refused("lcm out of bounds")
    return fmpq(abs(result))


def _mod(mode: Mode, args: Values) -> Value:
    value, modulus = _integers(mode, args)
    if modulus == 0:
        raise Undefined("division by zero")
    return fmpq(value % modulus)


def _residue(mode: Mode, args: Values) -> Value:
    return args[0]


def _factorial(mode: Mode, args: Values) -> Value:
    return factorial_of(args[0])


def factorial_of(value: Value) -> Value:
    if type(value) is fmpq and value.q == 1:
        if value < 0:
            raise Undefined("factorial of a negative integer")
        if value <= MAX_FACTORIAL:
            return fmpq(fmpz.fac_ui(value.p))
    return (complex_ball(value) + 1).gamma() if isinstance(value, acb) else (arb(value) + 1).gamma()


def _gamma(mode: Mode, args: Values) -> Value:
    a, b = same_kind(args[0], ONE)
    return factorial_of(a - b)


def _double_factorial(mode: Mode, args: Values) -> Value:
    (n,) = _integers(mode, args)
    if not 0 <= n <= 2000:
        raise Refused("double factorial out of bounds")
    result = fmpz(1)
    for k in range(int(n), 1, -2):
        result *= k
    return fmpq(result)


def _binom(mode: Mode, args: Values) -> Value:
    n, k = args[0], args[1]
    if type(n) is fmpq and type(k) is fmpq and n.q == 1 and k.q == 1:
        if k < 0 or (0 <= n < k):
            return ZERO
        if 0 <= n <= MAX_FACTORIAL:
            return fmpq(comb(int(n.p), int(k.p)))
        if k <= 64 and abs(n).height_bits() < 4096:
            return _falling(n, int(k.p)) / fmpq(fmpz.fac_ui(k.p))
    if isinstance(n, acb) or isinstance(k, acb):
        raise Refused("a binomial of complex numbers")
    top, below = arb(n), arb(k)
    return (top + 1).gamma() / (below + 1).gamma() / (top - below + 1).gamma()


def _falling(n: fmpq, k: int) -> fmpq:
    result = ONE
    for step in range(k):
        result *= n - step
    return result


def _perm(mode: Mode, args: Values) -> Value:
    n, k = _integers(mode, args)
    if not 0 <= k <= MAX_FACTORIAL or n > MAX_FACTORIAL:
        raise Refused("permutation out of bounds")
    return _falling(fmpq(n), int(k)) if k <= n else ZERO


def _cis(mode: Mode, args: Values) -> Value:
    return (complex_ball(args[0]) * acb(0, 1)).exp()


def _conj(mode: Mode, args: Values) -> Value:
    value = args[0]
    return value.conjugate() if isinstance(value, acb) else value


def _part(name: str) -> Callable[[Mode, Values], Value]:
    def apply(mode: Mode, args: Values) -> Value:
        value = complex_ball(args[0])
        if name == "arg":
            return value.arg()
        part: arb = getattr(value, name)
        return part

    return apply


def _sgn(mode: Mode, args: Values) -> Value:
    value = real(args[0])
    if value == 0:
        return ZERO
    return ONE if value > 0 else -ONE


FUNCTIONS: dict[str, Callable[[Mode, Values], Value]] = {
    name: _analytic(name)
    for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch")
} | {
    "exp": lambda mode, args: exp_of(args[0]), "ln": _ln, "log": _log, "logb": _logb, "sqrt": _sqrt,
    "root": _root, "abs": _abs, "floor": _rounding("floor"), "ceil": _rounding("ceil"),
    "max": _extreme(lambda a, b: bool(a > b)), "min": _extreme(lambda a, b: bool(a < b)), "gcd": _gcd, "lcm": _lcm,
    "mod": _mod, "residue": _residue, "factorial": _factorial, "Gamma": _gamma,
    "double_factorial": _double_factorial, "binom": _binom, "perm": _perm, "cis": _cis, "conj": _conj,
    "re": _part("real"), "im": _part("imag"), "arg": _part("arg"), "sgn": _sgn,
    "arcsin": _inverse("asin", -1, 1), "arccos": _inverse("acos", -1, 1), "arctan": _analytic("atan"),
    "arcsinh": _analytic("asinh"), "arccosh": _inverse("acosh", 1, None), "arctanh": _inverse("atanh", -1, 1),
    "arccot": _reciprocal_of("acot"), "arcsec": _reciprocal_of("acos"), "arccsc": _reciprocal_of("asin"),
}  # fmt: skip
