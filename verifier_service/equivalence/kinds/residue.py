"""Residues and ratios.

gold            answer        verdict
17 (mod 50)     17            correct     a bare number with a modulus is that number
t = 4 (mod 9)   t = 9k + 4    correct     the family spelled out
5:7             10:14         correct
5:7             7:5           incorrect
"""

from flint import fmpq

from ..decision import Decision, correct, incorrect
from ..exact import Evaluator
from ..identity import same_value
from ..lexer import Refused
from ..nodes import Div, Dots, Fn, Mul, Node, Ratio, Rel
from ..values import Undefined
from .expression import is_arbitrary
from .frame import Frame


def is_residue(node: Node) -> bool:
    return isinstance(node, Fn) and node.name == "residue"


def _family(node: Node, frame: Frame) -> tuple[fmpq, fmpq] | None:
    """(residue, modulus) of "x ≡ 3 (mod 7)", "3 (mod 7)" or "x = 7k + 3"."""
    if isinstance(node, Fn) and node.name == "residue":
        value, modulus = node.args
        if isinstance(value, Rel):
            value = value.args[-1]
        return _pair(value, modulus)
    if isinstance(node, Rel) and len(node.args) == 2:
        return _family(node.args[1], frame)
    if len(node.free) == 1:
        (name,) = node.free
        if is_arbitrary(name, frame):
            return _linear(node, name)
    return None


def _pair(value: Node, modulus: Node) -> tuple[fmpq, fmpq] | None:
    try:
        residue, step = Evaluator().value(value), Evaluator().value(modulus)
    except (Undefined, Refused):
        return None
    if type(residue) is not fmpq or type(step) is not fmpq or step == 0:
        return None
    return _reduced(residue, abs(step))


def _reduced(residue: fmpq, step: fmpq) -> tuple[fmpq, fmpq]:
    return residue - step * (residue / step).floor(), step


def _linear(node: Node, name: str) -> tuple[fmpq, fmpq] | None:
    values = []
    for at in range(3):
        try:
            value = Evaluator({name: fmpq(at)}).value(node)
        except (Undefined, Refused):
            return None
        if type(value) is not fmpq:
            return None
        values.append(value)
    step = values[1] - values[0]
    if step == 0 or values[2] - values[1] != step:
        return None
    return _reduced(values[0], abs(step))


def compare_residues(gold: Node, answer: Node, frame: Frame) -> Decision:
    wanted, offered = _family(gold, frame), _family(answer, frame)
    if wanted is not None and offered is not None:
        same = wanted == offered
        return (
            correct("exact", "the same residue class")
            if same
            else incorrect("exact", "another residue class")
        )
    if is_residue(gold) and not answer.free:
        return frame.compare(gold.args[0], answer, frame)
    if is_residue(answer) and not gold.free:
        return frame.compare(gold, answer.args[0], frame)
    return incorrect("rule", "a residue is asked for")


def compare_ratios(gold: Node, answer: Node, frame: Frame) -> Decision:
    """3:4 is 3/4, not 4:3; 5:10:20 is 1:2:4."""
    if any(isinstance(part, Dots) for node in (gold, answer) for part in node.walk()):
        same = gold.key == answer.key
        return correct("exact", "the same pattern") if same else incorrect("exact", "another pattern")
    if isinstance(gold, Ratio) and isinstance(answer, Ratio):
        return _proportional(gold, answer, frame)
    ratio, other = (gold, answer) if isinstance(gold, Ratio) else (answer, gold)
    if len(ratio.args) != 2:
        return incorrect("rule", "a ratio of several terms is no number")
    quotient = Div((ratio.args[0], ratio.args[1]))
    return frame.compare(quotient, other, frame) if ratio is gold else frame.compare(other, quotient, frame)


def _proportional(gold: Ratio, answer: Ratio, frame: Frame) -> Decision:
    if len(gold.args) != len(answer.args):
        return incorrect("exact", "another number of terms")
    first_gold, first_answer = gold.args[-1], answer.args[-1]
    method = "exact"
    for ours, theirs in zip(gold.args[:-1], answer.args[:-1], strict=True):
        try:
            zero = fmpq(0)
            for last in (first_gold, first_answer):
                if not last.free and Evaluator().value(last) == zero:
                    return incorrect("exact", "a ratio to nothing")
            same = same_value(Mul((ours, first_answer)), Mul((theirs, first_gold)), frame.given)
        except (Undefined, Refused) as problem:
            return incorrect("rule", f"answer_refused: {problem}")
        if not same.equal:
            return incorrect(same.method, "another ratio")
        method = same.method
    return correct(method, "the same ratio")  # type: ignore[arg-type]
