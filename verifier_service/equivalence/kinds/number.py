"""Values: numbers and expressions, with their percent signs, units, currencies, degrees, bases and roundings.

gold        answer            verdict
48 mm       4.8 cm            correct     two units must convert
37.5%       3/8               correct     equal by value
62%         62                correct     if the prompt asks for a percent
416.67      1250/3            correct     the gold is the rounding of an exact answer
1250/3      416.67            incorrect   never the other way round
210_3       210               correct     the digits in the gold's base
210_3       21                incorrect   the value in another base
"""

from dataclasses import replace

from flint import arb, fmpq, fmpz

from ..decision import Decision, correct, incorrect
from ..exact import Evaluator
from ..identity import FAST_BITS, same_value
from ..nodes import Based, Const, Degrees, Div, Mul, Neg, Node, Num, Percent, Pow, Quantity, Sym, Trait
from ..rewrite import substituted
from ..unit_table import CURRENCY_SIGNS
from ..units import Unit, convertible, currency_symbol, parse_unit
from ..values import Undefined, ball, precision
from .expression import compare_expressions
from .frame import Frame

HUNDRED = Num(fmpq(100), None, 1)
_PHI = frozenset({"\\phi"})


def compare_values(gold: Node, answer: Node, frame: Frame) -> Decision:
    """The comparison of two plain values, each possibly with a sign, unit or base on it."""
    gold, answer = hoisted(gold), hoisted(answer)
    if isinstance(gold, (Quantity, Percent)) or isinstance(answer, (Quantity, Percent)):
        return _with_marks(gold, answer, frame)
    if isinstance(gold, Degrees) or isinstance(answer, Degrees):
        return _angles(gold, answer, frame)
    if isinstance(gold, Based) or isinstance(answer, Based):
        return _numerals(gold, answer, frame)
    if answer.free == _PHI and not gold.free:
        return plain_values(gold, substituted(answer, "\\phi", Const("phi")), frame)
    infinite = _infinities(gold, answer)
    if infinite is not None:
        return infinite
    if gold.free and not answer.free and (measured := _bare_unit(gold, frame)) is not None:
        return compare_values(measured, answer, frame)
    bare = _bare_unit(answer, frame) if not gold.free and answer.free else None
    if bare is not None:
        return compare_values(gold, bare, frame)
    return plain_values(gold, answer, frame)


def hoisted(node: Node) -> Node:
    """A unit inside a fraction or product belongs to the whole: (5 m)/2 is 2.5 m."""
    if not node.has(Trait.UNIT) or not isinstance(node, (Div, Mul, Neg)):
        return node
    args = tuple(hoisted(arg) for arg in node.args)
    units = [arg for arg in args if isinstance(arg, Quantity)]
    if len(units) != 1 or (isinstance(node, Div) and args[0] is not units[0]):
        return node
    bare = tuple(arg.args[0] if arg is units[0] else arg for arg in args)
    return Quantity(type(node)(bare), units[0].unit, units[0].noun)


def plain_values(gold: Node, answer: Node, frame: Frame) -> Decision:
    """Same value; then the data set's tolerance; then a rounded gold."""
    if gold.free or answer.free:
        return compare_expressions(gold, answer, frame)
    try:
        same = same_value(gold, answer, frame.given)
    except Undefined:
        return incorrect("exact", "the answer has no value")
    if same.equal:
        return correct(same.method, same.reason)
    if frame.rules.tolerance is not None and _within_tolerance(gold, answer, frame):
        return correct("ball", "within the tolerance that was asked for")
    if frame.rules.rounded_gold and rounds_to_gold(gold, answer, frame):
        return correct("ball", "the gold is a rounding of the answer")
    if _digits_of_exact(gold, answer):
        return correct("ball", "the answer is the gold to at least 15 digits")
    return incorrect(same.method, same.reason)


# -- rounding and tolerance


def _is_decimal(node: Node) -> bool:
    node = node.args[0] if isinstance(node, Neg) else node
    return isinstance(node, Num) and node.decimals is not None


def _number(node: Node) -> Num | None:
    """A written decimal, its sign allowed."""
    if isinstance(node, Neg) and isinstance(node.args[0], Num):
        inner = node.args[0]
        return Num(-inner.value, inner.decimals, inner.significant)
    return node if isinstance(node, Num) else None


def rounds_to_gold(gold: Node, answer: Node, frame: Frame) -> bool:
    """Does an exact answer round to the decimal gold? Never the other way round.

    The gold must show at least three significant digits. The answer must be exact and no terminating decimal;
    a decimal with more digits than the gold counts only where the prompt asks for rounding.
    """
    written = _number(gold)
    if written is None or not written.decimals or written.significant < 3:
        return False
    if _is_decimal(answer):
        shown = _number(answer)
        if shown is None or (shown.decimals or 0) <= written.decimals or not frame.facts.asks_rounding:
            return False
    with precision(FAST_BITS * 2):
        try:
            value = Evaluator(log_base=frame.given.log_base).value(answer)
        except Undefined:
            return False
        if type(value) is fmpq and _terminates(value) and not _is_decimal(answer):
            return False
        if not isinstance(value, (fmpq, arb)):
            return False
        half_unit = fmpq(1, 2) / fmpz(10) ** written.decimals
        return bool(abs(arb(value) - arb(written.value)) <= arb(half_unit))


def _terminates(value: fmpq) -> bool:
    q = value.q
    for prime in (2, 5):
        while q % prime == 0:
            q = q // prime
    return bool(q == 1)


def _digits_of_exact(gold: Node, answer: Node) -> bool:
    """A gold without a terminating decimal, correctly rounded to 15 or more significant digits."""
    shown = _number(answer)
    if shown is None or not shown.decimals or shown.significant < 15 or _is_decimal(gold):
        return False
    with precision(FAST_BITS + 4 * shown.significant):
        try:
            value = Evaluator().value(gold)
        except Undefined:
            return False
        if type(value) is fmpq and _terminates(value):
            return False
        if not isinstance(value, (fmpq, arb)):
            return False
        half_unit = fmpq(1, 2) / fmpz(10) ** shown.decimals
        return bool(abs(arb(value) - arb(shown.value)) <= arb(half_unit))


def _within_tolerance(gold: Node, answer: Node, frame: Frame) -> bool:
    tolerance = frame.rules.tolerance
    assert tolerance is not None
    with precision(FAST_BITS):
        ev = Evaluator(log_base=frame.given.log_base)
        try:
            x, y = ball(ev.value(gold)), ball(ev.value(answer))
        except Undefined:
            return False
        gap = abs(x - y)
        if tolerance.absolute is not None and gap <= arb(tolerance.absolute):
            return True
        if tolerance.relative is not None and gap <= arb(tolerance.relative) * abs(x):
            return True
        if tolerance.digits is not None and isinstance(x, arb) and isinstance(y, arb):
            return _significant(x, tolerance.digits) == _significant(y, tolerance.digits)
    return False


def _significant(value: arb, digits: int) -> str:
    return str(value.str(digits, radius=False))


# -- percent signs and units


_MONEY = frozenset(unit.dimension for sign in CURRENCY_SIGNS if (unit := currency_symbol(sign)) is not None)


def _without_rounding(frame: Frame) -> Frame:
    return frame._replace(rules=replace(frame.rules, rounded_gold=False))


def _with_marks(gold: Node, answer: Node, frame: Frame) -> Decision:
    if isinstance(gold, Quantity) and gold.unit is not None and gold.unit.dimension in _MONEY:
        frame = _without_rounding(frame)  # a price is exact
    if isinstance(gold, Percent) or isinstance(answer, Percent):
        return _percents(gold, answer, frame)
    if isinstance(gold, Quantity) and isinstance(answer, Quantity):
        return _two_quantities(gold, answer, frame)
    if isinstance(gold, Quantity):
        return _unit_missing(gold, answer, frame)
    assert isinstance(answer, Quantity)
    measured = _bare_unit(gold, frame, answer.unit) if gold.free else None
    if measured is not None:
        return compare_values(measured, answer, frame)
    return _unit_added(gold, answer, frame)


def _percents(gold: Node, answer: Node, frame: Frame) -> Decision:
    """50% is 1/2. The sign may be missing only where a percent is asked for, or, unasked, above 1."""
    if isinstance(gold, Percent) and isinstance(answer, Percent):
        return compare_values(gold.args[0], answer.args[0], frame)
    if isinstance(gold, (Quantity, Degrees)) or isinstance(answer, (Quantity, Degrees)):
        return incorrect("rule", "a percentage is no quantity with a unit")
    if isinstance(gold, Percent):  # in the gold's own digits, so that 66.7% may round 2/3
        by_value = plain_values(gold.args[0], Mul((HUNDRED, answer)), frame)
    else:
        by_value = plain_values(gold, answer, frame)
    if by_value.is_correct:
        return by_value
    marked, bare = (gold, answer) if isinstance(gold, Percent) else (answer, gold)
    if not (frame.facts.asks_percent or (not frame.facts.prompt and _above_one(bare))):
        return by_value
    if isinstance(gold, Percent):
        return compare_values(marked.args[0], bare, frame)
    return compare_values(bare, marked.args[0], frame)


def _above_one(node: Node) -> bool:
    if node.free:
        return False
    with precision(FAST_BITS):
        try:
            value = Evaluator().value(node)
        except Undefined:
            return False
        return isinstance(value, (fmpq, arb)) and bool(value > 1)


def _scaled(node: Node, factor: fmpq) -> Node:
    return node if factor == 1 else Mul((Num(factor, None, 1), node))


def _fmpq(fraction: object) -> fmpq:
    return fmpq(fraction.numerator, fraction.denominator)  # type: ignore[attr-defined]


def _two_quantities(gold: Quantity, answer: Quantity, frame: Frame) -> Decision:
    if gold.unit is None or answer.unit is None:
        return _nouns(gold, answer, frame)
    factor = convertible(answer.unit, gold.unit)
    if factor is None:
        return incorrect("rule", f"{answer.unit.name} does not convert to {gold.unit.name}")
    return compare_values(gold.args[0], _scaled(answer.args[0], _fmpq(factor)), frame)


def _nouns(gold: Quantity, answer: Quantity, frame: Frame) -> Decision:
    """Counted things: the same noun, singular or plural; a measured unit is none of them."""
    if gold.unit is not None or answer.unit is not None:
        if gold.unit is None and answer.unit is not None and not _asked(answer.unit, frame):
            return incorrect("rule", f"{gold.noun} is counted, not measured in {answer.unit.name}")
        if answer.unit is None and not frame.facts.prompt:
            return incorrect("rule", f"{answer.noun} is no unit of the gold")
        return compare_values(gold.args[0], answer.args[0], frame)
    if _stem(gold.noun).split()[-1:] != _stem(answer.noun).split()[-1:]:
        return incorrect("rule", f"{answer.noun} are not {gold.noun}")
    return compare_values(gold.args[0], answer.args[0], frame)


def _stem(noun: str) -> str:
    return " ".join(word[:-1] if word.endswith("s") and len(word) > 3 else word for word in noun.split())


def _asked(unit: Unit, frame: Frame) -> bool:
    return any(convertible(unit, asked) is not None for asked in frame.facts.units)


def _unit_missing(gold: Quantity, answer: Node, frame: Frame) -> Decision:
    """The answer carries no unit: its number must be the gold's, in the unit asked for if that differs."""
    bare = _bare_unit(answer, frame, gold.unit)
    if bare is not None:
        return compare_values(gold, bare, frame)
    if (
        gold.unit is not None
        and gold.unit.bare_letter
        and frame.facts.prompt
        and not _asked(gold.unit, frame)
    ):
        if gold.unit.name in frame.facts.letters and not frame.facts.units:
            return incorrect("rule", f"{gold.unit.name} is a letter of the problem, not a unit")
    if isinstance(answer, Degrees):
        if gold.unit is None or not gold.unit.name.startswith("°"):
            return incorrect("rule", "an angle is no such quantity")
        return compare_values(gold.args[0], answer.args[0], frame)
    plain = compare_values(gold.args[0], answer, frame)
    if plain.is_correct or gold.unit is None:
        return plain
    for asked in frame.facts.units:
        factor = convertible(gold.unit, asked)
        if factor is not None and factor != 1:
            return compare_values(_scaled(gold.args[0], _fmpq(factor)), answer, frame)
    return plain


def _unit_added(gold: Node, answer: Quantity, frame: Frame) -> Decision:
    """The gold carries no unit: what the answer added must convert to what the prompt names, if it names any."""
    unit = answer.unit
    if unit is not None:
        for asked in frame.facts.units:
            factor = convertible(unit, asked)
            if factor is not None:
                return compare_values(gold, _scaled(answer.args[0], _fmpq(factor)), frame)
        if frame.facts.units:
            names = ", ".join(asked.name for asked in frame.facts.units)
            return incorrect("rule", f"{unit.name} is not what was asked for ({names})")
        if frame.facts.counts:
            return incorrect("rule", f"{unit.name} is no count")
        if gold.free or unit.bare_letter:
            return incorrect("rule", f"{unit.name} is not known to be a unit here")
    if isinstance(gold, Degrees):
        return incorrect("rule", "an angle has no other unit")
    return compare_values(gold, answer.args[0], frame)


def _bare_unit(answer: Node, frame: Frame, expected: Unit | None = None) -> Quantity | None:
    """5m where m is the metre: the letters behind a number, read as a unit that is expected or asked for."""
    split = _number_and_letters(answer)
    if split is None:
        return None
    value, letters = split
    unit = parse_unit(letters)
    if unit is None:
        return None
    if expected is not None and convertible(unit, expected) is not None:
        return Quantity(value, unit)
    if any(convertible(unit, asked) is not None for asked in frame.facts.units):
        return Quantity(value, unit)
    return None


def _number_and_letters(node: Node) -> tuple[Node, str] | None:
    """5m, 5 m/s, 12 m^2: a value without letters times (over) letters."""
    if isinstance(node, Div) and (split := _number_and_letters(node.args[0])) is not None:
        below = _unit_letters(node.args[1])
        return None if below is None else (split[0], f"{split[1]}/{below}")
    if not isinstance(node, Mul):
        return None
    at = next((i for i, arg in enumerate(node.args) if arg.free), len(node.args))
    if at in (0, len(node.args)):
        return None
    names = [_unit_letters(arg) for arg in node.args[at:]]
    if any(name is None for name in names):
        return None
    value = node.args[0] if at == 1 else Mul(node.args[:at])
    joined = "".join(name for name in names if name)
    return value, joined


def _unit_letters(node: Node) -> str | None:
    if isinstance(node, Sym):
        return node.name.replace("\\mu", "μ")
    if isinstance(node, Pow) and isinstance(node.args[0], Sym) and isinstance(node.args[1], Num):
        return f"{node.args[0].name}^{node.args[1].value}"
    return None


# -- angles, bases, infinity


DEGREE = (("angle", 1),)


def _angles(gold: Node, answer: Node, frame: Frame) -> Decision:
    """60° is π/3; a bare 60 is accepted for 60°."""
    if isinstance(gold, Degrees) and isinstance(answer, Degrees):
        return plain_values(gold.args[0], answer.args[0], frame)
    if isinstance(answer, Degrees) and any(unit.dimension == DEGREE for unit in frame.facts.units):
        return plain_values(gold, answer.args[0], frame)
    by_value = plain_values(gold, answer, frame)
    if by_value.is_correct:
        return by_value
    if isinstance(gold, Degrees):
        return plain_values(gold.args[0], answer, frame)
    if frame.facts.prompt and not frame.facts.asks_angle:
        return by_value
    return plain_values(gold, answer.args[0], frame)


def _numerals(gold: Node, answer: Node, frame: Frame) -> Decision:
    """Digits in a base: the base of the gold, or the base that the prompt asks for."""
    if isinstance(gold, Based) and isinstance(answer, Based):
        same = gold.base == answer.base and gold.digits == answer.digits
        return (
            correct("exact", "the same digits in the same base")
            if same
            else incorrect("exact", "other digits or base")
        )
    based, other = (gold, answer) if isinstance(gold, Based) else (answer, gold)
    assert isinstance(based, Based)
    digits = _written_digits(other)
    if isinstance(gold, Based):
        same = digits == based.digits
        return (
            correct("exact", "the same digits")
            if same
            else incorrect("exact", f"not {based.digits} in base {based.base}")
        )
    if frame.facts.base == based.base and digits == based.digits:
        return correct("exact", "the digits in the base asked for")
    if based.base == 10 or frame.facts.base in (None, 10):
        return plain_values(gold, Num(based.value, None, len(based.digits)), frame)
    return incorrect("exact", "other digits than asked for")


def _written_digits(node: Node) -> str | None:
    if isinstance(node, Num) and node.decimals is None and node.value.q == 1 and node.value >= 0:
        return str(node.value.p)
    if isinstance(node, Mul):  # 2B: a digit and letters
        parts = [
            str(a.value.p) if isinstance(a, Num) else a.name if isinstance(a, (Sym, Const)) else "?"
            for a in node.args
        ]
        return "".join(parts).lower()
    return None


def _infinities(gold: Node, answer: Node) -> Decision | None:
    sign_of_gold, sign_of_answer = _infinite_sign(gold), _infinite_sign(answer)
    if sign_of_gold == 0 and sign_of_answer == 0:
        return None
    if sign_of_gold == sign_of_answer:
        return correct("exact", "both infinite")
    return incorrect("exact", "infinity is met by the same infinity only")


def _infinite_sign(node: Node) -> int:
    if isinstance(node, Const) and node.name == "inf":
        return 1
    if isinstance(node, Neg):
        return -_infinite_sign(node.args[0])
    return 0
