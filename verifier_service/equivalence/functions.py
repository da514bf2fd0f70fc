"""Functions, fractions, roots and big operators, with their arguments in braces, brackets or none."""

from flint import fmpq

from .connectives import STACKED
from .cursor import PRODUCT, SUM, Cursor
from .lexer import Refused, Token
from .literals import number, plain_letter
from .names import FUNCTION_NAMES, INVERSES, SEVERAL_ARGUMENTS
from .nodes import BigOp, Const, Div, Fn, Mul, Neg, Node, Num, Pow, Seq, Sym


def argument(p: Cursor) -> Node:
    """A TeX argument: a group, or one token; of a number only its first digit (\\frac47)."""
    token = p.peek()
    if token is None:
        raise Refused("an argument is missing")
    if token.kind == "n" and len(token.value) > 1 and token.value.isdigit():
        p.tokens[p.at] = Token("n", token.value[1:], token.start + 1, token.end)
        return number(Token("n", token.value[0], token.start, token.start + 1))
    if token.kind == "n":
        p.at += 1
        return number(token)
    if token.kind == "w" and len(token.value) > 1:
        p.tokens[p.at] = Token("w", token.value[1:], token.start + 1, token.end)
        return plain_letter(token.value[0])
    return p.atom()


def frac(p: Cursor) -> Div:
    top = argument(p)
    bottom = argument(p)
    return Div((top, bottom))


def derivative_or_frac(p: Cursor) -> Node:
    start = p.at
    if p.sees("{") and start + 1 < p.last and p.tokens[start + 1].value[0] == "d":
        flat = "".join(token.value for token in p.tokens[start : start + 7])
        if flat.startswith("{d") and "}{d" in flat:
            return _derivative(p)
    return frac(p)


def _derivative(p: Cursor) -> Node:
    """\\frac{dv}{dt}: one symbol, not a quotient of products."""
    names = []
    for _ in range(2):
        p.expect("{")
        name = ""
        while not p.sees("}"):
            name += p.next().value
        p.at += 1
        names.append(name)
    return Sym("/".join(names))


def root(p: Cursor) -> Node:
    """\\sqrt with its index; plain sqrt(2) and the malformed \\sqrt(2) read alike."""
    index: Node | None = None
    if p.accept("["):
        index = p.parse_list()
        p.expect("]")
    radicand = argument(p)
    return Fn("sqrt", radicand) if index is None else Fn("root", radicand, index)


def binomial(p: Cursor) -> Node:
    if p.accept("("):
        inside = p.parse_list()
        p.expect(")")
        if isinstance(inside, Seq) and len(inside.args) == 2:
            return Fn("binom", *inside.args)
        raise Refused("binom takes two numbers")
    top = argument(p)
    return Fn("binom", top, argument(p))


def stacked(p: Cursor, top: Node) -> Node:
    """{a \\over b}, {n \\choose k}: a command that stands between its arguments and takes the whole group."""
    token = p.peek()
    if token is None or token.kind not in "cw" or token.value not in STACKED:
        return top
    p.at += 1
    bottom = p.parse_list()
    return Div((top, bottom)) if token.value == "over" else Fn("binom", top, bottom)


def raised_binomial(p: Cursor) -> Node:
    """{}^9C_4, {}_nP_k: the older notation; its raised number comes first."""
    top = argument(p)
    kind = p.next().value
    if kind not in ("C", "P") or not p.accept("_"):
        raise Refused("a power of nothing")
    return Fn("binom" if kind == "C" else "perm", top, argument(p))


def big_operator(p: Cursor, name: str) -> Node:
    bounds: list[Node] = []
    while p.sees("_") or p.sees("^"):
        p.at += 1
        bounds.append(argument(p))
    body = p.expression(PRODUCT - 1 if name != "int" else SUM - 1)
    return BigOp(name, (body, *bounds))


def function(p: Cursor, name: str) -> Node:
    """A function with its power, base and argument: \\sin^2 x, \\log_2 8, sin(x)^2, max(3,5)."""
    if name in ("sqrt", "binom", "cbrt") and p.peek() is not None:
        if name == "binom":
            return binomial(p)
        inner = _bracketed_or_factor(p)
        return Fn("sqrt", inner) if name == "sqrt" else Fn("root", inner, Num(fmpq(3), None, 1))
    base: Node | None = None
    power: Node | None = None
    for _ in range(2):
        if p.sees("_") and base is None:
            p.at += 1
            base = argument(p)
        elif p.sees("^") and power is None:
            p.at += 1
            power = p.exponent()
    if name == "log" and base is None and power is None:
        base = _glued_base(p)
    args = _arguments(p)
    if len(args) > 1 and name not in SEVERAL_ARGUMENTS:
        raise Refused(f"{name} takes one argument")
    if power is not None and isinstance(power, Num) and power.value == -1 and name in INVERSES:
        name, power = INVERSES[name], None
    if name in ("log", "lg", "ln"):
        node = _logarithm(name, base, args)
    else:
        node = Fn(name, *args)
    return node if power is None else Pow(node, power)


def _glued_base(p: Cursor) -> Node | None:
    """The 2 of log2(x), which is no factor: it touches the name and a bracket follows."""
    token = p.peek()
    if token is None or token.value not in ("2", "10") or not p.sees("(", 1):
        return None
    if token.start != p.tokens[p.at - 1].end:
        return None
    p.at += 1
    return number(token)


def _logarithm(name: str, base: Node | None, args: tuple[Node, ...]) -> Node:
    if len(args) == 2 and base is None:
        first, base = args
        args = (first,)
    if name == "ln":
        return Fn("ln", *args)
    if name == "lg" and base is None:
        base = Num(fmpq(10), None, 2)
    return Fn("log", *args) if base is None else Fn("logb", *args, base)


def _arguments(p: Cursor) -> tuple[Node, ...]:
    if p.sees("("):
        p.at += 1
        bars, p.bars = p.bars, 0
        inside = p.parse_list()
        p.expect(")")
        p.bars = bars
        return inside.args if isinstance(inside, Seq) and inside.is_bare else (inside,)
    return (_bare_argument(p),)


def _bracketed_or_factor(p: Cursor) -> Node:
    if p.sees("(") or p.sees("{"):
        return p.atom()
    return p.operand()


def _bare_argument(p: Cursor) -> Node:
    """The product behind a function without brackets: sin 2x cos x is sin(2x) cos(x)."""
    token = p.peek()
    if token is not None and token.kind == "o" and token.value == "-":
        p.at += 1
        return Neg((_bare_argument(p),))
    node = p.operand()
    while p.starts_factor() and not _begins_function(p) and not p.sees("(") and not p.sees("["):
        node = Mul((node, p.operand()))
    if (
        p.sees("/")
        and isinstance(node, (Num, Const, Sym, Mul))
        and p.at + 1 < p.last
        and p.tokens[p.at + 1].kind == "n"
    ):
        p.at += 1
        node = Div((node, p.operand()))
    return node


def _begins_function(p: Cursor) -> bool:
    token = p.peek()
    if token is None or token.kind not in "cw":
        return False
    return token.value in FUNCTION_NAMES and token.value not in ("sqrt", "binom", "cbrt")
