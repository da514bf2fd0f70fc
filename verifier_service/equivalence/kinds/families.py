r"""Families of values with an integer parameter, compared as the sets of numbers that they are.

gold              answer                            verdict
π/6 + 2kπ         13π/6 + 2nπ                       correct     shifted by a period
±π/3 + 2kπ        π/3 + 2kπ, 5π/3 + 2kπ             correct
π/4 + kπ/2        π/4 + kπ, 3π/4 + kπ               correct     a family in parts
π/4 + kπ          π/4 + 2kπ                         incorrect   every other one is missing

A letter counts as the parameter where something says so: π or degrees, "k ∈ Z", a prompt that asks for all solutions.
Elsewhere 2n-1 and 2n+1 are two sequences, not one set.
"""

import re
from dataclasses import dataclass
from math import gcd, lcm

from flint import arb, fmpq

from ..exact import Evaluator
from ..identity import PROOF_BITS
from ..lexer import Refused
from ..nodes import Node, Rel, Seq, Trait
from ..values import Undefined, precision
from .collection import bare_members, is_membership, spread
from .expression import is_arbitrary
from .frame import Frame
from .relation import assignment
from .residue import is_residue

INTEGERS = frozenset("nmklNK")
_ASKS_FOR_ALL = re.compile(
    r"\b(?:all|every|general)\s+(?:\w+\s+){0,2}(?:solutions?|values?|numbers?|integers?|angles?|roots?)\b"
    r"|\bsolve\b|congruen|\bmod\b|\\p?mod|remainder",
    re.IGNORECASE,
)
MAX_MEMBERS = 24
MAX_CLASSES = 120
MAX_PARTS = 60  # of a period


@dataclass(frozen=True, slots=True)
class Family:
    """base + k * step for every integer k."""

    base: arb
    step: arb


def same_families(gold: Node, answer: Node, frame: Frame) -> bool:
    """Whether both are families of numbers with an integer parameter, and the same numbers."""
    if not (_may_be_families(gold) and _may_be_families(answer)):
        return False
    if not any(_says_integer(node, frame) for node in (gold, answer)) or _name(gold) != _name(answer):
        return False
    with precision(PROOF_BITS):
        try:
            ours, theirs = _families(gold, frame), _families(answer, frame)
            return bool(ours and theirs) and _same_classes(ours, theirs)
        except (Undefined, Refused, ValueError, ZeroDivisionError):
            return False


def domains(node: Node) -> set[object]:
    """The names of the sets that parameters are said to run through: k in Z, k in N."""
    return {part.args[1].data() for part in node.args if is_membership(part)}


def _may_be_families(node: Node) -> bool:
    return bool(INTEGERS & node.free) or any(map(is_residue, _members(node)))


def _members(node: Node) -> tuple[Node, ...]:
    return node.args if isinstance(node, Seq) else (node,)


def _says_integer(node: Node, frame: Frame) -> bool:
    members = _members(node)
    if node.traits & Trait.DEGREE or any(is_membership(member) or is_residue(member) for member in members):
        return True
    return _ASKS_FOR_ALL.search(frame.facts.prompt) is not None or any(
        part.data() == "pi" for part in node.walk()
    )


def _name(node: Node) -> object:
    """The name that every member has; None where there is none, or where the letters of a membership are all."""
    members = [member.args[0] if is_residue(member) else member for member in _members(node)]
    if any(isinstance(member, Rel) and member.ops == ("==",) for member in members):
        return None
    names = {pair[0].key for member in members if (pair := assignment(member)) is not None}
    return next(iter(names)) if len(names) == 1 else None


def _families(node: Node, frame: Frame) -> list[Family]:
    """Raises Refused where a member is no such family."""
    listed = spread(node)
    members = bare_members(listed) if isinstance(listed, Seq) else (listed,)
    if (isinstance(listed, Seq) and not (listed.is_bare or listed.is_set)) or len(members) > MAX_MEMBERS:
        raise Refused("no list of families")
    found = []
    modulus = next((member.args[1] for member in reversed(members) if is_residue(member)), None)
    if modulus is not None:
        return [_residue_class(member, modulus) for member in members]
    for member in members:
        pair = assignment(member)
        value = pair[1] if pair is not None else member
        if isinstance(value, Rel) or len(value.free) != 1:
            raise Refused("no family")
        found.append(_family(value, frame))
    return found


def _family(value: Node, frame: Frame) -> Family:
    (letter,) = value.free
    if letter not in INTEGERS or not is_arbitrary(letter, frame):
        raise Refused("a letter of the problem")
    base, following = (_member_at(k, letter, value) for k in (0, 1))
    step = following - base
    if step.contains(0) or not all(
        (base + k * step).overlaps(_member_at(k, letter, value)) for k in (2, 5, -7, 4_093)
    ):
        raise Refused("not linear")
    return Family(base, abs(step))


def _member_at(k: int, letter: str, value: Node) -> arb:
    return arb(Evaluator({letter: fmpq(k)}).real(value))


def _residue_class(member: Node, modulus: Node) -> Family:
    """x ≡ 1, 4 (mod 5): the modulus at the end is everyone's."""
    if is_residue(member):
        member, modulus = member.args
    value = member.args[-1] if isinstance(member, Rel) else member
    step = arb(Evaluator().real(modulus))
    if step.contains(0):
        raise Refused("no modulus")
    return Family(arb(Evaluator().real(value)), abs(step))


def _ratio(a: arb, b: arb) -> fmpq:
    """a / b as the fraction of small terms that it is; raises Refused where it is none."""
    quotient = a / b
    for bottom in range(1, MAX_PARTS + 1):
        top = (quotient * bottom + arb(fmpq(1, 2))).floor().unique_fmpz()
        if top is not None and top > 0 and (quotient * bottom).overlaps(arb(top)):
            return fmpq(top, bottom)
    raise Refused("periods without a common one")


def _same_classes(ours: list[Family], theirs: list[Family]) -> bool:
    unit = ours[0].step
    ratios = [_ratio(family.step, unit) for family in (*ours, *theirs)]
    period = fmpq(lcm(*(int(r.p) for r in ratios)), gcd(*(int(r.q) for r in ratios)))
    return _covers(ours, theirs, unit, period) and _covers(theirs, ours, unit, period)


def _covers(families: list[Family], others: list[Family], unit: arb, period: fmpq) -> bool:
    """Does every class of `others` modulo the common period stand among those of `families`?"""
    whole = unit * arb(period)
    wanted, offered = (_classes(side, whole) for side in (others, families))
    return all(any(_is_integer(a - b) for b in offered) for a in wanted)


def _classes(families: list[Family], whole: arb) -> list[arb]:
    found = []
    for family in families:
        count = (whole / family.step + arb(fmpq(1, 2))).floor().unique_fmpz()
        if count is None or not 1 <= count <= MAX_CLASSES:
            raise Refused("too many classes")
        found += [(family.base + k * family.step) / whole for k in range(int(count))]
    return found


def _is_integer(value: arb) -> bool:
    nearest = (value + arb(fmpq(1, 2))).floor().unique_fmpz()
    return nearest is not None and value.overlaps(arb(nearest))
