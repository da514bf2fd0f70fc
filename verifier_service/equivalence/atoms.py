"""The smallest pieces of an expression: numbers, letters, functions, bracketed groups, sets, matrices."""

from collections.abc import Callable

from flint import fmpq, fmpz

from .cursor import Cursor
from .lexer import Refused, Token
from .nodes import (
    Based,
    BigOp,
    Builder,
    Call,
    Cases,
    Const,
    Div,
    Dots,
    Fn,
    Matrix,
    Mixed,
    Mul,
    NamedSet,
    Neg,
    Node,
    Num,
    Pow,
    Quantity,
    Rel,
    Repeating,
    Seq,
    Sym,
    Words,
    is_integer,
)
from .numerals import scale_word
from .units import currency_symbol

MAX_DIGITS = 20_000
RELATION, SUM, PRODUCT = 10, 30, 40

# written name -> name of the function in exact.py
FUNCTION_NAMES = {
    name: name
    for name in (
        "sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc arcsinh "
        "arccosh arctanh ln log lg exp sqrt cbrt abs max min gcd lcm floor ceil binom det cis sgn re im arg Gamma"
    ).split()
} | {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "arsinh": "arcsinh", "arcosh": "arccosh",
    "artanh": "arctanh", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "cosec": "csc",
    "sign": "sgn", "Arg": "arg", "Re": "re", "Im": "im", "acot": "arccot", "factorial": "factorial", "gamma": "Gamma",
    "choose": "binom", "ceiling": "ceil", "cotan": "cot", "hcf": "gcd", "GCD": "gcd", "LCM": "lcm", "Log": "ln",
}  # fmt: skip
del FUNCTION_NAMES["gamma"]  # a Greek letter
_INVERSES = {name: f"arc{name}" for name in "sin cos tan cot sec csc sinh cosh tanh".split()}
NAMED_CONSTANTS = {"pi": "pi", "infty": "inf", "inf": "inf", "infinity": "inf", "oo": "inf", "Infinity": "inf"}
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega varsigma ell hbar partial nabla aleph "
    "varrho wp triangle angle measuredangle square".split()
)
_BIG = {"sum": "sum", "prod": "prod", "int": "int", "iint": "int", "oint": "int", "lim": "lim", "limsup": "lim",
        "liminf": "lim", "iiint": "int", "sup": "sup", "inf": "inf_op"}  # fmt: skip
_CALLED = frozenset("fghFGHT")
_BLACKBOARD = {"R": "R", "Z": "Z", "N": "N", "Q": "Q", "C": "C"}
_MATRICES = frozenset({"pmatrix", "bmatrix", "matrix", "array", "smallmatrix", "Bmatrix", "psmallmatrix", "bsmallmatrix"})
_ALIGNED = frozenset({"aligned", "align", "gathered", "gather", "split", "eqnarray", "alignedat"})

ATOM_COMMANDS = frozenset(
    {"frac", "sqrt", "binom", "overline", "lfloor", "lceil", "langle", "mathbb", "emptyset", "cbrt", "root"}
    | set(FUNCTION_NAMES)
    | {"pi", "infty", "dots", "bmod_"}
    | _GREEK
    | set(_BIG)
)


def exact_decimal(digits: str) -> fmpq:
    """The exact value of a written decimal, scientific e-notation included."""
    mantissa, _, exponent = digits.replace("E", "e").partition("e")
    whole, _, decimals = mantissa.partition(".")
    decimals = decimals.rstrip("0")
    if len(whole) + len(decimals) > MAX_DIGITS:
        raise Refused(f"more than {MAX_DIGITS} digits")
    value = fmpq(fmpz(whole + decimals or "0"), fmpz(10) ** len(decimals))
    if exponent:
        power = int(exponent) if len(exponent) < 8 else MAX_DIGITS + 1
        if abs(power) > MAX_DIGITS:
            raise Refused("exponent out of bounds")
        value = value * fmpz(10) ** power if power >= 0 else value / fmpz(10) ** -power
    return value


def number(token: Token) -> Num:
    digits = token.value
    mantissa = digits.replace("E", "e").partition("e")[0]
    whole, point, decimals = mantissa.partition(".")
    significant = len((whole + decimals).lstrip("0")) or 1
    return Num(exact_decimal(digits), len(decimals) if point else None, significant)


def repeating(token: Token) -> Repeating:
    text = token.value
    head = ""
    for char in text:
        if char in "\\(":
            break
        head += char
    rest = text[len(head) :]
    tail = "".join(char for char in rest if char.isdigit())
    whole, _, fixed = head.partition(".")
    if not tail or len(tail) > MAX_DIGITS:
        raise Refused("an unreadable repeating decimal")
    scale = fmpz(10) ** len(fixed)
    value = fmpq(fmpz(whole + fixed or "0"), scale)
    return Repeating(value + fmpq(fmpz(tail), scale * (fmpz(10) ** len(tail) - 1)))


def atom(p: Cursor) -> Node:
    """One atom at the cursor. Raises Refused if none begins here."""
    token = p.next()
    kind, value = token.kind, token.value
    if kind == "n":
        return numeral(p, token)
    if kind == "w":
        return letters(p, token)
    if kind == "c":
        return command(p, token)
    if kind == "o":
        reader = _BRACKETS.get(value)
        if reader is not None:
            return reader(p)
        if value in ("$", "£", "€", "¥", "₹"):
            return money(p, value)
        if value == "...":
            return Dots()
        raise Refused(f"unexpected {value!r}")
    if kind == "t":
        return text_word(p, token)
    if kind == "r":
        return repeating(token)
    if kind == "b":
        if value[1:2] in "xX" and value[0] == "0" and "_" not in value:
            return Based(value[2:], 16)
        digits, _, base = value.partition("_")
        return Based(digits, int(base))
    if kind == "begin":
        return environment(p, value)
    raise Refused(f"unexpected {value!r}")


# -- numbers and letters


def numeral(p: Cursor, token: Token) -> Node:
    """A number, with the scale word or the fraction that belongs to it: 2 million, 2 1/3."""
    digits, marker, exponent = token.value.replace("E", "e").partition("e")
    if marker and len(exponent) > 5:
        ten = Pow(Num(fmpq(10), None, 2), _signed_integer(exponent))
        return Mul((number(Token("n", digits, token.start, token.end)), ten))
    value = _counted_number(p, number(token))
    while (scale := _scale(p)) is not None:
        p.at += 1
        value = Mul((value, Num(fmpq(scale), None, 1)))
    return value


def _signed_integer(digits: str) -> Node:
    if len(digits) > MAX_DIGITS:
        raise Refused(f"more than {MAX_DIGITS} digits")
    return Num(fmpq(fmpz(digits.lstrip("+"))), None, len(digits))


def _scale(p: Cursor) -> int | None:
    token = p.peek()
    if token is None or token.kind not in "wt" or len(token.value) == 1 and token.value.isascii():
        return None
    return scale_word(token.value)


def _counted_number(p: Cursor, value: Num) -> Node:
    if not is_integer(value):
        return value
    following = p.peek()
    if following is None:
        return value
    if following.kind == "c" and following.value == "frac":
        return _mixed_frac(p, value)
    if following.kind == "n" and p.sees("/", 1) and p.at + 2 < p.last and p.tokens[p.at + 2].kind == "n":
        top, bottom = number(following), number(p.tokens[p.at + 2])
        p.at += 3
        return _mixed(value, top, bottom)
    return value


def _mixed_frac(p: Cursor, whole: Num) -> Node:
    start = p.at
    p.at += 1
    fraction = frac(p)
    top, bottom = fraction.args
    if isinstance(top, Num) and isinstance(bottom, Num):
        return _mixed(whole, top, bottom)
    p.at = start
    return whole


def _mixed(whole: Num, top: Num, bottom: Num) -> Node:
    if is_integer(top) and is_integer(bottom) and 0 < top.value < bottom.value:
        return Mixed((whole, top, bottom))
    raise Refused("two numbers side by side")


def raised_binomial(p: Cursor) -> Node:
    """{}^5C_2, {}_nP_k: the older notation; its raised number comes first."""
    top = argument(p)
    kind = p.next().value
    if kind not in ("C", "P") or not p.accept("_"):
        raise Refused("a power of nothing")
    return Fn("binom" if kind == "C" else "perm", top, argument(p))


def letters(p: Cursor, token: Token) -> Node:
    """A run of letters in math mode: a function, a constant, a variable, a product of variables, a name."""
    value = token.value
    if p.sees("$") and currency_symbol(value + "$") is not None:
        p.at += 1
        return money(p, value + "$")
    if value in FUNCTION_NAMES:
        return function(p, FUNCTION_NAMES[value])
    if value in NAMED_CONSTANTS:
        return Const(NAMED_CONSTANTS[value])
    if len(value) == 1:
        return letter(p, value)
    split = _leading_function(value)
    if split is not None:
        name, rest = split
        p.at -= 1
        p.tokens[p.at] = Token("w", rest, token.end - len(rest), token.end)
        return function(p, FUNCTION_NAMES[name])
    if len(value) <= 3 or value.isupper() and len(value) <= 4:
        p.at -= 1
        p.tokens[p.at] = Token("w", value[1:], token.start + 1, token.end)
        return plain_letter(value[0])
    return named(p, value)


def _leading_function(value: str) -> tuple[str, str] | None:
    """sinx is sin x: a function's name with one letter, or pi, glued to it."""
    for size in (len(value) - 1, len(value) - 2):
        if size >= 2 and value[:size] in FUNCTION_NAMES and (size == len(value) - 1 or value[size:] == "pi"):
            return value[:size], value[size:]
    return None


def plain_letter(char: str) -> Node:
    if char in "ei":
        return Const(char)
    return Sym(char)


def letter(p: Cursor, char: str) -> Node:
    """A single letter with what hangs on it: subscript, primes, an argument list."""
    name = char + subscript(p) + primes(p)
    if name in ("e", "i"):
        return Const(name)
    return called(p, name)


def called(p: Cursor, name: str) -> Node:
    if p.sees("(") and (name[0] in _CALLED or "'" in name or _defines_function(p)):
        p.at += 1
        inside = p.parse_list()
        p.expect(")")
        return Call(name, inside.args if isinstance(inside, Seq) and inside.is_bare else (inside,))
    return Sym(name)


def _defines_function(p: Cursor) -> bool:
    """NAME ( letters or numbers ) = : the definition of a function, whatever its name."""
    at = p.at + 1
    while at < p.last and (p.tokens[at].kind in "wn" or p.tokens[at].value == ","):
        at += 1
    return at > p.at + 1 and at + 1 < p.last and p.tokens[at].value == ")" and p.tokens[at + 1].value == "="


def named(p: Cursor, word: str) -> Node:
    return called(p, word + subscript(p) + primes(p))


def subscript(p: Cursor) -> str:
    if not p.accept("_"):
        return ""
    token = p.next()
    if token.value != "{" or token.kind != "o":
        return "_" + token.value
    parts = []
    while not p.sees("}"):
        parts.append(p.next().value)
    p.at += 1
    return "_" + "".join(parts)


def primes(p: Cursor) -> str:
    marks = ""
    while p.sees("'"):
        p.at += 1
        marks += "'"
    if p.sees("^") and p.sees("{", 1) and p.sees("'", 2):
        p.at += 2
        while p.accept("'"):
            marks += "'"
        p.expect("}")
    return marks


def text_word(p: Cursor, token: Token) -> Node:
    """A word of text mode where a value is due: a name ("Area = 14"), a letter, or words for good."""
    value = token.value
    if value in FUNCTION_NAMES and p.sees("("):
        return function(p, FUNCTION_NAMES[value])
    if value.lower() in ("infinity", "infty", "inf"):
        return Const("inf")
    if value == "pi":
        return Const("pi")
    if len(value) == 1 and value.isascii():
        return letter(p, value)
    name = value
    while (following := p.peek()) is not None and following.kind == "t":
        p.at += 1
        name += " " + following.value
    name += subscript(p)
    if p.sees("=") or p.sees("approx"):
        return Sym(name)
    if p.peek() is None or p.sees(",") or p.sees("\\\\") or p.sees("}"):
        return Words(name)
    raise Refused("words among the mathematics")


# -- brackets


def group(p: Cursor) -> Node:
    """{ ... }: TeX grouping; several items make a set in plain notation."""
    bars, p.bars = p.bars, 0
    stop, p.stop_at_bar = p.stop_at_bar, False
    if p.accept("}"):
        raise Refused("an empty group")
    node = p.parse_list()
    p.expect("}")
    p.bars, p.stop_at_bar = bars, stop
    if isinstance(node, Seq) and node.is_bare:
        return Seq(node.args, "{", "}")
    return node


def bracketed(opening: str) -> Callable[[Cursor], Node]:
    def read(p: Cursor) -> Node:
        bars, p.bars = p.bars, 0
        stop, p.stop_at_bar = p.stop_at_bar, False
        outward, p.outward = p.outward, opening == "]"
        if opening in ("(", "[") and (p.accept(")") or p.accept("]")):
            p.bars, p.stop_at_bar, p.outward = bars, stop, outward
            return Seq((), opening, p.tokens[p.at - 1].value)
        node = p.parse_list()
        closing = p.next().value
        if closing not in ("[", ")", "]") or (closing == "[" and opening != "]"):
            raise Refused(f"{opening} is closed by {closing!r}")
        p.bars, p.stop_at_bar, p.outward = bars, stop, outward
        if isinstance(node, Seq) and node.is_bare:
            return Seq(node.args, "(" if opening == "]" else opening, ")" if closing == "[" else closing)
        if opening + closing not in ("()", "[]"):
            raise Refused("half-open brackets around one value")
        return node

    return read


def braced_set(p: Cursor) -> Node:
    """\\{ ... \\}: elements, or an element and the condition that selects it."""
    bars, p.bars = p.bars, 0
    if p.accept("\\}"):
        return NamedSet("empty")
    stop, p.stop_at_bar = p.stop_at_bar, True
    first = p.parse_list()
    p.stop_at_bar = stop
    conditions: list[Node] = []
    if p.accept("|") or p.accept("mid") or p.accept(":"):
        inner = p.parse_list()
        conditions = list(inner.args) if isinstance(inner, Seq) and inner.is_bare else [inner]
    p.expect("\\}")
    p.bars = bars
    if conditions:
        return Builder((first, *conditions))
    return Seq(first.args if isinstance(first, Seq) and first.is_bare else (first,), "{", "}")


def bars(p: Cursor) -> Node:
    p.bars += 1
    inside = p.expression(RELATION)
    p.bars -= 1
    p.expect("|")
    return Fn("abs", inside)


def enclosed(name: str, closing: str) -> Callable[[Cursor], Node]:
    def read(p: Cursor) -> Node:
        bars, p.bars = p.bars, 0
        inside = p.parse_list()
        p.expect(closing)
        p.bars = bars
        if name == "vector":
            items = inside.args if isinstance(inside, Seq) and inside.is_bare else (inside,)
            return Seq(items, "<", ">")
        return Fn(name, inside)

    return read


_BRACKETS: dict[str, Callable[[Cursor], Node]] = {
    "{": group,
    "(": bracketed("("),
    "[": bracketed("["),
    "]": bracketed("]"),
    "\\{": braced_set,
    "|": bars,
    "<": enclosed("vector", ">"),
    "^": raised_binomial,
    "_": raised_binomial,
}


def money(p: Cursor, sign: str) -> Node:
    """A price; what follows the amount is read first ($2 million)."""
    unit = currency_symbol(sign)
    if unit is None:
        raise Refused(f"an unknown currency {sign}")
    return Quantity(p.operand(), unit)


# -- commands


def command(p: Cursor, token: Token) -> Node:
    value = token.value
    reader = _COMMANDS.get(value)
    if reader is not None:
        return reader(p)
    if value in FUNCTION_NAMES:
        return function(p, FUNCTION_NAMES[value])
    if value in NAMED_CONSTANTS:
        return Const(NAMED_CONSTANTS[value])
    if value in ("angle", "measuredangle", "triangle", "square"):
        return Sym("\\" + value + " " + _points(p))
    if value in _GREEK:
        return called(p, "\\" + value + subscript(p) + primes(p))
    if value in _BIG:
        return big_operator(p, _BIG[value])
    if value in _BRACKETS:
        return _BRACKETS[value](p)
    raise Refused(f"unknown command \\{value}")


def _points(p: Cursor) -> str:
    """The corner letters of \\angle ABC."""
    following = p.peek()
    if following is not None and following.kind in "wt":
        p.at += 1
        return following.value
    return ""


def argument(p: Cursor) -> Node:
    """A TeX argument: a group, or one token; of a number only its first digit (\\frac35)."""
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
    return atom(p)


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
    """\\frac{dy}{dx}: one symbol, not a quotient of products."""
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


def overline(p: Cursor) -> Node:
    following = p.tokens[p.at + 1] if p.at + 1 < p.last else None
    inner = argument(p)
    if following is not None and following.kind == "w" and following.value.isupper() and len(following.value) == 2:
        return Sym("\\overline " + following.value)
    return Fn("conj", inner)


def blackboard(p: Cursor) -> Node:
    token = p.next()
    if token.value == "{":
        token = p.next()
        p.expect("}")
    if token.value not in _BLACKBOARD:
        raise Refused("an unknown set")
    name = _BLACKBOARD[token.value]
    for mark in ("^", "_"):
        if p.accept(mark):
            name += mark + "".join(part.value for part in _exponent_tokens(p))
    return NamedSet(name)


def _exponent_tokens(p: Cursor) -> list[Token]:
    token = p.next()
    if token.value != "{":
        return [token]
    parts = []
    while not p.sees("}"):
        parts.append(p.next())
    p.at += 1
    return parts


def big_operator(p: Cursor, name: str) -> Node:
    bounds: list[Node] = []
    while p.sees("_") or p.sees("^"):
        p.at += 1
        bounds.append(argument(p))
    body = p.expression(PRODUCT - 1 if name != "int" else SUM - 1)
    return BigOp(name, (body, *bounds))


_COMMANDS: dict[str, Callable[[Cursor], Node]] = {
    "frac": derivative_or_frac,
    "sqrt": root,
    "binom": binomial,
    "overline": overline,
    "mathbb": blackboard,
    "emptyset": lambda p: NamedSet("empty"),
    "dots": lambda p: Dots(),
    "lfloor": enclosed("floor", "rfloor"),
    "lceil": enclosed("ceil", "rceil"),
    "langle": enclosed("vector", "rangle"),
}


# -- functions


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
    args = _arguments(p)
    if power is not None and isinstance(power, Num) and power.value == -1 and name in _INVERSES:
        name, power = _INVERSES[name], None
    if name in ("log", "lg", "ln"):
        node = _logarithm(name, base, args)
    else:
        node = Fn(name, *args)
    return node if power is None else Pow(node, power)


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
        return atom(p)
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
    if p.sees("/") and isinstance(node, (Num, Const, Sym, Mul)) and p.at + 1 < p.last and p.tokens[p.at + 1].kind == "n":
        p.at += 1
        node = Div((node, p.operand()))
    return node


def _begins_function(p: Cursor) -> bool:
    token = p.peek()
    if token is None or token.kind not in "cw":
        return False
    return token.value in FUNCTION_NAMES and token.value not in ("sqrt", "binom", "cbrt")


# -- environments


def environment(p: Cursor, name: str) -> Node:
    rows: list[list[Node]] = [[]]
    while True:
        token = p.peek()
        if token is None:
            raise Refused(f"\\begin{{{name}}} is not ended")
        if token.kind == "end":
            p.at += 1
            break
        if token.kind == "o" and token.value == "\\\\":
            p.at += 1
            rows.append([])
        elif token.kind == "o" and token.value in ("&", ","):
            p.at += 1
        elif token.kind == "c" and token.value == "hline":
            p.at += 1
        else:
            rows[-1].append(_cell(p, name))
    table = tuple(tuple(row) for row in rows if row)
    if not table:
        raise Refused("an empty environment")
    if name in _MATRICES:
        return _matrix(table)
    if name in ("cases", "rcases"):
        return _cases(table)
    if name in _ALIGNED:
        cells = tuple(cell for row in table for cell in row)
        return cells[0] if len(cells) == 1 else Seq(cells, joint="and")
    if name in ("vmatrix", "Vmatrix"):
        return Fn("det", _matrix(table))
    raise Refused(f"unknown environment {name}")


def _cell(p: Cursor, name: str) -> Node:
    """One cell. In cases and aligned material a cell may be a condition in words."""
    token = p.peek()
    if name in ("cases", "rcases") and token is not None and token.kind in "wt":
        word = token.value.lower()
        if word in ("if", "for", "when", "where"):
            p.at += 1
        elif word in ("otherwise", "else"):
            p.at += 1
            return Words("otherwise")
    return p.expression(RELATION)


def _matrix(table: tuple[tuple[Node, ...], ...]) -> Node:
    width = len(table[0])
    if any(len(row) != width for row in table):
        raise Refused("rows of different length")
    return Matrix(table)


def _cases(table: tuple[tuple[Node, ...], ...]) -> Node:
    if all(len(row) == 1 and isinstance(row[0], Rel) for row in table):
        return Seq(tuple(row[0] for row in table), joint="and")
    if all(len(row) == 2 for row in table):
        return Cases(tuple(cell for row in table for cell in row))
    raise Refused("branches without conditions")
