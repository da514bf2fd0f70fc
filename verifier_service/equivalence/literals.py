"""Written numbers and letters -> leaves of the tree, exact and bounded."""

from flint import fmpq, fmpz

from .lexer import Refused, Token
from .nodes import Const, Mixed, Mul, Neg, Node, Num, Repeating, Sym, is_integer

MAX_DIGITS = 20_000


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
    if digits.isdecimal() and len(digits) <= MAX_DIGITS:  # a whole number, the commonest
        return Num(fmpq(fmpz(digits)), None, len(digits.lstrip("0")) or 1)
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


def mixed(whole: Num, top: Num, bottom: Num) -> Node:
    if is_integer(top) and is_integer(bottom) and 0 < top.value < bottom.value:
        return Mixed((whole, top, bottom))
    raise Refused("two numbers side by side")


def plain_letter(char: str) -> Node:
    if char in "ei":
        return Const(char)
    return Sym(char)


def signed(arg: Node) -> Node:
    """The opposite; of a number, the number with its sign turned."""
    if type(arg) is Num:
        return Num(-arg.value, arg.decimals, arg.significant)
    return Neg((arg,))


def product(left: Node, right: Node) -> Node:
    """One flat product, up to a width at which copying would cost."""
    if type(left) is Mul:
        return Mul((*left.args, right)) if len(left.args) < 64 else Mul((left, right))
    return Mul((left, right))
