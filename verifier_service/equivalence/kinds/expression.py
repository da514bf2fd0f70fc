"""Expressions with letters: identity, renamed constants, antiderivatives up to a constant.

gold            answer              verdict
4p^2-q^2        (2p-q)(2p+q)        correct
cosh^2 t + C    sinh^2 t + K        correct     antiderivatives, up to a constant
t^4/4 + C       t^4/4               incorrect   the gold has its constant, the answer has none
at^2 for any a  bt^2                correct     an arbitrary constant has no name of its own
"""

from itertools import permutations

from ..decision import Decision, correct, incorrect
from ..identity import Same, constant_difference, same_value
from ..nodes import Add, Const, Node, Sym, Trait
from ..rewrite import rebuild, renamed, substituted
from ..values import Undefined
from .frame import Frame
from .slow import ask_sympy

ARBITRARY = frozenset({"C", "c", "K", "k", "A", "B", "D", "n", "m", "l", "N", "M"})
INTEGRATION = frozenset({"C", "c", "K", "k"})


def compare_expressions(gold: Node, answer: Node, frame: Frame) -> Decision:
    """Both sides plain values, at least one with letters."""
    constant = _integration_constant(gold, frame)
    if constant is not None or frame.facts.asks_antiderivative:
        return _up_to_a_constant(gold, answer, constant, frame)
    answer = _as_imaginary_unit(gold, answer, frame)
    same = _same(gold, answer, frame)
    if same.equal is not True:
        for names in _renamings(gold, answer, frame):
            again = _same(gold, renamed(answer, names), frame)
            if again.equal:
                return correct(again.method, again.reason + "; an arbitrary constant is renamed")
    return _decided(same, gold, answer, frame)


def _same(gold: Node, answer: Node, frame: Frame) -> Same:
    try:
        return same_value(gold, answer, frame.given)
    except Undefined as problem:
        return Same(None, "none", str(problem))


def _decided(same: Same, gold: Node, answer: Node, frame: Frame) -> Decision:
    if same.equal is None:
        return ask_sympy(frame, same.reason)
    return Decision("correct" if same.equal else "incorrect", same.method, same.reason)


def is_arbitrary(name: str, frame: Frame) -> bool:
    """May the letter be a constant of the answer's own? Not where the prompt knows it."""
    head, _, index = name.partition("_")
    return (head in ARBITRARY and (not index or index.isdigit())) and name not in frame.facts.letters


def _renamings(gold: Node, answer: Node, frame: Frame) -> list[dict[str, str]]:
    """Bijections of the answer's own letters onto the gold's own letters."""
    theirs = sorted(gold.free - answer.free)
    own = sorted(answer.free - gold.free)
    if not theirs and not own:  # C_1 and C_2 may change places
        theirs = own = sorted(name for name in gold.free if "_" in name)
    if (
        not theirs
        or len(theirs) != len(own)
        or len(own) > 3
        or isinstance(gold, Sym)
        or isinstance(answer, Sym)
    ):
        return []
    if not all(is_arbitrary(name, frame) for name in (*theirs, *own)):
        return []
    orders = [dict(zip(own, order, strict=True)) for order in permutations(theirs)]
    return [names for names in orders if not any(_is_other_case(a, b) for a, b in names.items())]


def _is_other_case(a: str, b: str) -> bool:
    """n and N are two letters of a problem; only the constant of integration is written either way."""
    return a.lower() == b.lower() and a.lower() != "c"


def _as_imaginary_unit(gold: Node, answer: Node, frame: Frame) -> Node:
    """j where it can only be the imaginary unit."""
    if "j" in answer.free and "j" not in gold.free and gold.traits & Trait.IMAGINARY:
        if not answer.traits & Trait.IMAGINARY and "j" not in frame.facts.letters:
            return substituted(answer, "j", Const("i"))
    return answer


# -- antiderivatives


def _terms(node: Node) -> tuple[Node, ...]:
    return node.args if isinstance(node, Add) else (node,)


def _integration_constant(node: Node, frame: Frame) -> str | None:
    """The letter of "+ C", if the node has one that the prompt does not know."""
    for term in _terms(node):
        if isinstance(term, Sym) and term.name.partition("_")[0] in INTEGRATION:
            if term.name not in frame.facts.letters and len(_terms(node)) > 1:
                others = [other for other in _terms(node) if other is not term]
                if not any(term.name in other.free for other in others):
                    return term.name
    return None


def _without(node: Node, name: str | None) -> Node:
    if name is None:
        return node
    rest = tuple(term for term in _terms(node) if not (isinstance(term, Sym) and term.name == name))
    return rest[0] if len(rest) == 1 else rebuild(node, rest)


def _up_to_a_constant(gold: Node, answer: Node, constant: str | None, frame: Frame) -> Decision:
    own = _integration_constant(answer, frame)
    if constant is not None and own is None:
        return incorrect("rule", "the constant of integration is missing")
    if constant is None and own is not None and not frame.facts.asks_antiderivative:
        return incorrect("rule", "a constant that the gold has not")
    left, right = _without(gold, constant), _without(answer, own)
    same = _same(left, right, frame)
    if same.equal or (constant is None and own is None):
        return _decided(same, left, right, frame)
    difference = constant_difference(left, right, frame.given)
    if difference.equal:
        return correct(difference.method, "the same up to the constant")
    return _decided(same, left, right, frame)
