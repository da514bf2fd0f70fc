"""The typed tree that the parser builds. Nodes know their free symbols, traits and size from birth."""

from collections.abc import Iterable
from typing import Final

from flint import fmpq

from .lexer import Refused
from .units import Unit

MAX_TREE_DEPTH = 150  # whoever walks a tree goes as deep as it does


class Trait:
    """What a tree contains, so that nobody has to walk it to find out.

    Plain ints: a tree is built in microseconds, and enum arithmetic would be half of them.
    """

    NONE: Final = 0
    PLUS_MINUS: Final = 1
    UNEVALUATED: Final = 2  # sum, product, integral, limit, derivative, mod: an operator left standing
    IMAGINARY: Final = 4
    PERCENT: Final = 8
    UNIT: Final = 16
    TRANSCENDENTAL: Final = 32  # roots, functions, powers that are no small integers
    ABS: Final = 64
    WORD: Final = 128  # a name of several letters
    INTEGER_ONLY: Final = 256  # factorial, binomial, gcd: defined on the integers
    DEGREE: Final = 512
    DOTS: Final = 1024
    CLOSED_FORM: Final = 2048  # elementary but unevaluated: 2^10, C(14,3), max(3,5)
    STRUCTURE: Final = 4096  # a relation, collection, matrix ... somewhere inside: no plain value


_NOTHING: frozenset[str] = frozenset()


class Node:
    """Base of all nodes. free: names of free symbols. size: nodes plus digits. key: structural identity.
    canonical: for identity.canonical to keep its result."""

    __slots__ = ("_key", "args", "canonical", "depth", "free", "size", "traits")

    args: tuple["Node", ...]
    free: frozenset[str]
    traits: int
    size: int
    depth: int
    canonical: tuple[object, ...] | None

    def __init__(self, args: tuple["Node", ...] = (), traits: int = 0, size: int = 1) -> None:
        self.args = args
        self._key: tuple[object, ...] | None = None
        self.canonical = None
        if not args:  # most nodes are leaves
            self.free = _NOTHING
            self.traits = traits
            self.size = size
            self.depth = 1
            return
        free = _NOTHING
        mask = traits
        depth = 0
        for arg in args:
            if arg.depth > depth:
                depth = arg.depth
            if arg.free:
                free = free | arg.free if free else arg.free
            mask |= arg.traits
            size += arg.size
        self.free = free
        self.traits = mask
        self.size = size
        self.depth = depth + 1
        if depth >= MAX_TREE_DEPTH:
            raise Refused("nested too deep")

    @property
    def key(self) -> tuple[object, ...]:
        """Equal keys: the same tree. Hashable."""
        if self._key is None:
            self._key = (type(self).__name__, self.data(), *[arg.key for arg in self.args])
        return self._key

    def data(self) -> object:
        return None

    def has(self, trait: int) -> bool:
        return bool(self.traits & trait)

    def walk(self) -> Iterable["Node"]:
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.args)


_MAX_PLAIN_BITS = 10_000  # Python refuses to write whole numbers beyond 4,300 digits in decimal


def terms(value: fmpq) -> tuple[object, object]:
    """Numerator and denominator as a key that can be hashed, compared and written at any size."""
    top, bottom = int(value.p), int(value.q)
    return (top, bottom) if value.height_bits() < _MAX_PLAIN_BITS else (hex(top), hex(bottom))


class Num(Node):
    """A written number. value: exact. decimals: digits after the point, None without a point.
    significant: significant digits as written."""

    __slots__ = ("decimals", "significant", "value")

    def __init__(self, value: fmpq, decimals: int | None = None, significant: int = 1) -> None:
        super().__init__(size=1 + significant // 8)
        self.value = value
        self.decimals = decimals
        self.significant = significant

    def data(self) -> object:
        return terms(self.value)


class Based(Node):
    """A numeral in an explicit base: 1201_3."""

    __slots__ = ("base", "digits", "value")

    def __init__(self, digits: str, base: int) -> None:
        super().__init__(size=1 + len(digits) // 8)
        self.digits = digits.lower().lstrip("0") or "0"
        self.base = base
        self.value = fmpq(int(digits, base))

    def data(self) -> object:
        return (self.digits, self.base)


class Const(Node):
    """pi, e, i, phi (the golden ratio) or inf."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(traits={"i": Trait.IMAGINARY, "inf": Trait.TRANSCENDENTAL}.get(name, Trait.NONE))
        self.name = name

    def data(self) -> object:
        return self.name


class Sym(Node):
    """A variable, subscript and primes included."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(traits=Trait.WORD if len(name) > 1 and name.isalpha() and name.isascii() else 0)
        self.name = name
        self.free = frozenset((name,))

    def data(self) -> object:
        return self.name


class Add(Node):
    __slots__ = ()


class Mul(Node):
    __slots__ = ()


class Neg(Node):
    __slots__ = ()


class Div(Node):
    __slots__ = ()


class Mixed(Node):
    """A mixed number: whole part and proper fraction, 2 1/3."""

    __slots__ = ()


class Pow(Node):
    __slots__ = ()

    def __init__(self, base: Node, exponent: Node) -> None:
        traits = Trait.CLOSED_FORM
        if not (isinstance(exponent, Num) and exponent.value.q == 1 and 0 <= exponent.value <= 1000):
            traits |= Trait.TRANSCENDENTAL
        super().__init__((base, exponent), traits)


class PlusMinus(Node):
    """±a or ∓a. sign: which of the two comes first."""

    __slots__ = ("sign",)

    def __init__(self, arg: Node, sign: int) -> None:
        super().__init__((arg,), Trait.PLUS_MINUS)
        self.sign = sign

    def data(self) -> object:
        return self.sign


class Repeating(Node):
    """A decimal with a repeating tail, its value already exact."""

    __slots__ = ("value",)

    def __init__(self, value: fmpq) -> None:
        super().__init__(size=2)
        self.value = value

    def data(self) -> object:
        return terms(self.value)


INTEGER_FUNCTIONS = frozenset({"factorial", "binom", "perm", "gcd", "lcm", "double_factorial", "mod"})
EXACT_FUNCTIONS = frozenset({"abs", "floor", "ceil", "max", "min", "re", "im", "sgn"}) | INTEGER_FUNCTIONS


class Fn(Node):
    """A known function. name: as in exact.py's table."""

    __slots__ = ("name",)

    def __init__(self, name: str, *args: Node) -> None:
        traits = Trait.CLOSED_FORM
        if name not in EXACT_FUNCTIONS:
            traits |= Trait.TRANSCENDENTAL
        if name in INTEGER_FUNCTIONS:
            traits |= Trait.INTEGER_ONLY
        if name == "abs":
            traits |= Trait.ABS
        if name == "mod":
            traits |= Trait.UNEVALUATED
        super().__init__(args, traits)
        self.name = name

    def data(self) -> object:
        return self.name


class Call(Node):
    """A function of the problem's own: f(x), f'(2)."""

    __slots__ = ("name",)

    def __init__(self, name: str, args: tuple[Node, ...]) -> None:
        super().__init__(args)
        self.name = name
        self.free = self.free | {name}

    def data(self) -> object:
        return self.name


class BigOp(Node):
    """Sum, product, integral, limit, left unevaluated. args: body, then what its bounds hold."""

    __slots__ = ("name",)

    def __init__(self, name: str, args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.UNEVALUATED)
        self.name = name

    def data(self) -> object:
        return self.name


class Percent(Node):
    __slots__ = ()

    def __init__(self, arg: Node) -> None:
        super().__init__((arg,), Trait.PERCENT)


class Degrees(Node):
    __slots__ = ()

    def __init__(self, arg: Node) -> None:
        super().__init__((arg,), Trait.DEGREE)


class Quantity(Node):
    """A value with its unit. noun: a counted thing ("apples") instead of a unit of measure."""

    __slots__ = ("noun", "unit")

    def __init__(self, arg: Node, unit: Unit | None, noun: str = "") -> None:
        super().__init__((arg,), Trait.UNIT)
        self.unit = unit
        self.noun = noun

    def data(self) -> object:
        return (self.unit.dimension, str(self.unit.factor)) if self.unit else self.noun


class Rel(Node):
    """A chain of relations: args[0] ops[0] args[1] ops[1] ..."""

    __slots__ = ("ops",)

    def __init__(self, ops: tuple[str, ...], args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.STRUCTURE)
        self.ops = ops

    def data(self) -> object:
        return self.ops


class Seq(Node):
    """Several things. opening, closing: "" for a bare list, else the brackets as written.
    joint: "," or the word between the last two, "or" / "and"."""

    __slots__ = ("closing", "joint", "opening")

    def __init__(
        self, items: tuple[Node, ...], opening: str = "", closing: str = "", joint: str = ","
    ) -> None:
        super().__init__(items, Trait.STRUCTURE)
        self.opening = opening
        self.closing = closing
        self.joint = joint

    def data(self) -> object:
        return (self.opening, self.closing)

    @property
    def is_set(self) -> bool:
        return self.opening == "{"

    @property
    def is_bare(self) -> bool:
        return self.opening == ""


class Ratio(Node):
    __slots__ = ()

    def __init__(self, args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.STRUCTURE)


class SetOp(Node):
    """union, intersection, difference."""

    __slots__ = ("op",)

    def __init__(self, op: str, args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.STRUCTURE)
        self.op = op

    def data(self) -> object:
        return self.op


class NamedSet(Node):
    """R, Z, Q, N, C or the empty set."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(traits=Trait.STRUCTURE)
        self.name = name

    def data(self) -> object:
        return self.name


class Builder(Node):
    """{x | conditions}: args[0] is the element, the rest the conditions."""

    __slots__ = ()

    def __init__(self, args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.STRUCTURE)


class Matrix(Node):
    """Entries by row; shape: (rows, columns)."""

    __slots__ = ("shape",)

    def __init__(self, rows: tuple[tuple[Node, ...], ...]) -> None:
        super().__init__(tuple(entry for row in rows for entry in row), Trait.STRUCTURE)
        self.shape = (len(rows), len(rows[0]) if rows else 0)

    def data(self) -> object:
        return self.shape


class Cases(Node):
    """Piecewise: args alternate value, condition; a condition may be Words("otherwise")."""

    __slots__ = ()

    def __init__(self, args: tuple[Node, ...]) -> None:
        super().__init__(args, Trait.STRUCTURE)


class Words(Node):
    """Text that is no mathematics, canonical."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__(traits=Trait.STRUCTURE, size=1 + len(text) // 8)
        self.text = text

    def data(self) -> object:
        return self.text


class Dots(Node):
    """An ellipsis: a pattern, never a value."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(traits=Trait.DOTS | Trait.STRUCTURE)


def is_integer(node: Node) -> bool:
    return isinstance(node, Num) and node.decimals is None and node.value.q == 1


def negated(node: Node) -> Node:
    return node.args[0] if isinstance(node, Neg) else Neg((node,))
