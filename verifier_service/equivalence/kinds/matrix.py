"""Matrices and vectors by shape and entry; a column vector may be written as a tuple.

    gold                 answer              verdict
    (1 2; 3 4)           [[1,2],[3,4]]       correct
    (1/2 1; 3/2 2)       1/2 (1 2; 3 4)      correct     scalar factors are multiplied in
    (1; 2)               (1, 2)              correct     a vector as a tuple
    (1 2; 3 4)           (1 3; 2 4)          incorrect
"""

from collections.abc import Callable

from ..decision import Decision, correct, incorrect
from ..nodes import Add, Div, Matrix, Mul, Neg, Node, Pow, Seq
from .frame import Frame


def holds_matrix(node: Node) -> bool:
    if isinstance(node, Matrix):
        return True
    return isinstance(node, (Mul, Add, Neg, Div, Pow)) and any(holds_matrix(arg) for arg in node.args)


def as_matrix(node: Node) -> Matrix | None:
    """The node as one matrix of entries; None where it is none."""
    if isinstance(node, Matrix):
        return node
    if isinstance(node, Neg) and (inner := as_matrix(node.args[0])):
        return _mapped(inner, lambda entry: Neg((entry,)))
    if isinstance(node, Div) and (inner := as_matrix(node.args[0])):
        return _mapped(inner, lambda entry: Div((entry, node.args[1])))
    if isinstance(node, Mul):
        return _scaled(node)
    if isinstance(node, Add):
        return _added(node)
    if isinstance(node, Seq) and node.args:
        return _nested(node)
    return None


def _mapped(matrix: Matrix, change: Callable[[Node], Node]) -> Matrix:
    width = matrix.shape[1]
    entries = tuple(change(entry) for entry in matrix.args)
    return Matrix(tuple(entries[at : at + width] for at in range(0, len(entries), width)))


def _scaled(node: Mul) -> Matrix | None:
    """One matrix times scalars; a product of matrices is left unevaluated."""
    matrices = [arg for arg in node.args if holds_matrix(arg)]
    if len(matrices) != 1:
        return None
    inner = as_matrix(matrices[0])
    if inner is None:
        return None
    scalars = tuple(arg for arg in node.args if arg is not matrices[0])
    return _mapped(inner, lambda entry: Mul((*scalars, entry)))


def _added(node: Add) -> Matrix | None:
    found: list[Matrix] = []
    for arg in node.args:
        inner = as_matrix(arg)
        if inner is None or (found and inner.shape != found[0].shape):
            return None
        found.append(inner)
    width = found[0].shape[1]
    entries = [Add(cells) for cells in zip(*[matrix.args for matrix in found], strict=True)]
    return Matrix(tuple(tuple(entries[at : at + width]) for at in range(0, len(entries), width)))


def _nested(node: Seq) -> Matrix | None:
    """[[1,2],[3,4]] by rows; a plain tuple is a column."""
    if node.is_set or node.is_bare:
        return None
    rows = [arg for arg in node.args if isinstance(arg, Seq)]
    if len(rows) == len(node.args):
        if len({len(row.args) for row in rows}) == 1 and all(row.opening in ("[", "(") for row in rows):
            return Matrix(tuple(row.args for row in rows))
        return None
    return Matrix(tuple((arg,) for arg in node.args)) if not rows else None


def compare_matrices(gold: Node, answer: Node, frame: Frame) -> Decision:
    wanted, offered = as_matrix(gold), as_matrix(answer)
    if wanted is None or offered is None:
        return incorrect("rule", "a matrix is asked for")
    vector = 1 in wanted.shape and isinstance(answer, Seq) and 1 in offered.shape
    if wanted.shape != offered.shape and not (vector and len(wanted.args) == len(offered.args)):
        return incorrect("exact", f"{offered.shape} is not the shape {wanted.shape}")
    inside = frame.inside()
    methods = set()
    for ours, theirs in zip(wanted.args, offered.args, strict=True):
        decision = frame.compare(ours, theirs, inside)
        if not decision.is_correct:
            return incorrect(decision.method, f"an entry differs: {decision.reason}")
        methods.add(decision.method)
    return correct("sampled" if "sampled" in methods else "exact", "equal entry by entry")
