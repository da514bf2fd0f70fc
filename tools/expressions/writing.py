"""Trees as text: the same tree comes out in another spelling each time, as TeX or as plain notation."""

from dataclasses import dataclass
from fractions import Fraction
from random import Random

from .spelling import decimal_of
from .trees import Call, Name, Num, Power, Product, Quotient, Root, Sum, Tree

SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Style:
    """How freely a tree is written. shuffled: terms and factors in any order. plain: no TeX, but pi/2, sqrt(2), x^2."""

    shuffled: bool = True
    plain: bool = False


def written(tree: Tree, rng: Random, style: Style | None = None) -> str:
    """One spelling of a tree."""
    return _Writer(rng, style or Style()).top(tree)


class _Writer:
    def __init__(self, rng: Random, style: Style) -> None:
        self.rng, self.style = rng, style

    def top(self, tree: Tree) -> str:
        """The whole text: here alone a number may be mixed, since nothing binds it."""
        if (
            isinstance(tree, Num)
            and tree.value.denominator > 1
            and not self.style.plain
            and self.rng.random() < 0.2
        ):
            whole, rest = divmod(abs(tree.value.numerator), tree.value.denominator)
            if whole:
                sign = "-" if tree.value < 0 else ""
                return f"{sign}{whole}\\frac{{{rest}}}{{{tree.value.denominator}}}"
        return self.write(tree)[0]

    def within(self, tree: Tree, least: int) -> str:
        """A tree as an operand; bracketed where it binds less than its surroundings."""
        text, strength = self.write(tree)
        if strength >= least and not text.startswith("-"):
            return text
        if not self.style.plain and self.rng.random() < 0.3:
            return f"\\left({text}\\right)"
        return f"({text})"

    def write(self, tree: Tree) -> tuple[str, int]:
        if isinstance(tree, Num):
            return self.number(tree.value)
        if isinstance(tree, Name):
            return (tree.name.lstrip("\\") if self.style.plain else tree.name), ATOM
        if isinstance(tree, Sum):
            return self.sum(tree.args), SUM
        if isinstance(tree, Product):
            return self.product(tree.args), PRODUCT
        if isinstance(tree, Quotient):
            return self.quotient(tree.args[0], tree.args[1])
        if isinstance(tree, Power):
            exponent = (
                str(tree.exponent) if self.style.plain or self.rng.random() < 0.5 else f"{{{tree.exponent}}}"
            )
            return f"{self.within(tree.args[0], ATOM)}^{exponent}", POWER
        if isinstance(tree, Root):
            return self.root(tree.args[0], tree.index)
        return self.call(tree)

    def number(self, value: Fraction) -> tuple[str, int]:
        if value.denominator == 1:
            return str(value.numerator), ATOM
        decimal = decimal_of(value)
        if decimal is not None and len(decimal) < 8 and self.rng.random() < 0.3:
            return decimal, ATOM
        sign = "-" if value < 0 else ""
        if self.style.plain:
            return f"{sign}{abs(value.numerator)}/{value.denominator}", PRODUCT
        command = self.rng.choice(("\\frac", "\\dfrac", "\\tfrac"))
        return f"{sign}{command}{{{abs(value.numerator)}}}{{{value.denominator}}}", PRODUCT

    def ordered(self, args: tuple[Tree, ...]) -> list[Tree]:
        return self.rng.sample(args, len(args)) if self.style.shuffled else list(args)

    def sum(self, args: tuple[Tree, ...]) -> str:
        parts: list[str] = []
        for arg in self.ordered(args):
            text, strength = self.write(arg)
            if strength == SUM and self.rng.random() < 0.5:
                text = f"({text})"
            plus = self.rng.choice((" + ", "+"))
            if not parts:
                parts.append(text)
            elif text.startswith("-"):
                parts.append(
                    self.rng.choice((" - ", "-")) + text[1:] if strength > SUM else plus + f"({text})"
                )
            else:
                parts.append(plus + text)
        return "".join(parts)

    def product(self, args: tuple[Tree, ...]) -> str:
        text = ""
        for arg in self.ordered(args):
            factor = self.within(arg, PRODUCT if isinstance(arg, Num) and not self.style.plain else POWER)
            text = text + self.joint(text, factor) + factor if text else factor
        return text

    def joint(self, left: str, right: str) -> str:
        """A sign of multiplication, or none where none is needed to tell the factors apart."""
        told_apart = not right[0].isdigit() and right[0] != "." and not left[-1].isdigit()
        simple = left[-1].isdigit() and (right[0] == "(" or right.startswith("\\sqrt")) and "^" not in left
        if self.style.plain:
            return "*"
        if "\\" in left and any(name in left for name in ("sin", "cos", "tan", "ln")):
            told_apart = simple = False
        if right.startswith(("\\frac", "\\dfrac", "\\tfrac")):
            told_apart = simple = False  # 2\frac{1}{3} is a mixed number
        if (told_apart or simple) and self.rng.random() < 0.6:
            return "" if right[0] in "(\\" and left[-1] in ")}" else " "
        return self.rng.choice((" \\cdot ", " \\times ", "\\cdot "))

    def quotient(self, top: Tree, bottom: Tree) -> tuple[str, int]:
        if self.style.plain or self.rng.random() < 0.2:
            return f"{self.within(top, POWER)}/{self.within(bottom, ATOM)}", PRODUCT
        command = self.rng.choice(("\\frac", "\\dfrac"))
        return f"{command}{{{self.write(top)[0]}}}{{{self.write(bottom)[0]}}}", PRODUCT

    def root(self, inside: Tree, index: int) -> tuple[str, int]:
        text = self.write(inside)[0]
        if self.style.plain:
            return (f"sqrt({text})", ATOM) if index == 2 else (f"({text})^(1/{index})", POWER)
        return (f"\\sqrt{{{text}}}" if index == 2 else f"\\sqrt[{index}]{{{text}}}"), ATOM

    def call(self, tree: Call) -> tuple[str, int]:
        text = self.write(tree.args[0])[0]
        slash = "" if self.style.plain else "\\"
        bare = isinstance(tree.args[0], Name) and not self.style.plain and self.rng.random() < 0.5
        return (
            f"{slash}{tree.name} {text}" if bare else f"{slash}{tree.name}({text})"
        ), PRODUCT if bare else ATOM
