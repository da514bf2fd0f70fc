"""Trees -> values: exact rationals while it can, rigorous balls where it must.

A value is an fmpq (exact), an arb (a real ball that contains the true value) or an acb (complex ball).
Bounds are checked before anything is computed: exact big-number code stalls or aborts the process on
7^(10^10), while a ball of it costs microseconds.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import comb

from flint import acb, arb, ctx, fmpq, fmpz

from .lexer import Refused
from .nodes import (
    Add,
    Based,
    Call,
    Const,
    Degrees,
    Div,
    Fn,
    Matrix,
    Mixed,
    Mul,
    Neg,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Repeating,
    Sym,
)

Value = fmpq | arb | acb

MAX_EXACT_BITS = 300_000  # a power or factorial beyond this becomes a ball
MAX_FACTORIAL = 20_000
ONE, TWO, ZERO, HALF = fmpq(1), fmpq(2), fmpq(0), fmpq(1, 2)


class Undefined(ArithmeticError):
    """Some sub-expression has no value here: a division by zero, a root of a negative number."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Working precision of all balls inside the block."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


class Evaluator:
    """Evaluates trees at one point.

    point: values of the free symbols.  complex_values: roots and logarithms of negative numbers are complex
    instead of undefined.  log_base: what \\log without a base means, 0 for natural.
    """

    def __init__(
        self, point: Mapping[str, Value] | None = None, *, complex_values: bool = False, log_base: int = 0
    ) -> None:
        self.point = point or {}
        self.complex_values = complex_values
        self.log_base = log_base

    def value(self, node: Node) -> Value:
        """Raises Undefined where there is no value, Refused where the tree is no plain expression."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise Refused(f"a {type(node).__name__.lower()} has no value")
        result = handler(self, node)
        if not isinstance(result, fmpq) and not result.is_finite():
            raise Undefined("not finite")
        return result

    def real(self, node: Node) -> fmpq | arb:
        value = self.value(node)
        if isinstance(value, acb):
            if value.imag.is_zero():
                return value.real
            raise Undefined("a real number is needed")
        return value


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


# -- arithmetic


def _add(ev: Evaluator, node: Node) -> Value:
    total = ev.value(node.args[0])
    for arg in node.args[1:]:
        a, b = same_kind(total, ev.value(arg))
        total = a + b
    return total


def _mul(ev: Evaluator, node: Node) -> Value:
    total = ev.value(node.args[0])
    for arg in node.args[1:]:
        a, b = same_kind(total, ev.value(arg))
        total = a * b
    return _bounded(total)


def _bounded(value: Value) -> Value:
    if type(value) is fmpq and value.height_bits() > MAX_EXACT_BITS:
        return arb(value)
    return value


def _div(ev: Evaluator, node: Node) -> Value:
    top, bottom = same_kind(ev.value(node.args[0]), ev.value(node.args[1]))
    if contains_zero(bottom):
        raise Undefined("division by zero")
    return top / bottom


def _pow(ev: Evaluator, node: Node) -> Value:
    base, exponent = node.args
    if isinstance(base, Const) and base.name == "e":
        return _exp(ev.value(exponent))
    return power(ev, ev.value(base), ev.value(exponent))


def power(ev: Evaluator, base: Value, exponent: Value) -> Value:
    if type(exponent) is fmpq:
        if exponent.q == 1:
            return _integer_power(base, exponent.p)
        if isinstance(base, acb):
            return base ** acb(arb(exponent))
        return _rational_power(ev, base, exponent)
    if isinstance(base, acb) or isinstance(exponent, acb):
        if contains_zero(base):
            raise Undefined("zero to a complex power")
        return complex_ball(base) ** complex_ball(exponent)
    base = arb(base)
    if base > 0:
        return base**exponent
    if base == 0 and exponent > 0:
        return ZERO
    if ev.complex_values and base < 0:
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


def _rational_power(ev: Evaluator, base: fmpq | arb, exponent: fmpq) -> Value:
    degree = exponent.q
    if contains_zero(base) and exponent < 0:
        raise Undefined("division by zero")
    rooted = nth_root(ev, base, degree)
    return _integer_power(rooted, exponent.p)


def nth_root(ev: Evaluator, base: fmpq | arb, degree: fmpz) -> Value:
    """The real root where there is one (odd roots of negatives too), else the principal one if allowed."""
    if degree > 1 << 30:
        raise Refused("root out of bounds")
    n = int(degree)
    if type(base) is fmpq:
        if base < 0:
            if n % 2:
                return -nth_root(ev, -base, degree)
        elif (exact := _exact_root(base, n)) is not None:
            return exact
    real = arb(base)
    if real >= 0:
        return real.root(n)
    if real < 0:
        if n % 2:
            return -((-real).root(n))
        if ev.complex_values:
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


# -- leaves and wrappers


def _const(ev: Evaluator, node: Node) -> Value:
    assert isinstance(node, Const)
    if node.name == "pi":
        return arb.pi()
    if node.name == "e":
        return arb.const_e()
    if node.name == "i":
        return acb(0, 1)
    if node.name == "phi":
        return (1 + arb(5).sqrt()) / 2
    raise Undefined("infinite")


def _sym(ev: Evaluator, node: Node) -> Value:
    assert isinstance(node, Sym)
    value = ev.point.get(node.name)
    if value is None:
        raise Refused(f"{node.name} has no value")
    return value


def _call(ev: Evaluator, node: Node) -> Value:
    raise Refused("an unknown function")


def _mixed(ev: Evaluator, node: Node) -> Value:
    whole, top, bottom = (arg.value for arg in node.args if isinstance(arg, Num))
    return whole + top / bottom


def _degrees(ev: Evaluator, node: Node) -> Value:
    return _times_pi(ev.value(node.args[0])) / 180


def _times_pi(value: Value) -> arb | acb:
    return value * acb.pi() if isinstance(value, acb) else arb(value) * arb.pi()


def _percent(ev: Evaluator, node: Node) -> Value:
    value = ev.value(node.args[0])
    return value / 100


# -- functions


def _fn(ev: Evaluator, node: Node) -> Value:
    assert isinstance(node, Fn)
    handler = FUNCTIONS.get(node.name)
    if handler is None:
        raise Refused(f"{node.name} is not evaluated")
    return handler(ev, node.args)


def _exp(value: Value) -> Value:
    return ONE if type(value) is fmpq and value == 0 else ball(value).exp()


def _analytic(name: str) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    """An everywhere real-analytic function of balls: sin, tanh, ..."""

    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        (arg,) = args
        value = ball(ev.value(arg))
        result: Value = getattr(value, name)()
        return result

    return apply


def _inverse(name: str, low: int, high: int | None) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    """An inverse function, real on [low, high] only."""

    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        (arg,) = args
        value = ball(ev.value(arg))
        if isinstance(value, arb) and (value < low or (high is not None and value > high)):
            if not ev.complex_values:
                raise Undefined("outside the domain")
            value = acb(value)
        result: Value = getattr(value, name)()
        return result

    return apply


def _reciprocal_of(inverse: str) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    """arcsec, arccsc, arccot through the reciprocal."""

    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        value = ball(ev.value(args[0]))
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


def _ln(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    return log_of(ev, ev.value(args[0]))


def log_of(ev: Evaluator, value: Value) -> Value:
    if contains_zero(value):
        raise Undefined("logarithm of zero")
    if type(value) is fmpq and value == 1:
        return ZERO
    value = ball(value)
    if isinstance(value, arb) and not value > 0:
        if not ev.complex_values:
            raise Undefined("logarithm of a negative number")
        value = acb(value)
    return value.log()


def _log(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    value = ev.value(args[0])
    return _log_to(ev, value, fmpq(ev.log_base)) if ev.log_base else log_of(ev, value)


def _logb(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    return _log_to(ev, ev.value(args[0]), ev.value(args[1]))


def _log_to(ev: Evaluator, value: Value, base: Value) -> Value:
    top, bottom = same_kind(ball(log_of(ev, value)), ball(log_of(ev, base)))
    if contains_zero(bottom):
        raise Undefined("logarithm to the base one")
    return top / bottom


def _sqrt(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    value = ev.value(args[0])
    if isinstance(value, acb):
        return value.sqrt()
    return nth_root(ev, value, fmpz(2))


def _root(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    index = ev.value(args[1])
    if type(index) is not fmpq or index.q != 1 or index < 1:
        return power(ev, ev.value(args[0]), ONE / index)
    value = ev.value(args[0])
    return value.root(int(index)) if isinstance(value, acb) else nth_root(ev, value, index.p)


def _abs(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    if isinstance(args[0], Matrix):
        return determinant(ev, args[0])
    value = ev.value(args[0])
    if isinstance(value, acb):
        return (value * value.conjugate()).real.sqrt()
    return -value if value < 0 else value if value >= 0 else abs_ball(arb(value))


def abs_ball(value: arb) -> arb:
    """|x| of a ball that straddles zero."""
    return (value * value).sqrt()


def _rounding(name: str) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        value = ev.real(args[0])
        if type(value) is fmpq:
            return fmpq(getattr(value, name)())
        rounded = getattr(value, name)().unique_fmpz()
        if rounded is None:
            raise Undefined("rounding at the edge")
        return fmpq(rounded)

    return apply


def _extreme(pick: Callable[[arb, arb], bool]) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        best = ev.real(args[0])
        for arg in args[1:]:
            value = ev.real(arg)
            if pick(arb(value), arb(best)):
                best = value
        return best

    return apply


def _integers(ev: Evaluator, args: tuple[Node, ...]) -> list[fmpz]:
    found = []
    for arg in args:
        value = ev.value(arg)
        if type(value) is not fmpq or value.q != 1:
            raise Undefined("integers are needed")
        found.append(value.p)
    return found


def _gcd(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    result, *rest = _integers(ev, args)
    for other in rest:
        result = result.gcd(other)
    return fmpq(abs(result))


def _lcm(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    result, *rest = _integers(ev, args)
    for other in rest:
        result = result.lcm(other)
        if result.bit_length() > MAX_EXACT_BITS:
            raise Refused("lcm out of bounds")
    return fmpq(abs(result))


def _mod(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    value, modulus = _integers(ev, args)
    if modulus == 0:
        raise Undefined("division by zero")
    return fmpq(value % modulus)


def _residue(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    return ev.value(args[0])


def _factorial(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    return factorial_of(ev.value(args[0]))


def factorial_of(value: Value) -> Value:
    if type(value) is fmpq and value.q == 1:
        if value < 0:
            raise Undefined("factorial of a negative integer")
        if value <= MAX_FACTORIAL:
            return fmpq(fmpz.fac_ui(value.p))
    return (complex_ball(value) + 1).gamma() if isinstance(value, acb) else (arb(value) + 1).gamma()


def _gamma(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    a, b = same_kind(ev.value(args[0]), ONE)
    return factorial_of(a - b)


def _double_factorial(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    (n,) = _integers(ev, args)
    if not 0 <= n <= 2000:
        raise Refused("double factorial out of bounds")
    result = fmpz(1)
    for k in range(int(n), 1, -2):
        result *= k
    return fmpq(result)


def _binom(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    n, k = ev.value(args[0]), ev.value(args[1])
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


def _perm(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    n, k = _integers(ev, args)
    if not 0 <= k <= MAX_FACTORIAL or n > MAX_FACTORIAL:
        raise Refused("permutation out of bounds")
    return _falling(fmpq(n), int(k)) if k <= n else ZERO


def _cis(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    return (complex_ball(ev.value(args[0])) * acb(0, 1)).exp()


def _conj(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    value = ev.value(args[0])
    return value.conjugate() if isinstance(value, acb) else value


def _part(name: str) -> Callable[[Evaluator, tuple[Node, ...]], Value]:
    def apply(ev: Evaluator, args: tuple[Node, ...]) -> Value:
        value = complex_ball(ev.value(args[0]))
        if name == "arg":
            return value.arg()
        part: arb = getattr(value, name)
        return part

    return apply


def _sgn(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    value = ev.real(args[0])
    if value == 0:
        return ZERO
    return ONE if value > 0 else -ONE


def determinant(ev: Evaluator, matrix: Matrix) -> Value:
    rows, columns = matrix.shape
    if rows != columns or rows > 5:
        raise Refused("no determinant")
    table = [[ev.value(matrix.args[r * columns + c]) for c in range(columns)] for r in range(rows)]
    return _cofactors(table)


def _cofactors(table: list[list[Value]]) -> Value:
    if len(table) == 1:
        return table[0][0]
    total: Value = ZERO
    for column, entry in enumerate(table[0]):
        minor = [row[:column] + row[column + 1 :] for row in table[1:]]
        a, b = same_kind(entry, _cofactors(minor))
        term = a * b if column % 2 == 0 else -(a * b)
        a, b = same_kind(total, term)
        total = a + b
    return total


def _det(ev: Evaluator, args: tuple[Node, ...]) -> Value:
    if not isinstance(args[0], Matrix):
        raise Refused("a determinant of no matrix")
    return determinant(ev, args[0])


FUNCTIONS: dict[str, Callable[[Evaluator, tuple[Node, ...]], Value]] = {
    name: _analytic(name)
    for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch")
} | {
    "exp": lambda ev, args: _exp(ev.value(args[0])), "ln": _ln, "log": _log, "logb": _logb, "sqrt": _sqrt,
    "root": _root, "abs": _abs, "floor": _rounding("floor"), "ceil": _rounding("ceil"),
    "max": _extreme(lambda a, b: bool(a > b)), "min": _extreme(lambda a, b: bool(a < b)), "gcd": _gcd, "lcm": _lcm,
    "mod": _mod, "residue": _residue, "factorial": _factorial, "Gamma": _gamma,
    "double_factorial": _double_factorial, "binom": _binom, "perm": _perm, "cis": _cis, "conj": _conj,
    "re": _part("real"), "im": _part("imag"), "arg": _part("arg"), "sgn": _sgn, "det": _det,
    "arcsin": _inverse("asin", -1, 1), "arccos": _inverse("acos", -1, 1), "arctan": _analytic("atan"),
    "arcsinh": _analytic("asinh"), "arccosh": _inverse("acosh", 1, None), "arctanh": _inverse("atanh", -1, 1),
    "arccot": _reciprocal_of("acot"), "arcsec": _reciprocal_of("acos"), "arccsc": _reciprocal_of("asin"),
}  # fmt: skip

_HANDLERS: dict[type[Node], Callable[[Evaluator, Node], Value]] = {
    Num: lambda ev, node: node.value,  # type: ignore[attr-defined]
    Based: lambda ev, node: node.value,  # type: ignore[attr-defined]
    Repeating: lambda ev, node: node.value,  # type: ignore[attr-defined]
    Const: _const,
    Sym: _sym,
    Call: _call,
    Add: _add,
    Mul: _mul,
    Neg: lambda ev, node: -ev.value(node.args[0]),
    Div: _div,
    Pow: _pow,
    Mixed: _mixed,
    Degrees: _degrees,
    Percent: _percent,
    Quantity: lambda ev, node: ev.value(node.args[0]),
    Fn: _fn,
}
