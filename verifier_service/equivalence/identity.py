"""Do two trees have the same value? Proof where there is one, sampling where there is not."""

from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain, islice

from flint import acb, arb, fmpq

from .decision import Method
from .exact import Evaluator
from .lexer import Refused
from .nodes import Add, BigOp, Fn, Mul, Node, Num, Pow, Rel, Sym, Trait
from .polynomials import constants_in, looks_rational, same_rational_function
from .rewrite import renamed
from .sample_points import (
    Point,
    bends,
    complex_points,
    far_points,
    integer_points,
    large_points,
    mixed_points,
    positive_points,
    rational_points,
    unit_points,
)
from .values import Undefined, Value, apart, ball, contains_zero, precision, same_kind

FAST_BITS = 128
PROOF_BITS = 700  # 200 digits and some room
MAX_PROOF_BITS = 60_000
_EXPONENTIAL = frozenset({"tanh", "coth", "sech", "csch", "sinh", "cosh", "exp"})
AGREEMENTS = 4
FAR_POINTS = 4


@dataclass(frozen=True, slots=True)
class Same:
    """equal is None where neither a proof nor a sample could settle it."""

    equal: bool | None
    method: Method
    reason: str


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What the problem says of its letters and signs.

    positive: letters stand for positive numbers.  log_base: of a bare \\log, 0 for natural.
    """

    positive: bool = False
    log_base: int = 0


PLAIN = Assumptions()


def same_value(a: Node, b: Node, given: Assumptions = PLAIN) -> Same:
    """Raises Refused where a side is no plain expression or exceeds the bounds."""
    if not a.free and not b.free:
        return same_constant(a, b, given)
    if canonical(a) == canonical(b):
        return Same(True, "exact", "the same expression")
    if (a.traits | b.traits) & Trait.UNEVALUATED:
        return Same(None, "none", "an operator is left unevaluated")
    if looks_rational(a) and looks_rational(b):
        return _same_rational(a, b)
    return _sampled(a, b, given)


def canonical(node: Node) -> tuple[object, ...]:
    """A key in which sums and products forget their order. Kept on the node: it is asked for again and again."""
    if node.canonical is None:
        node.canonical = _canonical(node)
    return node.canonical


def _canonical(node: Node) -> tuple[object, ...]:
    if isinstance(node, BigOp):
        node = _with_plain_index(node)
    name = type(node).__name__
    if not isinstance(node, (Add, Mul)):
        return (name, node.data(), *map(canonical, node.args))
    flat: list[tuple[object, ...]] = []
    for arg in node.args:
        key = canonical(arg)
        flat.extend(key[2:] if key[0] == name else (key,))  # type: ignore[arg-type]
    flat.sort(key=repr)
    return (name, None, *flat)


def _with_plain_index(node: BigOp) -> Node:
    """A bound variable has no name of its own: sum over k and sum over j are one."""
    lower = node.args[1] if len(node.args) > 1 else None
    if isinstance(lower, Rel) and isinstance(lower.args[0], Sym):
        return renamed(node, {lower.args[0].name: "bound"})
    return node


# -- constants


def same_constant(a: Node, b: Node, given: Assumptions = PLAIN) -> Same:
    """Compare two values without free symbols: exactly, or by rigorous balls of growing precision."""
    with precision(FAST_BITS):
        first = _values(a, b, given)
    if first is not None:
        x, y = first
        if isinstance(x, fmpq):
            return _exactly(x, y)
        if apart(x, y):
            return Same(False, "ball", f"the values differ: {_short(y)} is not {_short(x)}")
    if canonical(a) == canonical(b):
        return Same(True, "exact", "the same expression")
    bits = PROOF_BITS + magnitude(a) + magnitude(b)
    if bits > MAX_PROOF_BITS:
        if _holds_sum(a) or _holds_sum(b):
            raise Refused("too large to settle by evaluation")
        bits = PROOF_BITS  # products and powers alone: relative agreement is as good
    with precision(bits):
        second = _values(a, b, given)
        if second is None:
            raise Undefined("a sub-expression is undefined")
        x, y = second
        if isinstance(x, fmpq):
            return _exactly(x, y)
        if apart(x, y):
            return Same(False, "ball", "the values differ far behind the point")
        if not (_sharp(x, bits) and _sharp(y, bits)):
            raise Refused("too large to settle by evaluation")
    return Same(True, "ball", "the values agree to 200 digits and the size of both sides")


def _holds_sum(node: Node) -> bool:
    return any(isinstance(part, Add) for part in node.walk())


def _values(a: Node, b: Node, given: Assumptions) -> tuple[Value, Value] | None:
    """Both values on common ground; None where a ball is still too wide to tell (a zero divisor, say)."""
    for complex_values in (False, True):
        ev = Evaluator(complex_values=complex_values, log_base=given.log_base)
        try:
            x, y = same_kind(ev.value(a), ev.value(b))
        except Undefined:
            continue
        return x, y
    return None


def _exactly(x: Value, y: Value) -> Same:
    if x == y:
        return Same(True, "exact", "equal exactly")
    return Same(False, "exact", f"{_short(y)} is not {_short(x)}")


def _sharp(value: Value, bits: int) -> bool:
    """Is the ball narrow enough, absolutely or relatively, for agreement to mean something?"""
    value = ball(value)
    parts = (value,) if isinstance(value, arb) else (value.real, value.imag)
    limit = arb(2) ** -(bits // 2) * (1 + arb(abs(parts[0])) + arb(abs(parts[-1])))
    return all(bool(part.rad() <= limit) for part in parts)


def _short(value: Value) -> str:
    if isinstance(value, fmpq):
        return str(value) if value.height_bits() <= 200 else arb(value).str(8, radius=False)
    return value.str(8, radius=False)


def magnitude(node: Node) -> int:
    """Bits of all digits, exponents and large values in a tree: what the precision must follow.

    A sum can hide a 1 beside 7^(10^10); only a precision beyond the size of its terms would show it.
    """
    total = 0
    for part in node.walk():
        if isinstance(part, Num):
            total += int(part.value.height_bits())
        elif isinstance(part, (Pow, Fn)):
            total += _size(part)
        if total > MAX_PROOF_BITS:
            break
    return total


def _size(node: Node) -> int:
    """Bits of the value of a power or function, in either direction; of its written exponent if it has letters."""
    if node.free:
        return _size_with_letters(node)
    with precision(FAST_BITS):
        try:
            value = ball(Evaluator(complex_values=True).value(node))
        except (Undefined, Refused):
            return 1
        size = arb(abs(value))
        if size.contains(0):
            return 1 if size < 2 else MAX_PROOF_BITS + 1
        bits = abs(size.log()) / arb(2).log()
        return int(min(float(bits.upper()), MAX_PROOF_BITS + 1)) + _size_of_arguments(node)


_LARGE = 8  # numbers below it leave a function of letters far from any round value


def _size_with_letters(node: Node) -> int:
    """Bits that tell tanh(1000 x) from 1, or e^(-1000 x) from 0, where letters are as large as the samples are."""
    exponent = node.args[-1]
    if isinstance(exponent, Num):
        return min(abs(int(exponent.value)), MAX_PROOF_BITS) * 4
    saturates = (isinstance(node, Pow) and exponent.free) or (
        isinstance(node, Fn) and node.name in _EXPONENTIAL
    )
    if not saturates or not any(isinstance(part, Num) and abs(part.value) >= _LARGE for part in node.walk()):
        return 1
    ev = Evaluator(dict.fromkeys(node.free, arb(fmpq(10, 3))), complex_values=True)
    with precision(FAST_BITS):
        try:
            size = arb(abs(ball(ev.value(exponent))))
        except (Undefined, Refused):
            return 1
        return int(min(4 * float(size.upper()), MAX_PROOF_BITS + 1))


def _size_of_arguments(node: Node) -> int:
    """tanh 500 is 1 but for 434 digits: how far a function is from a round value follows its argument."""
    total = 0.0
    if not isinstance(node, Fn):
        return 0
    for arg in node.args:
        try:
            size = arb(abs(ball(Evaluator(complex_values=True).value(arg))))
        except (Undefined, Refused):
            continue
        if not size.contains(0):
            total += 3 * float((abs(size.log()) / arb(2).log()).upper())
            total += 4 * float(size.upper()) if node.name in _EXPONENTIAL else 0
    return int(min(total, MAX_PROOF_BITS + 1))


# -- rational functions


def _same_rational(a: Node, b: Node) -> Same:
    names = sorted(a.free | b.free | constants_in(a) | constants_in(b))
    seed = _seed(a, b)
    for point in islice(rational_points(names, seed), 2):
        ev = Evaluator(point)
        try:
            with precision(FAST_BITS):
                x, y = same_kind(ev.value(a), ev.value(b))
        except Undefined:
            continue
        if apart(x, y):
            return Same(False, "exact", _where(point))
    try:
        same = same_rational_function(a, b, names)
    except ZeroDivisionError:
        return Same(False, "exact", "a division by zero")
    if same is not None:
        return Same(same, "exact", "the same rational function" if same else "different rational functions")
    return _sampled(a, b, PLAIN)


# -- sampling


def _seed(a: Node, b: Node) -> bytes:
    """From both sides, symmetric: points that an answer cannot aim at without changing them."""
    keys = sorted((repr(canonical(a)), repr(canonical(b))))
    return blake2b("\0".join(keys).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plan(a: Node, b: Node, given: Assumptions) -> list[tuple[object, int, bool]]:
    """Which kinds of points to try, how many of each, and whether values may be complex."""
    traits = a.traits | b.traits
    if traits & Trait.INTEGER_ONLY:
        return [(integer_points, 12, False)]
    imaginary = bool(traits & Trait.IMAGINARY)
    plan: list[tuple[object, int, bool]] = []
    if not given.positive:
        plan.append((mixed_points, 12, imaginary))
    plan += [(positive_points, 8, imaginary), (unit_points, 6, imaginary), (large_points, 6, imaginary)]
    plan.append((complex_points, 4, True))
    return plan


def _sampling_bits(a: Node, b: Node) -> int:
    """Raises Refused where a difference could hide behind any precision within the bounds."""
    bits = FAST_BITS + magnitude(a) + magnitude(b)
    if bits > MAX_PROOF_BITS:
        raise Refused("too large to settle by sampling")
    return bits


def _sampled(a: Node, b: Node, given: Assumptions) -> Same:
    names = sorted(a.free | b.free)
    seed = _seed(a, b)
    bits = _sampling_bits(a, b)
    agreements = 0
    with precision(bits):
        if (where := _apart_far_out(a, b, names, seed, given, bits)) is not None:
            return Same(False, "sampled", _where(where))
        for points, attempts, complex_values in _plan(a, b, given):
            for point in islice(points(names, seed), attempts):  # type: ignore[operator]
                ev = Evaluator(point, complex_values=complex_values, log_base=given.log_base)
                outcome = _agree_at(ev, a, b, bits)
                if outcome is False:
                    return Same(False, "sampled", _where(point))
                agreements += outcome is True
                if agreements >= AGREEMENTS:
                    return Same(True, "sampled", f"the sides agree at {agreements} points")
    if agreements:
        return Same(True, "sampled", f"the sides agree at {agreements} points")
    return Same(None, "none", "no point where both sides are defined")


def _apart_far_out(
    a: Node, b: Node, names: list[str], seed: bytes, given: Assumptions, bits: int
) -> Point | None:
    """A point on a bend or beyond all of them where the two differ, None where none was found."""
    if (a.traits | b.traits) & Trait.INTEGER_ONLY or not (bends(a) or bends(b)):
        return None
    on_whole_numbers = islice(integer_points(names, seed), 1)
    for point in chain(on_whole_numbers, islice(far_points(names, seed, a, b), FAR_POINTS)):
        if given.positive:
            point = {name: abs(ball(value)) for name, value in point.items()}
        ev = Evaluator(
            point, complex_values=bool((a.traits | b.traits) & Trait.IMAGINARY), log_base=given.log_base
        )
        if _agree_at(ev, a, b, bits) is False:
            return point
    return None


def constant_difference(a: Node, b: Node, given: Assumptions) -> Same:
    """Do a and b differ by a constant? Sampled along points where both are real."""
    names = sorted(a.free | b.free)
    seed = _seed(a, b)
    bits = _sampling_bits(a, b)
    with precision(bits):
        for points, attempts, complex_values in _plan(a, b, given):
            gaps: list[arb | acb] = []
            for point in islice(points(names, seed), attempts):  # type: ignore[operator]
                ev = Evaluator(point, complex_values=complex_values, log_base=given.log_base)
                x, y = _value_or_none(ev, a), _value_or_none(ev, b)
                if x is None or y is None:
                    if (x is None) != (y is None) and _lost_absolute_value(
                        *((a, b) if x is None else (b, a))
                    ):
                        return Same(False, "sampled", "an absolute value is lost")
                    continue
                x, y = same_kind(ball(x), ball(y))
                gaps.append(ball(x - y))
                if len(gaps) > 1 and apart(gaps[-1], gaps[0]):
                    return Same(False, "sampled", "the difference is no constant")
            if len(gaps) >= AGREEMENTS and all(_sharp(gap, bits // 2) for gap in gaps):
                return Same(True, "sampled", f"the difference is the same at {len(gaps)} points")
    return Same(None, "none", "no points where both sides are defined")


def proportional(a: Node, b: Node, given: Assumptions) -> Same:
    """Is a / b one non-zero constant? Sampled; equations with proportional sides have one solution set."""
    names = sorted(a.free | b.free)
    seed = _seed(a, b)
    bits = _sampling_bits(a, b)
    ratios: list[Value] = []
    with precision(bits):
        for points, attempts, complex_values in _plan(a, b, given):
            for point in islice(points(names, seed), attempts):  # type: ignore[operator]
                ev = Evaluator(point, complex_values=complex_values, log_base=given.log_base)
                x, y = _value_or_none(ev, a), _value_or_none(ev, b)
                if x is None or y is None:
                    continue
                x, y = same_kind(ball(x), ball(y))
                if contains_zero(x) or contains_zero(y):
                    continue
                ratios.append(x / y)
                if apart(ratios[0], ratios[-1]):
                    return Same(False, "sampled", "another solution set")
                if len(ratios) > AGREEMENTS:
                    return Same(True, "sampled", f"the same equation, times {_short(ratios[0])}")
    return Same(None, "none", "no points where both sides are defined")


def _agree_at(ev: Evaluator, a: Node, b: Node, bits: int) -> bool | None:
    """None where the point says nothing: a side undefined, or too wide a ball."""
    x, y = _value_or_none(ev, a), _value_or_none(ev, b)
    if x is None or y is None:
        if (x is None) != (y is None) and _lost_absolute_value(*((a, b) if x is None else (b, a))):
            return False
        return None
    x, y = same_kind(x, y)
    if apart(x, y):
        return False
    if isinstance(x, fmpq) and isinstance(y, fmpq):
        return True
    return True if _sharp(x, bits // 2) and _sharp(y, bits // 2) else None


def _value_or_none(ev: Evaluator, node: Node) -> Value | None:
    try:
        return ev.value(node)
    except Undefined:
        return None


def _lost_absolute_value(undefined: Node, defined: Node) -> bool:
    """ln|x| against ln x: the absolute value was there to keep the logarithm defined."""
    if undefined.traits & Trait.ABS or not defined.traits & Trait.ABS:
        return False
    return any(isinstance(part, Fn) and part.name in ("ln", "log", "logb") for part in undefined.walk())


def _where(point: Point) -> str:
    shown = ", ".join(f"{name} = {_short(ball(value))}" for name, value in list(point.items())[:3])
    return f"the sides differ at {shown}"


def is_unevaluated(node: Node) -> bool:
    return isinstance(node, BigOp) or bool(node.traits & Trait.UNEVALUATED)


__all__ = [
    "PLAIN",
    "Assumptions",
    "Same",
    "canonical",
    "is_unevaluated",
    "magnitude",
    "same_constant",
    "same_value",
]
