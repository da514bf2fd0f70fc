"""Where two expressions are compared: points that depend on both and that nobody can prepare for."""

from collections.abc import Iterator
from hashlib import blake2b

from flint import acb, arb, fmpq

from .nodes import Fn, Node, Num, Pow
from .values import Value

Point = dict[str, Value]

# Functions that are one formula here and another there; so are roots.
_BENDING = frozenset({"abs", "ceil", "floor", "max", "min", "root", "sgn", "sqrt"})
_NEAREST, _FARTHEST = 1, 10**12


def _numbers(seed: bytes) -> Iterator[int]:
    counter = 0
    while True:
        block = blake2b(seed, digest_size=64, salt=counter.to_bytes(8, "big")).digest()
        yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, 64, 4))
        counter += 1


def rational_points(names: list[str], seed: bytes) -> Iterator[dict[str, Value]]:
    numbers = _numbers(seed)
    while True:
        yield {name: fmpq(next(numbers) % 200_001 - 100_000, 30_011) for name in names}


def mixed_points(names: list[str], seed: bytes) -> Iterator[Point]:
    """Non-integers of both signs; the first points go through the patterns of signs."""
    numbers = _numbers(seed + b"mixed")
    for count in range(1 << 30):
        point: Point = {}
        for place, name in enumerate(names):
            size = fmpq(next(numbers) % 100_000 + 1_000, 30_011)
            point[name] = arb(-size if count >> place % 3 & 1 else size)
        yield point


def positive_points(names: list[str], seed: bytes) -> Iterator[Point]:
    numbers = _numbers(seed + b"positive")
    while True:
        yield {name: arb(fmpq(next(numbers) % 100_000 + 1_000, 30_011)) for name in names}


def unit_points(names: list[str], seed: bytes) -> Iterator[Point]:
    numbers = _numbers(seed + b"unit")
    while True:
        yield {name: arb(fmpq(next(numbers) % 19_998 - 9_999, 10_007)) for name in names}


def large_points(names: list[str], seed: bytes) -> Iterator[Point]:
    numbers = _numbers(seed + b"large")
    while True:
        yield {name: arb(fmpq(next(numbers) % 2_000_003, 1_009)) for name in names}


def integer_points(names: list[str], seed: bytes) -> Iterator[Point]:
    numbers = _numbers(seed + b"integer")
    while True:
        yield {name: fmpq(next(numbers) % 17 + 3) for name in names}


def complex_points(names: list[str], seed: bytes) -> Iterator[Point]:
    numbers = _numbers(seed + b"complex")
    while True:
        yield {
            name: acb(arb(fmpq(next(numbers) % 50_000, 30_011)), arb(fmpq(next(numbers) % 50_000, 30_011)))
            for name in names
        }


def bends(node: Node) -> bool:
    """May it be one formula near the origin and another one elsewhere, as |x - 100| is?"""
    return any(
        (isinstance(part, Fn) and part.name in _BENDING)
        or (isinstance(part, Pow) and not part.args[1].free and not _is_whole(part.args[1]))
        for part in node.walk()
    )


def _is_whole(exponent: Node) -> bool:
    return isinstance(exponent, Num) and exponent.value.q == 1


def far_points(names: list[str], seed: bytes, *expressions: Node) -> Iterator[Point]:
    """Beyond every number that stands in the expressions, on either side of it: where they bend lies behind."""
    reach = max((_reach(expression) for expression in expressions), default=fmpq(_NEAREST))
    for point in mixed_points(names, seed + b"far"):
        yield {name: (1 if value > 0 else -1) * reach * (2 + abs(value)) for name, value in point.items()}  # type: ignore[operator]


def _reach(node: Node) -> fmpq:
    """The largest number in it, exponents left out: they move no bend."""
    if isinstance(node, Num):
        return min(max(abs(node.value), fmpq(_NEAREST)), fmpq(_FARTHEST))
    args = node.args[:1] if isinstance(node, Pow) else node.args
    return max((_reach(arg) for arg in args), default=fmpq(_NEAREST))
