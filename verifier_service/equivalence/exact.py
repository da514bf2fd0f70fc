"""Trees -> values: exact rationals while it can, rigorous balls where it must."""

from collections.abc import Callable, Mapping

from flint import acb, arb, fmpq

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
from .powers import power
from .special import FUNCTIONS, Mode, exp_of
from .values import ZERO, Undefined, Value, bounded, contains_zero, real, same_kind


class Evaluator:
    """Evaluates trees at one point.

    point: values of the free symbols.  complex_values: roots and logarithms of negative numbers are complex
    instead of undefined.  log_base: what \\log without a base means, 0 for natural.
    """

    def __init__(
        self, point: Mapping[str, Value] | None = None, *, complex_values: bool = False, log_base: int = 0
    ) -> None:
        self.point = point or {}
        self.mode = Mode(complex_values, log_base)

    def value(self, node: Node) -> Value:
        """Raises Undefined where there is no value, Refused where the tree is no plain expression."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise Refused(f"a {type(node).__name__.lower()} has no value")
        try:
            result = handler(self, node)
        except (ZeroDivisionError, OverflowError) as fault:  # flint's, for arguments that no check foresaw
            raise Undefined(str(fault)) from fault
        if not isinstance(result, fmpq) and not result.is_finite():
            raise Undefined("not finite")
        return result

    def real(self, node: Node) -> fmpq | arb:
        return real(self.value(node))


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
    return bounded(total)


def _div(ev: Evaluator, node: Node) -> Value:
    top, bottom = same_kind(ev.value(node.args[0]), ev.value(node.args[1]))
    if contains_zero(bottom):
        raise Undefined("division by zero")
    return top / bottom


def _pow(ev: Evaluator, node: Node) -> Value:
    base, exponent = node.args
    if isinstance(base, Const) and base.name == "e":
        return exp_of(ev.value(exponent))
    return power(ev.mode.complex_values, ev.value(base), ev.value(exponent))


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


def _fn(ev: Evaluator, node: Node) -> Value:
    assert isinstance(node, Fn)
    if node.name in ("det", "abs") and isinstance(node.args[0], Matrix):
        return _determinant(ev, node.args[0])
    function = FUNCTIONS.get(node.name)
    if function is None:
        raise Refused(f"{node.name} is not evaluated")
    return function(ev.mode, tuple(ev.value(arg) for arg in node.args))


def _determinant(ev: Evaluator, matrix: Matrix) -> Value:
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
