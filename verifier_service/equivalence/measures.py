"""Units behind values: their text without markup, and the node that they make."""

from flint import fmpq

from .nodes import Const, Degrees, Div, Mul, Node, Num, Quantity
from .units import Unit

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
