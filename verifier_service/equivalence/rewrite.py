"""Trees to trees: signs spelled out, letters renamed, products of matrices worked out."""

from .nodes import (
    Add,
    BigOp,
    Builder,
    Call,
    Cases,
    Degrees,
    Div,
    Fn,
    Matrix,
    Mixed,
    Mul,
    Neg,
    Node,
    Percent,
    PlusMinus,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    Trait,
)


def rebuild(node: Node, args: tuple[Node, ...]) -> Node:
    """The same node over other arguments."""
    if isinstance(node, (Add, Mul, Neg, Div, Mixed)):
        return type(node)(args)
    if isinstance(node, Pow):
        return Pow(args[0], args[1])
    if isinstance(node, Fn):
        return Fn(node.name, *args)
    if isinstance(node, (Percent, Degrees)):
        return type(node)(args[0])
    if isinstance(node, Quantity):
        return Quantity(args[0], node.unit, node.noun)
    if isinstance(node, Rel):
        return Rel(node.ops, args)
    if isinstance(node, Seq):
        return Seq(args, node.opening, node.closing, node.joint)
    if isinstance(node, Call):
        return Call(node.name, args)
    if isinstance(node, BigOp):
        return BigOp(node.name, args)
    if isinstance(node, SetOp):
        return SetOp(node.op, args)
    if isinstance(node, (Ratio, Builder, Cases)):
        return type(node)(args)
    if isinstance(node, PlusMinus):
        return PlusMinus(args[0], node.sign)
    if isinstance(node, Matrix):
        width = node.shape[1]
        return Matrix(tuple(args[at : at + width] for at in range(0, len(args), width)))
    return node


def with_sign(node: Node, upper: bool) -> Node:
    """Every ± read as its upper sign, or every one as its lower sign."""
    if not node.traits & Trait.PLUS_MINUS:
        return node
    if isinstance(node, PlusMinus):
        inner = with_sign(node.args[0], upper)
        return inner if (node.sign > 0) == upper else Neg((inner,))
    return rebuild(node, tuple(with_sign(arg, upper) for arg in node.args))


def both_signs(node: Node) -> tuple[Node, Node]:
    return with_sign(node, True), with_sign(node, False)


def renamed(node: Node, names: dict[str, str]) -> Node:
    """The free symbols of `names` replaced; functions of the problem's own as well."""
    if not node.free & names.keys():
        return node
    if isinstance(node, Sym):
        return Sym(names[node.name])
    args = tuple(renamed(arg, names) for arg in node.args)
    if isinstance(node, Call):
        return Call(names.get(node.name, node.name), args)
    return rebuild(node, args)


def substituted(node: Node, name: str, value: Node) -> Node:
    if name not in node.free:
        return node
    if isinstance(node, Sym):
        return value
    return rebuild(node, tuple(substituted(arg, name, value) for arg in node.args))


def minus(a: Node, b: Node) -> Node:
    return Add((a, Neg((b,))))
