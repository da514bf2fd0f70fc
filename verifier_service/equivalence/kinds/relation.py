"""Equations: assignments by name, everything else by solution set.

gold            answer          verdict
v = 3t-4        3t-4            correct     the bare right side of a solved gold
v = 5t          v - 5t = 0      correct     one line, unless the prompt asks for v
3p+8q = 6       -3p-8q = -6     correct     up to a factor that does not vanish
t^2 = 16        t = 4           incorrect   another solution set
9               4+5 = 9         correct     a true chain that ends in the value
9               8 = 9           incorrect   a false chain
18              2t = 18         incorrect   neither 18 nor 9
"""

from itertools import pairwise

from flint import fmpq

from ..decision import Decision, correct, incorrect
from ..identity import Assumptions, Same, proportional, same_value
from ..lexer import Refused
from ..nodes import Call, Fn, Mul, Node, Num, Rel, Seq, Sym, Trait, Words
from ..polynomials import constants_in, polynomial_coefficients
from ..reading import comparable_text
from ..rewrite import minus
from ..values import Undefined
from .frame import Frame

EQUALS = frozenset({"=", "~"})
_WORKED_OUT = frozenset({"det", "gcd", "lcm", "max", "min", "re", "im", "arg"})


def is_equation(node: Node) -> bool:
    return isinstance(node, Rel) and all(op in EQUALS for op in node.ops)


def is_name(node: Node) -> bool:
    """What may stand left of "=" as the name of a value: a letter, a word, f(x), \\angle ABC, (x, y)."""
    if isinstance(node, (Sym, Call, Words)):
        return True
    if isinstance(node, Seq):
        return node.opening == "(" and all(isinstance(arg, Sym) for arg in node.args)
    return isinstance(node, Mul) and all(
        isinstance(arg, Sym) and len(arg.name) == 1 and arg.name.isupper() for arg in node.args
    )


def assignment(node: Node) -> tuple[Node, Node] | None:
    """(name, value) of "x = 5" or "5 = x"; None for any other node."""
    if not isinstance(node, Rel) or len(node.args) != 2 or node.ops[0] not in EQUALS:
        return None
    left, right = node.args
    if is_name(left) and not (left.free & right.free and not isinstance(left, Call)):
        return left, right
    if isinstance(left, Sym) and isinstance(right, Call):
        return right, left  # n = f(n)
    if isinstance(left, (Sym, Call)):
        return None
    if isinstance(right, Sym) and right.name not in left.free:
        return right, left
    if isinstance(right, Call) and right.name not in left.free:
        return right, left
    return None


def stated_value(answer: Rel, frame: Frame) -> Node | Decision:
    """The value that an equation as an answer states, or the decision that it states none.

    "x = 5", "f(2) = 4", "Area = 14"; a true chain 3 + 4 = 7; an exact value with an approximate tail.
    """
    members = list(answer.args)
    ops = list(answer.ops)
    if any(op not in EQUALS for op in ops):
        return incorrect("rule", "an inequality states no value")
    named = _names_the_rest(members) or _asked_expression(members[0], frame)
    if not named and len(members) == 2 and ops == ["="] and isinstance(members[1], (Sym, Call)):
        members.reverse()
        named = True
    if named:
        members, ops = members[1:], ops[1:]
    while ops and ops[-1] == "~":  # sqrt(2) ~ 1.41: the exact member counts
        members.pop()
        ops.pop()
    if len(members) == 1:
        return members[0]
    if not named and any(member.free for member in members):
        return incorrect("rule", "an equation is no value")
    return _end_of_chain(members, frame.given)


def worked_out(node: Node) -> Node:
    """F(x) + C of "the integral of f = F(x) + C": what an equation says that it comes to."""
    if not isinstance(node, Rel) or not is_equation(node):
        return node
    kept = tuple(arg for arg in node.args if not arg.traits & Trait.UNEVALUATED)
    if not kept or kept[-1] is not node.args[-1] or "~" in node.ops:
        return node
    return kept[0] if len(kept) == 1 else Rel(("=",) * (len(kept) - 1), kept)


def _names_the_rest(members: list[Node]) -> bool:
    """x = 5 names its value; x = 2x does not."""
    head = members[0]
    if not is_name(head):
        return False
    return isinstance(head, Call) or not any(head.free & member.free for member in members[1:])


def _end_of_chain(members: list[Node], given: Assumptions) -> Node | Decision:
    for left, right in pairwise(members):
        try:
            same = same_value(left, right, given)
        except (Undefined, Refused):
            same = Same(None, "none", "")
        if same.equal is False:
            return incorrect(same.method, f"a false chain of equalities: {same.reason}")
    return members[-1]


def _asked_expression(node: Node, frame: Frame) -> bool:
    """a + b = 7 where the prompt asks for a + b."""
    if not node.free or isinstance(node, Rel):
        return False
    return frame.facts.has_formula(comparable_text(frame.answer_text.partition("=")[0]))


# -- comparisons


def compare_equations(gold: Rel, answer: Node, frame: Frame) -> Decision:
    """A gold that is an equation (or a chain of them) against any answer."""
    solved = assignment(gold)
    if solved is not None:
        decision = _against_assignment(gold, *solved, answer, frame)
        if decision is not None:
            return decision
    if len(gold.args) > 2:
        value = gold.args[-1] if gold.ops[-1] == "=" else gold.args[-2]
        head = assignment(Rel((gold.ops[0],), (gold.args[0], value)))
        if isinstance(answer, Rel) and len(answer.args) == len(gold.args):
            return _same_chain(gold, answer, frame)
        if head is not None or not value.free:
            return frame.compare(value, answer, frame)
    if not isinstance(answer, Rel):
        if _is_statement(gold):
            return frame.compare(gold.args[-1], answer, frame)
        return incorrect("rule", "an equation is asked for")
    if not is_equation(answer) or len(answer.args) != 2 or len(gold.args) != 2:
        return incorrect("rule", "another kind of relation")
    return same_solution_set(gold, answer, frame)


def _is_statement(gold: Rel) -> bool:
    """A worked value, det A = -6: what stands left is no unknown but what was to be worked out."""
    left, right = gold.args[0], gold.args[-1]
    if isinstance(left, Fn) and left.name in _WORKED_OUT and not right.free:
        return True
    return left.has(Trait.STRUCTURE) or not (left.free or right.free)


def _same_chain(gold: Rel, answer: Rel, frame: Frame) -> Decision:
    for left, right in zip(gold.args, answer.args, strict=True):
        same = _same_or_none(left, right, frame)
        if same.equal is not True:
            return incorrect("rule", "the chains differ")
    return correct("exact", "the same chain")


def _against_assignment(gold: Rel, name: Node, value: Node, answer: Node, frame: Frame) -> Decision | None:
    """None where the answer must be compared as an equation."""
    if not isinstance(answer, Rel):
        return frame.compare(value, answer, frame)
    if not is_equation(answer):
        return incorrect("rule", "an inequality is no equation")
    if len(answer.args) > 2:
        stated = stated_value(answer, frame)
        return stated if isinstance(stated, Decision) else frame.compare(value, stated, frame)
    theirs = assignment(answer)
    if theirs is not None and theirs[0].key == name.key:
        return frame.compare(value, theirs[1], frame)
    if not value.free or value.traits & Trait.STRUCTURE:
        if theirs is not None and _is_same_name(name, theirs[0]):
            return frame.compare(value, theirs[1], frame)
        return incorrect("rule", "not solved for the name that the gold gives")
    if _is_graph(name, value) and theirs is not None and isinstance(theirs[0], Call):
        return frame.compare(value, theirs[1], frame)
    if isinstance(name, Call) and theirs is not None and isinstance(theirs[0], (Sym, Call)):
        if _called_alike(name, theirs[0], value):
            return frame.compare(value, theirs[1], frame)
    if isinstance(name, Sym) and name.name in frame.facts.solve_for:
        return incorrect("rule", f"not solved for {name.name}")
    return None


def _is_graph(name: Node, value: Node) -> bool:
    """y = 2x may be written f(x) = 2x."""
    return isinstance(name, Sym) and name.name == "y" and "y" not in value.free


def _called_alike(name: Call, other: Node, value: Node) -> bool:
    """f(x) = ... against y = ... or f = ...: the value names its variable itself."""
    return isinstance(other, Sym) and (other.name in ("y", name.name)) and other.name not in value.free


def _is_same_name(gold: Node, answer: Node) -> bool:
    """A name in words has no one spelling: "Area = 14" and "A = 14"."""
    wordy = [
        isinstance(node, Words) or (isinstance(node, Sym) and bool(node.traits & Trait.WORD))
        for node in (gold, answer)
    ]
    return any(wordy) and not all(wordy)


def _same_or_none(a: Node, b: Node, frame: Frame) -> Same:
    try:
        return same_value(a, b, frame.given)
    except (Undefined, Refused) as problem:
        return Same(None, "none", str(problem))


def same_solution_set(gold: Rel, answer: Rel, frame: Frame) -> Decision:
    """Up to a factor that does not vanish; an identity is compared side by side."""
    sides = (*gold.args, *answer.args)
    if any(side.traits & Trait.STRUCTURE for side in sides):
        return incorrect("rule", "another kind of equation")
    if not any(side.free for side in sides):
        return _side_by_side(gold, answer, frame)
    left, right = minus(*gold.args), minus(*answer.args)
    zero = Num(fmpq(0), None, 1)
    if _same_or_none(left, zero, frame).equal:
        return _side_by_side(gold, answer, frame)
    if _same_or_none(right, zero, frame).equal:
        return incorrect("sampled", "a tautology")
    found = proportional(left, right, frame.given)
    if found.equal:
        return correct(found.method, found.reason)
    numerators = _same_numerators(left, right)
    if numerators is not None:
        return (
            correct("exact", "the same equation once denominators are cleared")
            if numerators
            else incorrect("exact", "another solution set")
        )
    return incorrect(found.method, found.reason)


def _side_by_side(gold: Rel, answer: Rel, frame: Frame) -> Decision:
    """An identity or a worked sum has no solution set: its sides are what it says."""
    for sides in (answer.args, answer.args[::-1]):
        if all(_same_or_none(a, b, frame).equal for a, b in zip(gold.args, sides, strict=True)):
            return correct("sampled", "the same sides")
    return incorrect("sampled", "other sides")


def _same_numerators(left: Node, right: Node) -> bool | None:
    names = sorted(left.free | right.free | constants_in(left) | constants_in(right))
    first, second = polynomial_coefficients(left, names), polynomial_coefficients(right, names)
    if first is None or second is None or left.free != right.free:
        return None
    a, b = first[0], second[0]
    if not a or not b:
        return False
    return bool(a * b.leading_coefficient() == b * a.leading_coefficient())
