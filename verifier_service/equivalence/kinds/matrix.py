"""Matrices and vectors by shape and entry; a column vector may be written as a tuple.

gold                 answer              verdict
(5 6; 7 8)           [[5,6],[7,8]]       correct
(3/2 1; 9/2 6)       3/2 (1 2/3; 3 4)    correct     scalar factors are multiplied in
(4; 9)               (4, 9)              correct     a vector as a tuple
(5 6; 7 8)           (5 7; 6 8)          incorrect
"""

from collections.abc import Callable

from flint import fmpq

from ..decision import Decision, correct, incorrect
from ..identity import canonical, same_value
from ..nodes import Add, Const, Div, Matrix, Mul, Neg, Node, Num, Pow, Rel, Seq, Sym, Trait
from ..rewrite import rebuild, substituted
from .frame import Frame


def holds_matrix(node: Node) -> bool:
    if isinstance(node, Matrix) or _is_transposed(node):
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
    return _transposed(node) if _is_transposed(node) else None


def _is_transposed(node: Node) -> bool:
    """A matrix, or a tuple of components, with a T on it."""
    if not isinstance(node, Pow) or not isinstance(node.args[1], Sym) or node.args[1].name != "T":
        return False
    base = node.args[0]
    return isinstance(base, Matrix) or (isinstance(base, Seq) and base.opening in ("(", "["))


def _transposed(node: Node) -> Matrix | None:
    base = node.args[0]
    inner = Matrix((base.args,)) if isinstance(base, Seq) and not _rows(base) else as_matrix(base)
    if inner is None:
        return None
    width = inner.shape[1]
    return Matrix(tuple(inner.args[column::width] for column in range(width)))


def _rows(node: Seq) -> list[Seq]:
    return [arg for arg in node.args if isinstance(arg, Seq)]


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
    """[[5,6],[7,8]] by rows; a plain tuple is a column."""
    if node.is_set or node.is_bare:
        return None
    rows = _rows(node)
    if len(rows) == len(node.args):
        if len({len(row.args) for row in rows}) == 1 and all(row.opening in ("[", "(") for row in rows):
            return Matrix(tuple(row.args for row in rows))
        return None
    return Matrix(tuple((arg,) for arg in node.args)) if not rows else None


def unit_vector_form(node: Node, size: int) -> Seq | None:
    """3i + 4j as the tuple (3, 4); None where the node is not linear in the unit vectors."""
    if not 2 <= size <= 3 or isinstance(node, Seq) or node.has(Trait.STRUCTURE):
        return None
    named = _imaginary_as_letter(node)
    names = ("i", "j", "k")
    if not named.free & frozenset(names[:size]) or named.free & frozenset(names[size:]):
        return None
    zero, one = Num(fmpq(0), None, 1), Num(fmpq(1), None, 1)
    components = []
    for place in range(size):
        component = named
        for at in range(size):
            component = substituted(component, names[at], one if at == place else zero)
        components.append(component)
    terms = [Mul((component, Sym(name))) for component, name in zip(components, names, strict=False)]
    linear = same_value(named, Add(tuple(terms)))
    return Seq(tuple(components), "(", ")") if linear.equal else None


def _imaginary_as_letter(node: Node) -> Node:
    if isinstance(node, Sym) and node.name in ("\\hat i", "\\hat j", "\\hat k"):
        return Sym(node.name[-1])
    if isinstance(node, Const) and node.name == "i":
        return Sym("i")
    return rebuild(node, tuple(_imaginary_as_letter(arg) for arg in node.args)) if node.args else node


def named_matrices(gold: Node, answer: Node) -> tuple[Node, Node]:
    """Both without the name in front: A^{-1} = M is M, except beside another name."""
    ours, theirs = _name_and_matrix(gold), _name_and_matrix(answer)
    if ours is not None and theirs is not None and canonical(ours[0]) != canonical(theirs[0]):
        return gold, answer
    return (gold if ours is None else ours[1]), (answer if theirs is None else theirs[1])


def _name_and_matrix(node: Node) -> tuple[Node, Node] | None:
    if not isinstance(node, Rel) or len(node.args) != 2 or node.ops != ("=",):
        return None
    name, value = node.args
    if holds_matrix(value) and not name.has(Trait.STRUCTURE) and name.free:
        return name, value
    return None


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
