"""Units behind values: their text without markup, and the node that they make."""

from flint import fmpq

from .cursor import SUM, Cursor
from .literals import exact_decimal
from .nodes import Add, Const, Degrees, Div, Mul, Node, Num, Quantity, Seq
from .units import Unit, convertible, parse_unit

_ANGLE = (("angle", 1),)
_RADIAN = (("radian", 1),)


def measured(value: Node, unit: Unit) -> Node:
    """A value with its unit; angles in words are angles."""
    if unit.dimension == _ANGLE:
        factor = unit.factor
        if factor == 1:
            return Degrees(value)
        return Degrees(Mul((value, Num(fmpq(factor.numerator, factor.denominator), None, 1))))
    if unit.dimension == _RADIAN:
        return Degrees(Div((Mul((value, Num(fmpq(180), None, 3))), Const("pi"))))
    return Quantity(value, unit)


_MARKUP = (
    "\\textbf", "\\textit", "\\textrm", "\\textsf", "\\texttt", "\\textnormal", "\\text", "\\mathrm", "\\mathbf",
    "\\mathit", "\\mathsf", "\\boldsymbol", "\\mbox", "\\operatorname", "\\left", "\\right", "\\rm", "\\bf",
)  # fmt: skip


def without_markup(raw: str) -> str:
    """The source of a unit without its markup: \\frac{\\text{km}}{\\text{h}} is km/h."""
    if "\\frac" in raw:
        raw = raw.replace("\\frac", "").replace("}{", "/", 1) if raw.count("\\frac") == 1 else raw
        raw = raw.replace("}}{", "/")
    for mark in _MARKUP:
        raw = raw.replace(mark, "")
    for space in ("\\,", "\\ ", "\\;", "\\!", "~", "$", "\\:"):
        raw = raw.replace(space, " ")
    raw = raw.replace("\\cdot", "*").replace("\\times", "*").replace("^\\circ", "°")
    return " ".join(raw.replace("{", "").replace("}", "").split()).strip(" .")


_BETWEEN_SIDES = frozenset({"x", "by", "times"})


def _unit_of(p: Cursor, first: int, behind: int) -> Unit | None:
    """The unit that the tokens from `first` up to `behind` name."""
    return parse_unit(without_markup(p.source[p.tokens[first].start : p.tokens[behind - 1].end]))


def sides(p: Cursor, left: Node, end: int) -> Node | None:
    """10 ft x 18 ft, 10 by 18: the sides of a figure, not their product. None where that is not written."""
    for at in range(p.at, end - 1):
        if p.tokens[at].value in _BETWEEN_SIDES and p.tokens[at + 1].kind == "n":
            break
    else:
        return None
    if at > p.at:
        unit = _unit_of(p, p.at, at)
        if unit is None:
            return None
        left = measured(left, unit)
    elif p.tokens[at].value != "by":
        return None
    p.at = at + 1
    right = p.expression(SUM)
    return Seq((left, *right.args) if isinstance(right, Seq) else (left, right), joint="by")


def in_two_units(p: Cursor, left: Node, end: int) -> Node | None:
    """2 hours 30 minutes: a value in two units, the second converted to the first. None where that is not written."""
    numbers = [
        at
        for at in range(p.at, end)
        if p.tokens[at].kind == "n" and p.tokens[at - 1].value not in ("^", "{", "-", "/")
    ]
    if len(numbers) != 1 or numbers[0] in (p.at, end - 1):
        return None
    (middle,) = numbers
    first, second = _unit_of(p, p.at, middle), _unit_of(p, middle + 1, end)
    factor = convertible(second, first) if first is not None and second is not None else None
    if first is None or factor is None:
        return None
    rest = Num(exact_decimal(p.tokens[middle].value) * fmpq(factor.numerator, factor.denominator), None, 1)
    p.at = end
    return measured(Add((left, rest)), first)
