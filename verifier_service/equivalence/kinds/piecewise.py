"""Piecewise functions of one variable, compared as functions: at every border, beside it and between.

gold                          answer                        verdict
|t|                           t if t>0, otherwise -t        correct
{2t, t>=0; -t, t<0}           {2t, t>0; -t, t<=0}           correct     the border value agrees
{5, t>=0; 3, t<0}             {5, t>0; 3, t<=0}             incorrect   the values at 0 differ
"""

from itertools import pairwise

from flint import acb, arb, fmpq

from ..decision import Decision, correct, incorrect
from ..exact import Evaluator
from ..identity import FAST_BITS
from ..lexer import Refused
from ..nodes import Cases, Node, Rel, Words
from ..values import Undefined, Value, apart, precision
from .frame import Frame

MAX_BORDERS = 40


def compare_piecewise(gold: Node, answer: Node, frame: Frame) -> Decision:
    """At least one side is piecewise; the other may be any expression."""
    gold, answer = _without_name(gold), _without_name(answer)
    names = gold.free | answer.free
    if len(names) > 1 or not names:
        return _branch_by_branch(gold, answer, frame)
    (name,) = names
    with precision(FAST_BITS):
        try:
            points = _test_points([*_borders(gold), *_borders(answer)])
        except (Refused, Undefined):
            return _branch_by_branch(gold, answer, frame)
        agreed = 0
        for point in points:
            x, y = _at(gold, name, point), _at(answer, name, point)
            if x is None and y is None:
                continue
            if x is None or y is None:
                return incorrect("sampled", f"only one side is defined at {name} = {point}")
            if apart(x, y):
                return incorrect("sampled", f"the values at {name} = {point} differ")
            agreed += 1
    if agreed < 3:
        return incorrect("rule", "answer_refused: nowhere defined")
    return correct("sampled", f"equal at every border and at {agreed} points")


def _without_name(node: Node) -> Node:
    """f(x) = ... is its right side."""
    return node.args[1] if isinstance(node, Rel) and len(node.args) == 2 and node.ops == ("=",) else node


def _borders(node: Node) -> list[fmpq]:
    """Rational numbers that conditions or absolute values turn at."""
    found: list[fmpq] = []
    for part in node.walk():
        if isinstance(part, Rel):
            for arg in part.args:
                if not arg.free and not isinstance(arg, Words):
                    value = Evaluator().real(arg)
                    found.append(value if isinstance(value, fmpq) else _near(value))
    return found


def _near(value: arb) -> fmpq:
    return fmpq(int((value * 1000).mid().floor().unique_fmpz() or 0), 1000)


def _test_points(borders: list[fmpq]) -> list[fmpq]:
    places = sorted({*borders, fmpq(0)})
    if len(places) > MAX_BORDERS:
        raise Refused("too many branches")
    points = list(places)
    for left, right in pairwise(places):
        points += [left + (right - left) * fmpq(k, 7) for k in (1, 3, 6)]
    for offset in (fmpq(1, 97), fmpq(13, 7), fmpq(37, 3)):
        points += [places[0] - offset, places[-1] + offset]
    return points


def _at(node: Node, name: str, point: fmpq) -> Value | None:
    ev = Evaluator({name: point})
    if isinstance(node, Cases):
        pairs = list(zip(node.args[::2], node.args[1::2], strict=True))
        for value, condition in pairs:
            if isinstance(condition, Words) or _holds(ev, condition):
                return _value(ev, value)
        return None
    return _value(ev, node)


def _value(ev: Evaluator, node: Node) -> Value | None:
    try:
        return ev.value(node)
    except (Undefined, Refused):
        return None


def _holds(ev: Evaluator, condition: Node) -> bool:
    if not isinstance(condition, Rel):
        return False
    for at, op in enumerate(condition.ops):
        x, y = _value(ev, condition.args[at]), _value(ev, condition.args[at + 1])
        if x is None or y is None:
            return False
        if (
            isinstance(x, acb)
            or isinstance(y, acb)
            or not _ordered(op, arb(x), arb(y), equal=not apart(x, y))
        ):
            return False
    return True


def _ordered(op: str, x: arb, y: arb, *, equal: bool) -> bool:
    if op in ("=", "<=", ">="):
        if equal:
            return True
    elif equal:
        return False
    return op == "!=" or (op[0] == "<" and bool(x < y)) or (op[0] == ">" and bool(x > y))


def _branch_by_branch(gold: Node, answer: Node, frame: Frame) -> Decision:
    """With several letters: the same branches in any order."""
    if not isinstance(gold, Cases) or not isinstance(answer, Cases) or len(gold.args) != len(answer.args):
        return incorrect("rule", "other branches")
    theirs = list(zip(answer.args[::2], answer.args[1::2], strict=True))
    inside = frame.inside()
    for value, condition in zip(gold.args[::2], gold.args[1::2], strict=True):
        for pair in theirs:
            if (
                _same_condition(condition, pair[1], inside)
                and frame.compare(value, pair[0], inside).is_correct
            ):
                theirs.remove(pair)
                break
        else:
            return incorrect("rule", "a branch differs")
    return correct("exact", "equal branch by branch")


def _same_condition(a: Node, b: Node, frame: Frame) -> bool:
    if isinstance(a, Words) or isinstance(b, Words):
        return a.key == b.key
    return frame.compare(a, b, frame).is_correct
