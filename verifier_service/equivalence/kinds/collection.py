"""Several values: sets and "find all" lists without order, tuples by place, named values by name.

gold              answer                  verdict
{4,6,9}           9, 4, 6                 correct     a complete list in any order
(5, 8)            (8, 5)                  incorrect   by place
(u,v) = (7,3)     v = 3, u = 7            correct     by name
t=6 or t=-1       {-1, 6}                 correct
{4, 9}            {4, 9, 11}              incorrect   complete means no more either
±23               t = 23 or t = -23       correct
"""

from flint import arb

from ..decision import Decision, Method, correct, incorrect
from ..exact import Evaluator
from ..identity import FAST_BITS, canonical
from ..lexer import Refused
from ..nodes import Call, Dots, NamedSet, Node, Rel, Seq, Sym, Trait
from ..rewrite import both_signs
from ..values import Undefined, precision
from .frame import Frame
from .relation import assignment, is_name

MAX_PAIRS = 5_000  # comparisons that one collection may cost
OPENING = frozenset({"(", "[", "<"})


def is_collection(node: Node) -> bool:
    return isinstance(node, Seq) or bool(node.traits & Trait.PLUS_MINUS)


def spread(node: Node) -> Node:
    """± spelled out and "m = 5, 6, 7" given its name in every member; other nodes as they are."""
    if isinstance(node, Seq) and (node.is_bare or node.is_set):
        members: list[Node] = []
        for arg in node.args:
            members.extend(_signs(arg))
        if node.is_bare:
            members = _shared_name(_without_memberships(members))
            if len(members) == 1:
                return members[0]
        return Seq(tuple(members), node.opening, node.closing, node.joint)
    if node.traits & Trait.PLUS_MINUS:
        return Seq(both_signs(node), joint="or")
    if (
        isinstance(node, Rel)
        and node.ops == ("in",)
        and isinstance(node.args[1], Seq)
        and node.args[1].is_set
    ):
        return spread(node.args[1])  # x in {1, 2}
    return node


def _without_memberships(members: list[Node]) -> list[Node]:
    """ "x = 2k, k in Z" says what k is; the answer is the rest."""
    kept = [member for member in members if not _is_membership(member, members)]
    return kept or members


def is_membership(member: Node) -> bool:
    """k in Z."""
    return isinstance(member, Rel) and member.ops == ("in",) and isinstance(member.args[1], NamedSet)


def _is_membership(member: Node, members: list[Node]) -> bool:
    return is_membership(member) and any(
        other is not member and member.args[0].free & other.free for other in members
    )


def _signs(node: Node) -> tuple[Node, ...]:
    return both_signs(node) if node.traits & Trait.PLUS_MINUS else (node,)


def _shared_name(members: list[Node]) -> list[Node]:
    """x = 1, 2 means x = 1 or x = 2."""
    first = assignment(members[0]) if members else None
    if first is None or len(members) < 2 or any(isinstance(member, Rel) for member in members[1:]):
        return members
    return [members[0], *(Rel(("=",), (first[0], member)) for member in members[1:])]


def named_values(node: Node) -> dict[object, Node] | None:
    """{name: value} of "u=7, v=3" or "(u,v)=(7,3)"; None where the names repeat or are missing."""
    if isinstance(node, Rel) and len(node.args) == 2 and node.ops == ("=",):
        names, values = node.args
        if isinstance(names, Seq) and isinstance(values, Seq) and len(names.args) == len(values.args):
            if all(isinstance(name, (Sym, Call)) for name in names.args):
                return {name.key: value for name, value in zip(names.args, values.args, strict=True)}
        return None
    if not isinstance(node, Seq) or not (node.is_bare or node.opening in OPENING) or len(node.args) < 2:
        return None
    found: dict[object, Node] = {}
    for arg in node.args:
        pair = assignment(arg)
        if pair is None or pair[0].key in found:
            return None
        found[pair[0].key] = pair[1]
    return found


def bare_members(node: Seq) -> tuple[Node, ...]:
    """The members without a name that all of them share."""
    pairs = [assignment(arg) for arg in node.args]
    if pairs and all(pair is not None for pair in pairs):
        keys = {pair[0].key for pair in pairs if pair is not None}
        if len(keys) == 1:
            return tuple(pair[1] for pair in pairs if pair is not None)
    return node.args


# -- comparison


def compare_collections(gold: Node, answer: Node, frame: Frame) -> Decision:
    """At least one side holds several values."""
    wanted, offered = spread(gold), spread(answer)
    by_name = named_values(wanted)
    if by_name is not None:
        return _by_name(by_name, offered, frame)
    if not isinstance(wanted, Seq):
        return _single_gold(wanted, offered, frame)
    if any(isinstance(arg, Dots) for arg in (*wanted.args, *offered.args)):
        return _pattern(wanted, offered)
    if wanted.is_bare or wanted.is_set:
        return _unordered_gold(wanted, offered, frame)
    return _tuple_gold(wanted, offered, frame)


def _pattern(wanted: Seq, offered: Node) -> Decision:
    if isinstance(offered, Seq) and canonical(wanted)[2:] == canonical(offered)[2:]:
        return correct("exact", "the same pattern")
    return incorrect("exact", "another pattern")


def _single_gold(gold: Node, answer: Node, frame: Frame) -> Decision:
    """One value is asked for: a list of it alone will do, alternatives will not."""
    if isinstance(answer, Seq) and answer.args and (answer.is_bare or (answer.is_set and frame.outermost)):
        members = bare_members(answer)
        if any(isinstance(member, (NamedSet, Seq)) for member in members):
            return incorrect("rule", "a collection is no single value")
        decisions = [frame.compare(gold, member, frame.inside()) for member in members[:50]]
        if all(decision.is_correct for decision in decisions) and len(members) <= 50:
            return decisions[0]
        if len(members) > 1 and any(decision.is_correct for decision in decisions):
            return incorrect("rule", "several values are offered where one is asked for")
        return incorrect(decisions[0].method, decisions[0].reason)
    return incorrect("rule", "a collection is no single value")


def _by_name(wanted: dict[object, Node], offered: Node, frame: Frame) -> Decision:
    theirs = named_values(offered)
    inside = frame.inside()
    if theirs is not None:
        if theirs.keys() != wanted.keys():
            return incorrect("rule", "other names")
        pairs = [(value, theirs[name]) for name, value in wanted.items()]
        return _all_equal(pairs, inside, "equal name by name")
    if isinstance(offered, Rel) and isinstance(offered.args[-1], Seq) and is_name(offered.args[0]):
        offered = offered.args[-1]
    if isinstance(offered, Seq) and not offered.is_set and len(offered.args) == len(wanted):
        if all(assignment(arg) is None for arg in offered.args):
            return _all_equal(
                list(zip(wanted.values(), offered.args, strict=True)), inside, "equal place by place"
            )
    return incorrect("rule", "values by name are asked for")


def _all_equal(pairs: list[tuple[Node, Node]], frame: Frame, reason: str) -> Decision:
    methods: set[Method] = set()
    for ours, theirs in pairs:
        decision = frame.compare(ours, theirs, frame)
        if not decision.is_correct:
            return incorrect(decision.method, f"a member differs: {decision.reason}")
        methods.add(decision.method)
    return correct(weakest(methods), reason)


def weakest(methods: set[Method]) -> Method:
    order: tuple[Method, ...] = ("symbolic", "sampled", "ball")
    return next((method for method in order if method in methods), "exact")


def _tuple_gold(gold: Seq, answer: Node, frame: Frame) -> Decision:
    """By place. The brackets of a pair carry meaning; a bare list in the same order will do."""
    if isinstance(answer, Rel) and len(answer.args) == 2 and isinstance(answer.args[1], Seq):
        answer = answer.args[1]
    named = named_values(answer)
    if named is not None and isinstance(answer, Seq):
        answer = Seq(in_order_of_names(named), gold.opening, gold.closing)
    if not isinstance(answer, Seq) or answer.is_set:
        return incorrect("rule", "an ordered collection is asked for")
    if len(gold.args) != len(answer.args):
        return incorrect("exact", f"{len(answer.args)} members, not {len(gold.args)}")
    if not _brackets_agree(gold, answer):
        return incorrect("rule", "other brackets")
    return _all_equal(list(zip(gold.args, answer.args, strict=True)), frame.inside(), "equal place by place")


def _brackets_agree(gold: Seq, answer: Seq) -> bool:
    ours, theirs = gold.opening + gold.closing, answer.opening + answer.closing
    if ours == theirs or not theirs:
        return True
    if len(gold.args) == 2 and (ours in ("(]", "[)", "[]") or theirs in ("(]", "[)")):
        return False
    return not (len(gold.args) == 2 and ours == "()" and theirs == "[]")


def _unordered_gold(gold: Seq, answer: Node, frame: Frame) -> Decision:
    if not isinstance(answer, Seq):
        if gold.is_set and not frame.outermost:
            return incorrect("rule", "a set is no value")
        answer = Seq((answer,))
    if len(answer.args) == 1 and isinstance(answer.args[0], NamedSet):
        return incorrect("rule", "a set of a set")
    if _other_names(gold, answer):
        return incorrect("rule", "values of other names")
    in_order = answer.opening in OPENING
    if answer.opening + answer.closing in ("(]", "[)"):
        return incorrect("rule", "a half-open interval is no list")
    ours, theirs = bare_members(gold), bare_members(answer)
    if frame.facts.ordered or in_order:
        if len(ours) != len(theirs):
            return incorrect("exact", f"{len(theirs)} members, not {len(ours)}")
        return _all_equal(list(zip(ours, theirs, strict=True)), frame.inside(), "equal place by place")
    return _same_members(ours, theirs, gold, answer, frame.inside())


def _names_of(node: Seq) -> set[object]:
    pairs = [assignment(arg) for arg in node.args]
    names = (pair[0] for pair in pairs if pair is not None)
    return {name.name.partition("_")[0] if isinstance(name, Sym) else name.key for name in names}


def _other_names(gold: Seq, answer: Seq) -> bool:
    """x = 1 or x = 2 is not met by values of y; the members of a set have no names that differ."""
    ours, theirs = _names_of(gold), _names_of(answer)
    return bool(ours and theirs and ours != theirs) or (gold.is_set and len(theirs) > 1)


def in_order_of_names(named: dict[object, Node]) -> tuple[Node, ...]:
    """(x, y) from "y = 3, x = -1": by name, since a tuple is by place."""
    return tuple(value for _, value in sorted(named.items(), key=lambda item: repr(item[0])))


def _distinct(members: tuple[Node, ...]) -> list[Node]:
    return list({canonical(member): member for member in members}.values())


def _same_members(
    ours: tuple[Node, ...], theirs: tuple[Node, ...], gold: Seq, answer: Seq, frame: Frame
) -> Decision:
    """Each member of one side equals one of the other; repeats are ignored unless the gold list has them."""
    repeats_count = gold.is_bare and not answer.is_set and len(_distinct(ours)) != len(ours)
    if repeats_count:
        if len(ours) != len(theirs):
            return incorrect("exact", f"{len(theirs)} members, not {len(ours)}")
        left, right = list(ours), list(theirs)
    else:
        left, right = _distinct(ours), _distinct(theirs)
    left_values, right_values = _approximate(left), _approximate(right)
    if left_values is not None and right_values is not None:
        left = [node for _, node in sorted(zip(left_values, left, strict=True), key=lambda pair: pair[0])]
        right = [node for _, node in sorted(zip(right_values, right, strict=True), key=lambda pair: pair[0])]
    return _matched(left, right, frame, one_to_one=bool(repeats_count))


def _approximate(members: list[Node]) -> list[float] | None:
    """Sizes to sort numeric members by, so that equal ones meet early; None where one is no real number."""
    sizes = []
    with precision(FAST_BITS):
        for member in members:
            if member.free or member.traits & (Trait.STRUCTURE | Trait.UNIT):
                return None
            try:
                sizes.append(float(arb(Evaluator().real(member)).mid()))
            except (Undefined, Refused, OverflowError, ValueError):
                return None
    return sizes


def _matched(left: list[Node], right: list[Node], frame: Frame, *, one_to_one: bool) -> Decision:
    methods: set[Method] = set()
    used = [False] * len(right)
    budget = MAX_PAIRS
    for place, ours in enumerate(left):
        for at in _near(place, len(right)):
            if one_to_one and used[at]:
                continue
            budget -= 1
            if budget < 0:
                return incorrect("rule", "answer_refused: too many members to match")
            decision = frame.compare(ours, right[at], frame)
            if decision.is_correct:
                used[at] = True
                methods.add(decision.method)
                break
        else:
            return incorrect("exact", "a member of the gold is missing")
    for at, theirs in enumerate(right):
        if not used[at] and not any(frame.compare(ours, theirs, frame).is_correct for ours in left[:200]):
            return incorrect("exact", "a member that the gold has not")
    return correct(weakest(methods), "the same members")


def _near(place: int, size: int) -> list[int]:
    """Places of the other side, the one at the same place first: sorted sides match at once."""
    first = min(place, size - 1)
    return [first, *(at for at in range(size) if at != first)] if size else []
