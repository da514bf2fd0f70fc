"""The slow path: two formulas that the fast tiers cannot read, compared with latex2sympy2 and sympy.

Text is bounded before either library sees it, and nothing is evaluated as code. Either library may still take
minutes on a formula that looks harmless: this runs only in worker processes that the parent kills.

Agreement at sample points, to 40 digits (200 for constants), counts as equality; it is no proof, and the
decision says so ("symbolic"). None means undecided: unreadable, beyond the bounds, or of kinds that do not
compare.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from .slow_path import Symbolic
from .symbolic_text import read_tex

MAX_MEMBERS = 24
MAX_OPERATIONS = 2000

POINTS = 12
ENOUGH_POINTS = 4
EXPRESSION_DIGITS = 40
CONSTANT_DIGITS = 200

# What sympy raises on formulas that it cannot evaluate. Each means undecided, never a verdict.
_FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)


def symbolic_equal(gold_tex: str, answer_tex: str) -> Symbolic:
    """Whether two formulas have the same value, by sympy. Symbols are told apart by name and case."""
    gold, answer = map(read_tex, _same_logarithm(gold_tex, answer_tex))
    if gold.fault or answer.fault:
        return Symbolic(None, f"the gold: {gold.fault}" if gold.fault else f"the answer: {answer.fault}")
    comparison = _Comparison(gold_tex, answer_tex)
    try:
        equal = comparison.same(gold.value, answer.value)
    except _FAULTS as fault:
        return Symbolic(None, f"sympy could not evaluate: {type(fault).__name__}")
    if equal is None:
        return Symbolic(None, comparison.note or "sympy could not decide")
    return Symbolic(equal, comparison.note or ("the same structure" if equal else "different structures"))


_BARE_LOG = re.compile(r"\\log(?![A-Za-z])(?!\s*_)")


_COMMAND = re.compile(r"\\[A-Za-z]+")
_LETTER = re.compile(r"[A-Za-z]")


def _same_logarithm(gold_tex: str, answer_tex: str) -> tuple[str, str]:
    """A bare log on one side only is natural; where the gold is a number without letters its base is ten."""
    sides = (gold_tex, answer_tex)
    bare = [_BARE_LOG.search(side) is not None for side in sides]
    if all(bare) or not any(bare) or not _LETTER.search(_COMMAND.sub("", gold_tex)):
        return sides
    return _BARE_LOG.sub(r"\\ln", gold_tex), _BARE_LOG.sub(r"\\ln", answer_tex)


def readable(tex: str) -> bool:
    """Whether the slow path can make a formula of a text."""
    return not read_tex(tex).fault


class Sympy:
    """The slow path itself: asks sympy here and now, however long it takes."""

    def ask(self, *question: str) -> Symbolic:
        return Symbolic(readable(*question), "") if len(question) == 1 else symbolic_equal(*question)


SYMPY = Sympy()


# Comparing


@dataclass(frozen=True, slots=True)
class _Pair:
    """Both values at one point.  real: nothing inside either expression left the real numbers."""

    first: Any
    second: Any
    real: bool


class _Comparison:
    """One comparison: the points are derived from both texts, so that nobody can prepare for them."""

    def __init__(self, gold_tex: str, answer_tex: str) -> None:
        self.seed = hashlib.sha256(f"{gold_tex}\0{answer_tex}".encode(errors="replace")).digest()
        self.note = ""

    def same(self, gold: Any, answer: Any) -> bool | None:
        import sympy

        if isinstance(gold, sympy.logic.boolalg.BooleanAtom | bool):
            return None
        for kind, compare in self._kinds():
            if isinstance(gold, kind) and isinstance(answer, kind):
                return compare(gold, answer)
        mixed = self._solved(gold, answer)
        if mixed is not None:
            return mixed
        if type(gold) is type(answer):
            return True if gold == answer else None
        self.note = f"{type(gold).__name__} against {type(answer).__name__}"
        return False

    def _kinds(self) -> tuple[tuple[Any, Callable[[Any, Any], bool | None]], ...]:
        import sympy

        return (
            (sympy.MatrixBase, self._matrices),
            (sympy.Equality, self._equations),
            (sympy.core.relational.Relational, self._inequalities),
            (sympy.FiniteSet, self._unordered),
            (sympy.Interval, self._intervals),
            ((sympy.Union, sympy.And, sympy.Or), self._combined),
            ((sympy.Tuple, tuple, list), self._ordered),
            (sympy.Expr, self._expressions),
        )

    def _solved(self, gold: Any, answer: Any) -> bool | None:
        """x = 5 against a bare 5, either way round."""
        import sympy

        for one, other in ((gold, answer), (answer, gold)):
            named = isinstance(one, sympy.Equality) and isinstance(one.lhs, sympy.Symbol)
            if named and not isinstance(other, sympy.Equality) and type(other) is not type(one):
                return self.same(one.rhs, other)
        return None

    def _matrices(self, gold: Any, answer: Any) -> bool | None:
        if gold.shape != answer.shape:
            self.note = f"a {gold.shape} matrix against {answer.shape}"
            return False
        return self._ordered(list(gold), list(answer))

    def _ordered(self, gold: Sequence[Any], answer: Sequence[Any]) -> bool | None:
        if len(gold) != len(answer):
            self.note = f"{len(gold)} entries against {len(answer)}"
            return False
        equal = _every(self.same(one, other) for one, other in zip(gold, answer, strict=True))
        self.note = "every entry agrees" if equal else self.note
        return equal

    def _unordered(self, gold: Any, answer: Any) -> bool | None:
        """Each member of one side has its own on the other."""
        left, right = list(gold.args), list(answer.args)
        if len(left) != len(right):
            self.note = f"{len(left)} members against {len(right)}"
            return False
        if len(left) > MAX_MEMBERS:
            return True if gold == answer else None
        undecided = False
        for one in left:
            verdicts = [self.same(one, other) for other in right]
            if True in verdicts:
                del right[verdicts.index(True)]
            elif None in verdicts:
                undecided = True
            else:
                return False
        self.note = "every member has its like" if not undecided else self.note
        return None if undecided else True

    def _combined(self, gold: Any, answer: Any) -> bool | None:
        return self._unordered(gold, answer) if gold.func == answer.func else None

    def _intervals(self, gold: Any, answer: Any) -> bool | None:
        if (gold.left_open, gold.right_open) != (answer.left_open, answer.right_open):
            self.note = "other ends are included"
            return False
        return self._ordered((gold.start, gold.end), (answer.start, answer.end))

    def _equations(self, gold: Any, answer: Any) -> bool | None:
        """The same line up to a constant factor; other equations may still have the same solutions."""
        if self._both(gold, answer):
            return True
        if self._constant_ratio(gold, answer) is not None:
            return True
        self.note = "the equations differ by more than a constant factor"
        return None

    def _inequalities(self, gold: Any, answer: Any) -> bool | None:
        """All on one side, pointing one way: a positive constant factor apart."""
        if not hasattr(gold, "gts") or not hasattr(answer, "gts"):
            return True if gold == answer else None
        if ("Strict" in type(gold).__name__) != ("Strict" in type(answer).__name__):
            self.note = "one bound is strict"
            return False
        ratio = self._constant_ratio(_pointed(gold), _pointed(answer))
        if ratio is not None and ratio < 0:
            self.note = "they point in opposite directions"
            return False
        return True if ratio is not None else None

    def _both(self, gold: Any, answer: Any) -> bool:
        return (
            _every(self.same(one, other) for one, other in zip(gold.args, answer.args, strict=True)) is True
        )

    def _constant_ratio(self, gold: Any, answer: Any) -> Any:
        """The factor between (left - right) of two relations where it is one number, else None."""
        import sympy

        first, second = gold.lhs - gold.rhs, answer.lhs - answer.rhs
        if not all(isinstance(side, sympy.Expr) for side in (first, second)):
            return None
        if first.free_symbols != second.free_symbols or not first.free_symbols:
            return None
        ratios = [
            pair.first / pair.second for pair in self._values(first, second) if pair.first and pair.second
        ]
        if len(ratios) < ENOUGH_POINTS or not all(
            _close(ratio, ratios[0], EXPRESSION_DIGITS) for ratio in ratios
        ):
            return None
        self.note = f"a constant factor apart at {len(ratios)} points"
        return ratios[0] if ratios[0].is_real else None

    def _expressions(self, gold: Any, answer: Any) -> bool | None:
        if gold == answer:
            return True
        gold, answer = _settled(gold), _settled(answer)
        if gold == answer:
            return True
        if gold.is_infinite or answer.is_infinite:
            return False
        if _operations(gold) + _operations(answer) > MAX_OPERATIONS:
            self.note = f"more than {MAX_OPERATIONS} operations"
            return None
        if not gold.free_symbols | answer.free_symbols:
            return self._constants(gold, answer)
        return self._sampled(list(self._values(gold, answer)))

    def _constants(self, gold: Any, answer: Any) -> bool | None:
        pair = _pair(gold, answer, {}, CONSTANT_DIGITS)
        if pair is None:
            return None
        equal = _close(pair.first, pair.second, CONSTANT_DIGITS)
        self.note = f"{'agree' if equal else 'differ'} within {CONSTANT_DIGITS} digits"
        return equal

    def _sampled(self, pairs: list[_Pair]) -> bool | None:
        """Where both sides and all inside them are real; what is nowhere real is compared as complex."""
        chosen = [pair for pair in pairs if pair.real] or pairs
        if not all(_close(pair.first, pair.second, EXPRESSION_DIGITS) for pair in chosen):
            self.note = "differ at a sample point"
            return False
        if len(chosen) < ENOUGH_POINTS:
            self.note = f"both are defined at only {len(chosen)} sample points"
            return None
        self.note = f"agree at {len(chosen)} sample points"
        return True

    def _values(self, first: Any, second: Any) -> Iterator[_Pair]:
        symbols = sorted(first.free_symbols | second.free_symbols, key=str)
        for point in self._points(symbols):
            pair = _pair(first, second, point, EXPRESSION_DIGITS)
            if pair is not None:
                yield pair

    def _points(self, symbols: list[Any]) -> Iterator[dict[Any, Any]]:
        """Fractions of both signs first, then positive whole numbers for functions that need them."""
        import sympy

        stream = _numbers(self.seed)
        for number in range(POINTS + POINTS // 2):
            if number < POINTS:
                values = [sympy.Rational(next(stream) % 4001 - 2000, 1009) for _ in symbols]
                values = [abs(value) for value in values] if number % 2 else values
            else:
                values = [sympy.Integer(next(stream) % 9 + 1) for _ in symbols]
            yield dict(zip(symbols, values, strict=True))


def _every(verdicts: Iterator[bool | None]) -> bool | None:
    """All true: true. One false: false. Else undecided."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found else True


def _pointed(relation: Any) -> Any:
    import sympy

    return sympy.Eq(relation.gts, relation.lts, evaluate=False)


def _settled(expression: Any) -> Any:
    """Integrals, sums, limits and derivatives worked out, and a free i read as the imaginary unit."""
    import sympy

    return expression.subs(sympy.Symbol("i"), sympy.I).doit()


def _operations(expression: Any) -> int:
    import sympy

    return sum(1 for _ in islice(sympy.preorder_traversal(expression), MAX_OPERATIONS + 1))


def _pair(first: Any, second: Any, point: dict[Any, Any], digits: int) -> _Pair | None:
    """Both values at a point; None where one is undefined there."""
    one = _value(first, point, digits)
    if one is None:
        return None
    other = _value(second, point, digits)
    if other is None:
        return None
    return _Pair(one, other, all(_stays_real(side, point) for side in (first, second)))


def _stays_real(expression: Any, point: dict[Any, Any]) -> bool:
    """Whether roots, logarithms and inverse functions inside are real at a point, not only the whole."""
    import sympy

    leaving = (
        sympy.log,
        sympy.asin,
        sympy.acos,
        sympy.acosh,
        sympy.atanh,
        sympy.acoth,
        sympy.asec,
        sympy.acsc,
    )
    for part in sympy.preorder_traversal(expression):
        is_root = isinstance(part, sympy.Pow) and not part.exp.is_Integer
        if is_root or isinstance(part, leaving):
            value = _value(part, point, EXPRESSION_DIGITS)
            if value is None or not value.is_real:
                return False
    return True


def _value(expression: Any, point: dict[Any, Any], digits: int) -> Any:
    import sympy

    try:
        value = sympy.N(expression.subs(point), digits + 10)
    except _FAULTS:
        return None
    if not value.is_number or value.is_finite is not True:
        return None
    real, imaginary = value.as_real_imag()
    if not (real.is_Number and imaginary.is_Number):
        return None
    small = sympy.Float(10) ** -digits * max(abs(real), 1)
    return real if abs(imaginary) <= small else value


def _close(one: Any, other: Any, digits: int) -> bool:
    import sympy

    scale = max(sympy.Float(1), abs(sympy.N(one)), abs(sympy.N(other)))
    return bool(abs(sympy.N(one - other, digits)) <= scale * sympy.Float(10) ** (5 - digits))


def _numbers(seed: bytes) -> Iterator[int]:
    """An endless stream of 32-bit numbers from a seed."""
    block = seed
    while True:
        block = hashlib.sha256(block).digest()
        for start in range(0, len(block), 4):
            yield int.from_bytes(block[start : start + 4], "big")
