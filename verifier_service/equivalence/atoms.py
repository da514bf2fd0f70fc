"""The smallest pieces of an expression: numbers, letters, functions, bracketed groups, sets, matrices."""

from collections.abc import Callable

from flint import fmpq, fmpz

from .connectives import CURRENCY_CODES
from .cursor import RELATION, Cursor
from .environments import environment
from .functions import (
    argument,
    big_operator,
    binomial,
    derivative_or_frac,
    frac,
    function,
    raised_binomial,
    root,
)
from .lexer import BASE_WORDS, Refused, Token
from .literals import MAX_DIGITS, mixed, number, plain_letter, repeating
from .names import (
    ACCENTS,
    BIG_OPERATORS,
    BLACKBOARD,
    CALLED,
    FUNCTION_NAMES,
    GREEK,
    NAMED_CONSTANTS,
    SPELLED_GREEK,
)
from .nodes import (
    Based,
    Builder,
    Call,
    Const,
    Dots,
    Fn,
    Mul,
    NamedSet,
    Node,
    Num,
    Pow,
    Quantity,
    Seq,
    Sym,
    Words,
    is_integer,
)
from .numerals import scale_word
from .units import currency_symbol, parse_unit


def read_atom(p: Cursor) -> Node:
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
    if token is None or token.kind not in "wt" or (len(token.value) == 1 and token.value.isascii()):
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
    if following.value in _CHOSEN and p.at + 1 < p.last and p.tokens[p.at + 1].kind == "n":
        p.at += 2
        return Fn(_CHOSEN[following.value], value, number(p.tokens[p.at - 1]))
    if following.kind == "n" and p.sees("/", 1) and p.at + 2 < p.last and p.tokens[p.at + 2].kind == "n":
        top, bottom = number(following), number(p.tokens[p.at + 2])
        p.at += 3
        return mixed(value, top, bottom)
    return value


_CHOSEN = {"C": "binom", "P": "perm"}  # 5C2


def _mixed_frac(p: Cursor, whole: Num) -> Node:
    start = p.at
    p.at += 1
    fraction = frac(p)
    top, bottom = fraction.args
    if isinstance(top, Num) and isinstance(bottom, Num):
        return mixed(whole, top, bottom)
    p.at = start
    return whole


def letters(p: Cursor, token: Token) -> Node:
    """A run of letters in math mode: a function, a constant, a variable, a product of variables, a name."""
    value = token.value
    if value in CURRENCY_CODES and (price := _coded_price(p, value)) is not None:
        return price
    if p.sees("$") and currency_symbol(value + "$") is not None:
        p.at += 1
        return money(p, value + "$")
    if value in FUNCTION_NAMES:
        return function(p, FUNCTION_NAMES[value])
    if value in NAMED_CONSTANTS:
        return Const(NAMED_CONSTANTS[value])
    if len(value) == 1:
        return letter(p, value)
    if value in SPELLED_GREEK:
        return called(p, "\\" + value + subscript(p) + primes(p))
    split = _leading_function(value)
    if split is not None:
        name, rest = split
        p.at -= 1
        p.tokens[p.at] = Token("w", rest, token.end - len(rest), token.end)
        return function(p, FUNCTION_NAMES[name])
    if len(value) <= 3 or (value.isupper() and len(value) <= 4):
        p.at -= 1
        p.tokens[p.at] = Token("w", value[1:], token.start + 1, token.end)
        return plain_letter(value[0])
    return named(p, value)


def _coded_price(p: Cursor, code: str) -> Node | None:
    """USD 18.50."""
    following, unit = p.peek(), parse_unit(code)
    if following is None or following.kind != "n" or unit is None:
        return None
    return Quantity(p.operand(), unit)


def _leading_function(value: str) -> tuple[str, str] | None:
    """sinx is sin x: a function's name with one letter, or pi, glued to it."""
    for size in (len(value) - 1, len(value) - 2):
        if size >= 2 and value[:size] in FUNCTION_NAMES and (size == len(value) - 1 or value[size:] == "pi"):
            return value[:size], value[size:]
    return None


def letter(p: Cursor, char: str) -> Node:
    """A single letter with what hangs on it: subscript, primes, an argument list."""
    name = char + subscript(p) + primes(p)
    if name in ("e", "i"):
        return Const(name)
    return called(p, name)


_INVERSE_CALL = ["^", "{", "-", "1", "}", "("]


def called(p: Cursor, name: str) -> Node:
    if name in CALLED and [token.value for token in p.tokens[p.at : p.at + 6]] == _INVERSE_CALL:
        p.at += 5
        name += "^-1"
    if p.sees("(") and (name[0] in CALLED or "'" in name or _defines_function(p)):
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
    if value in CURRENCY_CODES and (price := _coded_price(p, value)) is not None:
        return price
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
        if closing not in ("[", ")", "]") or (closing == "[" and opening == "("):
            raise Refused(f"{opening} is closed by {closing!r}")
        p.bars, p.stop_at_bar, p.outward = bars, stop, outward
        if isinstance(node, Seq) and node.is_bare:
            return Seq(node.args, "(" if opening == "]" else opening, ")" if closing == "[" else closing)
        if opening + closing not in ("()", "[]"):
            raise Refused("half-open brackets around one value")
        return _in_base(p, node) if isinstance(node, Num) and p.sees("_") else node

    return read


def _in_base(p: Cursor, digits: Num) -> Node:
    """(1101)_2: the base stands behind the bracket."""
    label = subscript(p).lstrip("_")
    base = int(label) if label.isdigit() and len(label) < 3 else BASE_WORDS.get(label, 0)
    try:
        return Based(str(digits.value), base)
    except ValueError as problem:
        raise Refused("no number of that base") from problem


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
    if value in GREEK:
        return called(p, "\\" + value + subscript(p) + primes(p))
    if value in BIG_OPERATORS:
        return big_operator(p, BIG_OPERATORS[value])
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


def overline(p: Cursor) -> Node:
    following = p.tokens[p.at + 1] if p.at + 1 < p.last else None
    inner = argument(p)
    if (
        following is not None
        and following.kind == "w"
        and following.value.isupper()
        and len(following.value) == 2
    ):
        return Sym("\\overline " + following.value)
    return Fn("conj", inner)


def accented(mark: str) -> Callable[[Cursor], Node]:
    """A letter under an accent is a letter of its own."""

    def read(p: Cursor) -> Node:
        inner = argument(p)
        if not isinstance(inner, (Sym, Const)):
            raise Refused(f"\\{mark} over no letter")
        return Sym(f"\\{mark} {inner.name}{subscript(p)}")

    return read


def blackboard(p: Cursor) -> Node:
    token = p.next()
    if token.value == "{":
        token = p.next()
        p.expect("}")
    if token.value not in BLACKBOARD:
        raise Refused("an unknown set")
    name = BLACKBOARD[token.value]
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


_COMMANDS: dict[str, Callable[[Cursor], Node]] = {
    "frac": derivative_or_frac,
    "sqrt": root,
    "binom": binomial,
    "overline": overline,
    **{mark: accented(mark) for mark in ACCENTS},
    "mathbb": blackboard,
    "emptyset": lambda p: NamedSet("empty"),
    "dots": lambda p: Dots(),
    "lfloor": enclosed("floor", "rfloor"),
    "lceil": enclosed("ceil", "rceil"),
    "langle": enclosed("vector", "rangle"),
}
