"""Two trees -> the comparison of their kind. Kinds are told by the gold first, then by the answer."""

from itertools import permutations

from ..decision import Decision, correct, incorrect
from ..identity import canonical
from ..lexer import Refused
from ..nodes import (
    Based,
    Builder,
    Cases,
    Degrees,
    Dots,
    Fn,
    Matrix,
    Mul,
    NamedSet,
    Node,
    Num,
    Percent,
    Quantity,
    Ratio,
    Rel,
    Seq,
    Sym,
    Trait,
    Words,
)
from ..rewrite import both_signs, renamed
from ..values import Undefined
from .collection import bare_members, compare_collections, is_collection, named_values, spread
from .families import domains, same_families
from .frame import Frame
from .interval_set import NoRealSet, compare_real_sets, looks_like_real_set, may_be_interval
from .matrix import compare_matrices, holds_matrix, named_matrices, unit_vector_form
from .number import compare_values
from .piecewise import compare_piecewise
from .relation import compare_equations, is_equation, stated_value, worked_out
from .residue import compare_ratios, compare_residues, is_residue
from .words import same_text


def compare(gold: Node, answer: Node, frame: Frame) -> Decision:
    """Never raises: what exceeds the bounds or has no value is no match."""
    if (answer.traits | gold.traits) & Trait.UNEVALUATED:
        gold, answer = worked_out(gold), worked_out(answer)
        if answer.traits & Trait.UNEVALUATED and not gold.traits & Trait.UNEVALUATED:
            return incorrect("rule", "an operator is left unevaluated")
    if frame.outermost and (gold.traits | answer.traits) & Trait.STRUCTURE:
        ours, theirs = domains(gold), domains(answer)
        if ours and theirs and ours != theirs:
            return incorrect("rule", "the parameter runs through other numbers")
        if (ours | theirs) - {"Z"}:
            frame = frame.inside()  # no family of all integers
    try:
        decision = _by_kind(gold, answer, frame)
    except (Refused, Undefined, NoRealSet) as problem:
        decision = incorrect("rule", f"answer_refused: {problem}")
    if decision.is_correct or type(gold) is Num:
        return decision
    if type(gold) is type(answer) and canonical(gold) == canonical(answer):
        return correct("exact", "the same expression")
    if frame.outermost and same_families(gold, answer, frame):
        return correct("ball", "the same families of values")
    return decision


_NO_PLAIN_VALUE = Trait.STRUCTURE | Trait.PLUS_MINUS


def _by_kind(gold: Node, answer: Node, frame: Frame) -> Decision:
    if not (gold.traits | answer.traits) & _NO_PLAIN_VALUE and not (is_residue(gold) or is_residue(answer)):
        return compare_values(gold, answer, frame)  # the commonest, and none of what follows
    if isinstance(gold, Words) or isinstance(answer, Words):
        return _words(gold, answer)
    if isinstance(gold, Cases) or isinstance(answer, Cases):
        return compare_piecewise(gold, answer, frame)
    gold, answer = _counting(gold, answer), _measuring(_counting(answer, gold), gold)
    gold, answer = _as_vectors(_plainer(gold), _plainer(answer))
    gold, answer = named_matrices(gold, answer)
    if holds_matrix(gold) or (holds_matrix(answer) and isinstance(gold, Seq)):
        return compare_matrices(gold, answer, frame)
    if is_residue(gold) or is_residue(answer):
        return compare_residues(gold, answer, frame)
    if isinstance(gold, Rel) and is_equation(gold) and named_values(gold) is None:
        if gold.traits & Trait.PLUS_MINUS:
            return compare_collections(gold, answer, frame)
        return _equation_gold(gold, answer, frame)
    if isinstance(gold, Rel) and isinstance(answer, Rel) and gold.ops == answer.ops and _goes_both_ways(gold):
        return _either_way(gold, answer)
    if _are_real_sets(gold, answer):
        return _real_sets(gold, answer, frame)
    if isinstance(answer, Rel) and not isinstance(gold, Seq) and named_values(gold) is None:
        return _stated(gold, answer, frame)
    if is_collection(gold) or is_collection(answer) or named_values(gold) is not None:
        one, other = spread(gold), spread(answer)
        if (isinstance(gold, Seq) and not isinstance(one, Seq)) or (
            isinstance(answer, Seq) and not isinstance(other, Seq)
        ):
            return compare(one, other, frame)
        return _collections(gold, answer, frame)
    if isinstance(gold, Ratio) or isinstance(answer, Ratio):
        return compare_ratios(gold, answer, frame)
    if (gold.traits | answer.traits) & Trait.STRUCTURE and not (_is_plain(gold) and _is_plain(answer)):
        same = canonical(gold) == canonical(answer)
        return (
            correct("exact", "the same expression") if same else incorrect("rule", "another kind of answer")
        )
    return compare_values(gold, answer, frame)


def _goes_both_ways(relation: Rel) -> bool:
    """a is at a right angle to b as b is to a."""
    return relation.ops in (("perp",), ("parallel",))


def _either_way(gold: Rel, answer: Rel) -> Decision:
    same = {canonical(arg) for arg in gold.args} == {canonical(arg) for arg in answer.args}
    return correct("exact", "the same relation") if same else incorrect("exact", "between others")


def _counting(node: Node, other: Node) -> Node:
    """C(14, 3) beside a plain value is a binomial; beside a point it is a point of that name."""
    if not isinstance(node, Mul) or len(node.args) != 2 or other.has(Trait.STRUCTURE):
        return node
    head, pair = node.args
    if isinstance(head, Sym) and head.name in _COUNTS and isinstance(pair, Seq) and len(pair.args) == 2:
        return Fn(_COUNTS[head.name], *pair.args)
    return node


def _measuring(node: Node, gold: Node) -> Node:
    """10 x 18 beside a gold of two measures is no product."""
    if (
        isinstance(gold, Seq)
        and gold.joint == "by"
        and isinstance(node, Mul)
        and len(node.args) == len(gold.args)
    ):
        return Seq(node.args, joint="by")
    return node


_COUNTS = {"C": "binom", "P": "perm"}


def _plainer(node: Node) -> Node:
    """A(1, 2), a named point, is its coordinates; x != ±1 is two conditions."""
    if isinstance(node, Matrix) and node.shape == (1, 1):
        return node.args[0]
    if isinstance(node, Rel) and node.ops == ("!=",) and node.has(Trait.PLUS_MINUS):
        return Seq(both_signs(node), joint="and")
    if isinstance(node, Mul) and len(node.args) == 2 and isinstance(node.args[0], Sym):
        inner = node.args[1]
        if isinstance(inner, Seq) and inner.opening == "(":
            return inner
    return node


def _as_vectors(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Unit vectors on one side, components on the other."""
    for vector, other in ((gold, answer), (answer, gold)):
        if (
            isinstance(vector, (Seq, Matrix))
            and not isinstance(other, (Seq, Matrix, Rel))
            and (isinstance(vector, Matrix) or vector.opening in ("(", "<", "["))
        ):
            form = unit_vector_form(other, len(vector.args))
            if form is not None:
                return (gold, form) if vector is gold else (form, answer)
    return gold, answer


def _is_plain(node: Node) -> bool:
    return not isinstance(node, (Rel, Seq, NamedSet, Matrix, Dots))


def _words(gold: Node, answer: Node) -> Decision:
    if isinstance(gold, Words) and isinstance(answer, Words):
        same = same_text(gold.text, answer.text)
        return correct("text", "the same words") if same else incorrect("text", "other words")
    return incorrect("rule", "words are no mathematics")


def _stated(gold: Node, answer: Rel, frame: Frame) -> Decision:
    """A gold that is a value, an answer that is an equation."""
    stated = stated_value(answer, frame)
    return stated if isinstance(stated, Decision) else compare(gold, stated, frame)


def _equation_gold(gold: Rel, answer: Node, frame: Frame) -> Decision:
    offered = spread(answer)
    if (
        isinstance(offered, Seq)
        and offered.is_bare
        and len(offered.args) > 1
        and not isinstance(gold.args[-1], Seq)
    ):
        return compare_collections(gold, offered, frame)
    return compare_equations(gold, answer, frame)


def _are_real_sets(gold: Node, answer: Node) -> bool:
    """A condition or union on either side, the other side an interval, condition or set."""
    if looks_like_real_set(gold):
        return True
    if not looks_like_real_set(answer):
        return False
    if not isinstance(gold, Seq):
        return False
    listed = gold.is_bare and all(may_be_interval(arg) for arg in gold.args)
    return may_be_interval(gold) or gold.is_set or listed


def _real_sets(gold: Node, answer: Node, frame: Frame) -> Decision:
    forms = _two_forms(gold)
    if forms is not None:
        decisions = [compare(form, answer, frame) for form in forms]
        return next((decision for decision in decisions if decision.is_correct), decisions[-1])
    forms = _two_forms(answer)
    if forms is not None:
        decisions = [compare(gold, form, frame) for form in forms]
        return next((decision for decision in decisions if not decision.is_correct), decisions[-1])
    if canonical(gold) == canonical(answer):
        return correct("exact", "the same set")
    if isinstance(answer, Rel) and len(answer.args) == 2 and answer.ops == ("=",) and _is_set_name(answer):
        answer = answer.args[1]
    try:
        return compare_real_sets(gold, answer, frame)
    except NoRealSet:
        if isinstance(gold, Seq) and isinstance(answer, Seq):
            return compare_collections(gold, answer, frame)
        if isinstance(gold, Builder) and isinstance(answer, Builder):
            return _same_builders(gold, answer)
        if isinstance(gold, Rel) and isinstance(answer, Rel) and gold.ops == answer.ops:
            return _member_by_member(gold, answer, frame)
        raise


def _same_builders(gold: Builder, answer: Builder) -> Decision:
    """{2k : k in Z} and {2n : n in Z}: the bound letters have no names of their own."""
    ours, theirs = sorted(gold.free), sorted(answer.free)
    if len(ours) == len(theirs) <= 3:
        for order in permutations(ours):
            if canonical(renamed(answer, dict(zip(theirs, order, strict=True)))) == canonical(gold):
                return correct("exact", "the same set")
    return incorrect("rule", "another description of a set")


def _is_set_name(answer: Rel) -> bool:
    return not isinstance(answer.args[0], (Num, Seq))


def _two_forms(gold: Node) -> tuple[Node, ...] | None:
    """A gold that writes one set twice, -1<x<=1 : (-1,1]."""
    if isinstance(gold, Rel) and isinstance(gold.args[-1], Ratio):
        left, right = gold.args[-1].args[0], gold.args[-1].args[-1]
        return (Rel(gold.ops, (*gold.args[:-1], left)), right)
    return None


def _member_by_member(gold: Rel, answer: Rel, frame: Frame) -> Decision:
    """Inequalities in several letters: the same sides under the same signs."""
    inside = frame.inside()
    for ours, theirs in zip(gold.args, answer.args, strict=True):
        decision = compare(ours, theirs, inside)
        if not decision.is_correct:
            return incorrect(decision.method, f"a side differs: {decision.reason}")
    return correct("exact", "the same sides")


def _collections(gold: Node, answer: Node, frame: Frame) -> Decision:
    if isinstance(gold, Seq) and isinstance(answer, Seq) and not gold.is_bare and len(gold.args) == 2:
        return compare_collections(gold, answer, frame)
    if (
        isinstance(gold, Seq)
        and len(gold.args) == 1
        and gold.is_set
        and not isinstance(answer, Seq)
        and frame.outermost
    ):
        return compare(bare_members(gold)[0], answer, frame)
    return compare_collections(gold, answer, frame)


def kind_of(node: Node) -> str:
    """The name of a tree's kind, for people and reports."""
    if isinstance(node, Words):
        return "words"
    if isinstance(node, Cases):
        return "piecewise"
    if holds_matrix(node):
        return "matrix"
    if is_residue(node):
        return "residue"
    if isinstance(node, Rel) and is_equation(node):
        return "equation"
    if looks_like_real_set(node):
        return "interval_set"
    if isinstance(node, Seq):
        return "set" if node.is_set else "list" if node.is_bare else "tuple"
    if isinstance(node, Ratio):
        return "ratio"
    if isinstance(node, (Percent, Quantity, Degrees, Based)):
        return type(node).__name__.lower()
    return "expression" if node.free else "number"
