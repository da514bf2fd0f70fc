"""Whole answers of every kind, from a seed: made, spelled, and put beside equal and unequal ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from .spelling import decimal_of
from .trees import (
    POINTS,
    Name,
    Num,
    Product,
    Root,
    Tree,
    equal_tree,
    number,
    other_tree,
    polynomial,
    scalar,
    value,
)
from .writing import Style, written

Frame = Callable[[list[str], "Answer", Random], str]


@dataclass(frozen=True, slots=True)
class Answer:
    """parts: its expressions.  marks: what else it says (brackets, a relation, a unit), told apart by kind.
    unordered: the parts may be written in any order."""

    kind: str
    parts: tuple[Tree, ...]
    marks: tuple[str, ...] = ()
    unordered: bool = False

    def written(self, rng: Random, style: Style | None = None) -> str:
        """One spelling."""
        parts = rng.sample(self.parts, len(self.parts)) if self.unordered else list(self.parts)
        return _FRAMES[self.kind]([written(part, rng, style) for part in parts], self, rng)


def _sized(opening: str, inside: str, closing: str, rng: Random) -> str:
    if rng.random() < 0.3:
        return f"\\left{opening}{inside}\\right{closing}"
    return f"{opening}{inside}{closing}"


def _comma(rng: Random) -> str:
    return rng.choice((", ", ",\\ ", " , "))


def _matrix(parts: list[str], answer: Answer, rng: Random) -> str:
    width = int(answer.marks[0])
    rows = [" & ".join(parts[at : at + width]) for at in range(0, len(parts), width)]
    name = rng.choice(("pmatrix", "bmatrix"))
    inside = " \\\\ ".join(rows)
    return f"\\begin{{{name}}} {inside} \\end{{{name}}}"


_RELATIONS = {
    "<": ("<", "\\lt "),
    ">": (">", "\\gt "),
    "<=": ("\\le ", "\\leq ", "≤"),
    ">=": ("\\ge ", "\\geq ", "≥"),
}


def _complex(parts: list[str], answer: Answer, rng: Random) -> str:
    real, imaginary = parts
    imaginary = {"1": "", "-1": "-"}.get(imaginary, imaginary) + "i"
    first, second = (real, imaginary) if rng.random() < 0.7 else (imaginary, real)
    sign = rng.choice((" - ", "-")) if second.startswith("-") else rng.choice((" + ", "+"))
    return f"{first}{sign}{second.removeprefix('-')}"


def _union(parts: list[str], answer: Answer, rng: Random) -> str:
    opening, closing, reopening, reclosing = answer.marks
    intervals = [
        _sized(opening, _comma(rng).join(parts[:2]), closing, rng),
        _sized(reopening, _comma(rng).join(parts[2:]), reclosing, rng),
    ]
    return rng.choice((" \\cup ", "\\cup", " ∪ ")).join(rng.sample(intervals, 2))


def _both_signs(parts: list[str], answer: Answer, rng: Random) -> str:
    middle, root = parts
    if rng.random() < 0.5:
        return f"{middle} \\pm {root}"
    return _comma(rng).join(rng.sample([f"{middle}+{root}", f"{middle}-{root}"], 2))


def _scientific(parts: list[str], answer: Answer, rng: Random) -> str:
    """A number as itself or by its power of ten."""
    tree = answer.parts[0]
    if not isinstance(tree, Num) or rng.random() < 0.4:
        return parts[0]
    power = rng.randint(1, 5)
    mantissa = decimal_of(tree.value / 10**power) or parts[0]
    times = rng.choice(("\\times", "\\cdot"))
    return f"{mantissa} {times} 10^{rng.choice((f'{power}', f'{{{power}}}'))}"


def _family(parts: list[str], answer: Answer, rng: Random) -> str:
    letter = rng.choice("kn")
    step = rng.choice((f"{letter}\\pi", f"\\pi {letter}")) if answer.marks == ("1",) else f"2{letter}\\pi"
    return f"\\frac{{{parts[0]}\\pi}}{{7}}{rng.choice(('+', ' + '))}{step}"


_DEGREES = ("^\\circ", "^{\\circ}", "°")

_FRAMES: dict[str, Frame] = {
    "scalar": lambda parts, answer, rng: parts[0],
    "expression": lambda parts, answer, rng: parts[0],
    "polynomial": lambda parts, answer, rng: parts[0],
    "percent": lambda parts, answer, rng: parts[0] + "\\%",
    "degrees": lambda parts, answer, rng: parts[0] + rng.choice(_DEGREES),
    "quantity": lambda parts, answer, rng: f"{parts[0]} \\text{{ {answer.marks[0]}}}",
    "tuple": lambda parts, answer, rng: _sized("(", _comma(rng).join(parts), ")", rng),
    "set": lambda parts, answer, rng: _sized("\\{", _comma(rng).join(parts), "\\}", rng),
    "interval": lambda parts, answer, rng: _sized(
        answer.marks[0], _comma(rng).join(parts), answer.marks[1], rng
    ),
    "assignment": lambda parts, answer, rng: f"{answer.marks[0]}{rng.choice(('=', ' = '))}{parts[0]}",
    "equation": lambda parts, answer, rng: f"{parts[0]}{rng.choice(('=', ' = '))}{parts[1]}",
    "inequality": lambda parts, answer, rng: (
        f"{answer.marks[0]} {rng.choice(_RELATIONS[answer.marks[1]])} {parts[0]}"
    ),
    "matrix": _matrix,
    "complex": _complex,
    "union": _union,
    "list": lambda parts, answer, rng: _comma(rng).join(parts),
    "both signs": _both_signs,
    "scientific": _scientific,
    "family": _family,
}


# -- making


def answer(rng: Random, kind: str = "") -> Answer:
    """An answer of a kind, or of any."""
    return _MAKERS[kind or rng.choice(KINDS)](rng)


def _distinct_numbers(rng: Random, count: int, depth: int = 1) -> tuple[Tree, ...]:
    found: list[Tree] = []
    while len(found) < count:
        tree = scalar(rng, depth)
        new = value(tree)
        if new is not None and all(abs(new - (value(old) or 0)) > 1e-9 for old in found):
            found.append(tree)
    return tuple(found)


def _ends(rng: Random) -> tuple[Tree, Tree]:
    low, high = sorted(rng.sample(range(-30, 30), 2))
    return number(low), number(high)


def _letters(rng: Random) -> tuple[str, ...]:
    return rng.choice((("x",), ("x", "y"), ("a", "b"), ("n",), ("t",)))


def _integer(rng: Random) -> Num:
    return number(rng.choice((1, 1, -1)) * rng.randint(2, 99))


def _make_union(rng: Random) -> Answer:
    ends = tuple(map(number, sorted(rng.sample(range(-30, 30), 4))))
    return Answer("union", ends, (rng.choice("(["), rng.choice(")]"), rng.choice("(["), rng.choice(")]")))


_SIMPLE = frozenset(
    (
        *("percent", "degrees", "quantity", "interval", "inequality"),
        *("complex", "union", "scientific", "family", "both signs"),
    )
)
_UNITS = ("cm", "kg", "hours", "m")

_MAKERS: dict[str, Callable[[Random], Answer]] = {
    "scalar": lambda rng: Answer("scalar", _distinct_numbers(rng, 1, rng.randint(0, 3))),
    "expression": lambda rng: Answer("expression", (scalar(rng, 2, _letters(rng)),)),
    "polynomial": lambda rng: Answer("polynomial", (polynomial(rng),)),
    "percent": lambda rng: Answer("percent", (number(rng.randint(1, 99)),)),
    "degrees": lambda rng: Answer("degrees", (number(rng.randint(1, 179)),)),
    "quantity": lambda rng: Answer("quantity", (number(rng.randint(2, 99)),), (rng.choice(_UNITS),)),
    "tuple": lambda rng: Answer("tuple", _distinct_numbers(rng, rng.randint(2, 4))),
    "set": lambda rng: Answer("set", _distinct_numbers(rng, rng.randint(2, 4)), unordered=True),
    "interval": lambda rng: Answer("interval", _ends(rng), rng.choice((("[", "]"), ("(", "]"), ("[", ")")))),
    "assignment": lambda rng: Answer("assignment", (scalar(rng, 2),), (rng.choice(("x", "y", "t")),)),
    "equation": lambda rng: Answer("equation", (polynomial(rng), number(0))),
    "inequality": lambda rng: Answer("inequality", (_integer(rng),), ("x", rng.choice(tuple(_RELATIONS)))),
    "matrix": lambda rng: Answer("matrix", tuple(_integer(rng) for _ in range(4)), (rng.choice("124"),)),
    "complex": lambda rng: Answer("complex", (_integer(rng), _integer(rng))),
    "union": _make_union,
    "list": lambda rng: Answer("list", tuple(map(number, rng.sample(range(-40, 40), rng.randint(2, 4)))), (), True),
    "both signs": lambda rng: Answer("both signs", (_integer(rng), Root((number(rng.choice((2, 3, 5, 7))),), 2))),
    "scientific": lambda rng: Answer("scientific", (number(rng.randint(11, 99) * 10 ** rng.randint(2, 6)),)),
    "family": lambda rng: Answer("family", (number(rng.randint(2, 6)),), (rng.choice("12"),)),
}  # fmt: skip
KINDS = tuple(_MAKERS)


# -- neighbours


def equal_answer(given: Answer, rng: Random) -> Answer:
    """The same answer, one of its expressions put otherwise."""
    at = rng.randrange(len(given.parts))
    if given.kind == "equation":
        factor = number(rng.choice((2, 3, -1)))
        return replace(given, parts=(Product((factor, given.parts[0])), given.parts[1]))
    if given.kind in _SIMPLE:
        return given  # what a unit, an end or a power of ten may hold is kept simple; the spelling changes
    return replace(given, parts=_put(given.parts, at, equal_tree(given.parts[at], rng)))


def other_answer(given: Answer, rng: Random) -> Answer:
    """Another answer: one expression has another value, or a mark is another."""
    if given.kind == "interval" and rng.random() < 0.3:
        return replace(given, marks=("[", ")") if given.marks != ("[", ")") else ("(", "]"))
    if given.kind == "inequality" and rng.random() < 0.4:
        return replace(given, marks=(given.marks[0], _TURNED[given.marks[1]]))
    if given.kind == "equation":
        return replace(given, parts=(_unproportional(given.parts[0], rng), given.parts[1]))
    at = rng.randrange(len(given.parts))
    for _ in range(20):
        new = replace(given, parts=_put(given.parts, at, other_tree(given.parts[at], rng)))
        if given.kind not in ("set", "list") or len({str(value(part))[:30] for part in new.parts}) == len(
            new.parts
        ):
            return new
    return given


_TURNED = {"<": "<=", "<=": ">=", ">": "<", ">=": ">"}


def _put(parts: tuple[Tree, ...], at: int, new: Tree) -> tuple[Tree, ...]:
    return (*parts[:at], new, *parts[at + 1 :])


def _unproportional(tree: Tree, rng: Random) -> Tree:
    """A polynomial that is no multiple of the given one: the quotients at three points differ."""
    for _ in range(20):
        new = other_tree(tree, rng)
        quotients = []
        for point in (*POINTS, {"x": 0.7313}):
            ours, theirs = value(tree, point), value(new, point)
            if ours and theirs:
                quotients.append(theirs / ours)
        if len(quotients) > 1 and any(abs(quotient - quotients[0]) > 1e-9 for quotient in quotients):
            return new
    return Product((tree, Name("x")))
