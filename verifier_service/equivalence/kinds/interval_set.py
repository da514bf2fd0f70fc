"""Sets of real numbers: inequalities, intervals, unions, set-builder. Ends matter.

gold                    answer              verdict
t > 6                   (6, inf)            correct
(-inf,1) ∪ (1,inf)      t ≠ 1               correct
-7 < t < 7              |t| < 7             correct
[5, 9)                  (5, 9]              incorrect   other ends
t < -6                  -3t > 18            incorrect   not solved while the gold is
"""

from dataclasses import dataclass
from functools import cmp_to_key

from flint import arb, fmpq

from ..decision import Decision, correct, incorrect
from ..exact import Evaluator
from ..identity import FAST_BITS, same_value
from ..lexer import Refused
from ..nodes import Builder, Const, Fn, NamedSet, Neg, Node, Num, Rel, Seq, SetOp, Sym
from ..values import Undefined, precision
from .frame import Frame

ORDER = frozenset({"<", ">", "<=", ">=", "!="})
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


class NoRealSet(ValueError):
    """The tree describes no set of reals in solved form; the message says why."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of an interval. place: None at infinity."""

    place: Node | None
    closed: bool


@dataclass(frozen=True, slots=True)
class Interval:
    low: End
    high: End


@dataclass(frozen=True, slots=True)
class RealSet:
    """A union of intervals. name: the variable that an inequality was written in, "" for none."""

    intervals: tuple[Interval, ...]
    name: str = ""


OPEN = End(None, False)
ALL = RealSet((Interval(OPEN, OPEN),))
EMPTY = RealSet(())


def looks_like_real_set(node: Node) -> bool:
    """Is the node one that reads as a set of reals by its form alone (a bare pair in brackets is not)?"""
    if isinstance(node, (SetOp, NamedSet, Builder)):
        return True
    if isinstance(node, Rel):
        return any(op in ORDER or op in ("in", "notin") for op in node.ops)
    if isinstance(node, Seq):
        if len(node.args) == 2 and node.opening + node.closing in ("(]", "[)"):
            return True
        if node.opening and any(_is_infinite(arg) for arg in node.args) and len(node.args) == 2:
            return True
        return (
            node.is_bare
            and bool(node.args)
            and all(looks_like_real_set(arg) for arg in node.args)
            and (node.joint in ("or", "and", ",") and all(isinstance(arg, Rel) for arg in node.args))
        )
    return False


def may_be_interval(node: Node) -> bool:
    return isinstance(node, Seq) and len(node.args) == 2 and node.opening in ("(", "[")


def _is_infinite(node: Node) -> bool:
    node = node.args[0] if isinstance(node, Neg) else node
    return isinstance(node, Const) and node.name == "inf"


# -- trees to sets


def real_set(node: Node) -> RealSet:
    """Raises NoRealSet."""
    if isinstance(node, Seq):
        return _from_seq(node)
    if isinstance(node, Rel):
        return _from_relation(node)
    if isinstance(node, SetOp):
        return _from_operation(node)
    if isinstance(node, NamedSet):
        if node.name == "empty":
            return EMPTY
        if node.name == "R":
            return ALL
        if node.name in ("R^+", "R_+", "R^-", "R_-"):
            zero = End(Num(fmpq(0), None, 1), False)
            return RealSet((Interval(zero, OPEN) if node.name[-1] == "+" else Interval(OPEN, zero),))
        raise NoRealSet("a set of numbers that is no union of intervals")
    if isinstance(node, Builder):
        return _from_builder(node)
    raise NoRealSet("no set of reals")


def _from_seq(node: Seq) -> RealSet:
    if node.is_set:
        if any(arg.free or isinstance(arg, (Seq, NamedSet)) for arg in node.args):
            raise NoRealSet("a set of other things than numbers")
        return RealSet(tuple(Interval(End(arg, True), End(arg, True)) for arg in node.args))
    if node.is_bare:
        if any(isinstance(arg, NamedSet) for arg in node.args):
            raise NoRealSet("alternatives, one of them everything or nothing")
        parts = [real_set(arg) for arg in node.args]
        names = {part.name for part in parts if part.name}
        if len(names) > 1:
            raise NoRealSet("conditions on several variables")
        if node.joint == "and" and all(isinstance(arg, Rel) for arg in node.args):
            return _all_of(parts)
        if node.joint == "," and all(isinstance(arg, Rel) and "!=" in arg.ops for arg in node.args):
            return _all_of(parts)
        if node.joint == "," and all(isinstance(arg, Rel) for arg in node.args):
            both = _all_of(parts)
            if merged(both):
                return both  # x > -2, x < 3: conditions that can be met together are
        return RealSet(tuple(i for part in parts for i in part.intervals), next(iter(names), ""))
    if len(node.args) != 2 or node.opening not in ("(", "["):
        raise NoRealSet("an interval has two ends")
    low, high = node.args
    return RealSet((Interval(_end(low, node.opening == "["), _end(high, node.closing == "]")),))


def _end(node: Node, closed: bool) -> End:
    return End(None, False) if _is_infinite(node) else End(node, closed)


def _from_relation(node: Rel) -> RealSet:
    if len(node.ops) == 1 and node.ops[0] in ("in", "notin"):
        inner = real_set(node.args[1])
        name = node.args[0].name if isinstance(node.args[0], Sym) else ""
        found = inner if node.ops[0] == "in" else _difference(ALL, inner)
        return RealSet(found.intervals, name)
    if len(node.ops) == 1:
        return _single(node.ops[0], *node.args)
    if len(node.ops) == 2:
        low, middle, high = node.args
        first = _single(_TURNED[node.ops[0]], middle, low) if node.ops[0] in _TURNED else None
        second = _single(node.ops[1], middle, high)
        if first is None:
            raise NoRealSet("an unreadable chain")
        return _all_of([first, second])
    raise NoRealSet("too long a chain of inequalities")


def _single(op: str, left: Node, right: Node) -> RealSet:
    """v op bound, |v| op bound, or the same turned round."""
    if op not in _TURNED:
        raise NoRealSet("no inequality")
    if not (isinstance(left, Sym) or _is_absolute(left)) and (isinstance(right, Sym) or _is_absolute(right)):
        left, right, op = right, left, _TURNED[op]
    if isinstance(left, Sym):
        if left.name in right.free:
            raise NoRealSet("the variable stands on both sides")
        return RealSet(_ray(op, right), left.name)
    if _is_absolute(left) and not right.free:
        inner = left.args[0]
        if isinstance(inner, Sym):
            return RealSet(_absolute(op, right), inner.name)
    raise NoRealSet("the variable is not isolated")


def _is_absolute(node: Node) -> bool:
    return isinstance(node, Fn) and node.name == "abs" and isinstance(node.args[0], Sym)


def _ray(op: str, bound: Node) -> tuple[Interval, ...]:
    if _is_infinite(bound):
        return (Interval(OPEN, OPEN),)
    if op == "=":
        return (Interval(End(bound, True), End(bound, True)),)
    if op == "!=":
        return (Interval(OPEN, End(bound, False)), Interval(End(bound, False), OPEN))
    closed = op.endswith("=")
    if op[0] == "<":
        return (Interval(OPEN, End(bound, closed)),)
    return (Interval(End(bound, closed), OPEN),)


def _absolute(op: str, bound: Node) -> tuple[Interval, ...]:
    closed = op.endswith("=") and op != "!="
    opposite = bound.args[0] if isinstance(bound, Neg) else Neg((bound,))
    if op[0] == "<":
        return (Interval(End(opposite, closed), End(bound, closed)),)
    if op[0] == ">":
        return (Interval(OPEN, End(opposite, closed)), Interval(End(bound, closed), OPEN))
    raise NoRealSet("no inequality")


def _from_operation(node: SetOp) -> RealSet:
    parts = [real_set(arg) for arg in node.args]
    if node.op == "union":
        return RealSet(tuple(i for part in parts for i in part.intervals))
    if node.op == "intersection":
        return _all_of(parts)
    return _difference(parts[0], parts[1])


def _from_builder(node: Builder) -> RealSet:
    element, *conditions = node.args
    name = element
    if isinstance(element, Rel) and element.ops == ("in",):
        name = element.args[0]
    if not isinstance(name, Sym):
        raise NoRealSet("a set of other things than one variable")
    conditions = [c for c in conditions if not _is_membership_in_reals(c)]
    if not conditions:
        return ALL
    parts = [real_set(condition) for condition in conditions]
    if any(part.name not in ("", name.name) for part in parts):
        raise NoRealSet("a condition on another variable")
    return RealSet(_all_of(parts).intervals)


def _is_membership_in_reals(node: Node) -> bool:
    return isinstance(node, Rel) and node.ops == ("in",) and node.args[1].key == NamedSet("R").key


# -- set algebra; the ends are ordered by rigorous comparison


def _compare_places(a: Node, b: Node) -> int:
    """-1, 0, 1; raises NoRealSet where the order cannot be told."""
    if a.free or b.free:
        try:
            if same_value(a, b).equal:
                return 0
        except (Refused, Undefined):
            pass
        raise NoRealSet("ends with letters have no known order")
    try:
        if same_value(a, b).equal:
            return 0
        with precision(FAST_BITS * 4):
            x, y = Evaluator().real(a), Evaluator().real(b)
            return -1 if arb(x) < arb(y) else 1
    except (Refused, Undefined) as problem:
        raise NoRealSet(str(problem)) from problem


def _compare_low(a: End, b: End) -> int:
    if a.place is None or b.place is None:
        return (a.place is not None) - (b.place is not None)
    return _compare_places(a.place, b.place) or (b.closed - a.closed)


def _compare_high(a: End, b: End) -> int:
    if a.place is None or b.place is None:
        return (b.place is not None) - (a.place is not None)
    return _compare_places(a.place, b.place) or (a.closed - b.closed)


def _is_empty(interval: Interval) -> bool:
    low, high = interval.low, interval.high
    if low.place is None or high.place is None:
        return False
    if low.place.free or high.place.free:
        return False
    order = _compare_places(low.place, high.place)
    return order > 0 or (order == 0 and not (low.closed and high.closed))


def _meets(first: Interval, second: Interval) -> bool:
    """Do two intervals, in order of their low ends, overlap or touch without a gap?"""
    if first.high.place is None or second.low.place is None:
        return True
    order = _compare_places(second.low.place, first.high.place)
    return order < 0 or (order == 0 and (first.high.closed or second.low.closed))


def merged(found: RealSet) -> tuple[Interval, ...]:
    """In order, overlapping and touching intervals joined, empty ones dropped."""
    intervals = [interval for interval in found.intervals if not _is_empty(interval)]
    if len(intervals) < 2:
        return tuple(intervals)
    intervals.sort(key=cmp_to_key(lambda a, b: _compare_low(a.low, b.low)))
    joined = [intervals[0]]
    for interval in intervals[1:]:
        last = joined[-1]
        if _meets(last, interval):
            high = last.high if _compare_high(last.high, interval.high) >= 0 else interval.high
            joined[-1] = Interval(last.low, high)
        else:
            joined.append(interval)
    return tuple(joined)


def _all_of(parts: list[RealSet]) -> RealSet:
    names = {part.name for part in parts if part.name}
    if len(names) > 1:
        raise NoRealSet("conditions on several variables")
    found = parts[0].intervals
    for part in parts[1:]:
        found = tuple(
            Interval(
                a.low if _compare_low(a.low, b.low) >= 0 else b.low,
                a.high if _compare_high(a.high, b.high) <= 0 else b.high,
            )
            for a in found
            for b in part.intervals
        )
        if len(found) > 200:
            raise NoRealSet("too many intervals")
    return RealSet(found, next(iter(names), ""))


def _difference(whole: RealSet, removed: RealSet) -> RealSet:
    outside = [OPEN]
    gaps: list[Interval] = []
    for interval in merged(removed):
        if interval.low.place is not None:
            gaps.append(Interval(outside[-1], End(interval.low.place, not interval.low.closed)))
        if interval.high.place is None:
            break
        outside.append(End(interval.high.place, not interval.high.closed))
    else:
        gaps.append(Interval(outside[-1], OPEN))
    return _all_of([whole, RealSet(tuple(gaps))]) if gaps else EMPTY


# -- comparison


def _turned_round(
    answer: Rel, offered: RealSet, right: tuple[Interval, ...]
) -> tuple[RealSet, tuple[Interval, ...]]:
    """b > a says of a what a < b says."""
    if len(answer.ops) != 1 or answer.ops[0] not in _TURNED or not isinstance(answer.args[1], Sym):
        return offered, right
    other = RealSet(_ray(_TURNED[answer.ops[0]], answer.args[0]), answer.args[1].name)
    return other, merged(other)


def compare_real_sets(gold: Node, answer: Node, frame: Frame) -> Decision:
    """As sets of reals. An answer that is no solved set is incorrect; raises NoRealSet if the gold is none."""
    wanted = real_set(gold)
    left = merged(wanted)
    try:
        offered = real_set(answer)
        right = merged(offered)
    except NoRealSet as problem:
        return incorrect("rule", f"not in solved form: {problem}")
    if wanted.name and offered.name and wanted.name != offered.name and isinstance(answer, Rel):
        offered, right = _turned_round(answer, offered, right)
    if wanted.name and offered.name and wanted.name != offered.name:
        return incorrect("rule", f"a condition on {offered.name}, not on {wanted.name}")
    if len(left) != len(right):
        return incorrect("exact", "another number of intervals")
    for ours, theirs in zip(left, right, strict=True):
        for a, b in ((ours.low, theirs.low), (ours.high, theirs.high)):
            if (a.place is None) != (b.place is None) or (a.place is not None and a.closed != b.closed):
                return incorrect("exact", "the ends differ")
            if a.place is not None and b.place is not None:
                decision = frame.compare(a.place, b.place, frame.inside())
                if not decision.is_correct:
                    return incorrect(decision.method, f"an end differs: {decision.reason}")
    return correct("exact", "the same set of reals")
