"""Every function at every awkward argument: no value is fine, an exception is not."""

import itertools

import pytest
from flint import fmpq

from verifier_service.equivalence import Context, Gold, Offered, Part, Rules, decide
from verifier_service.equivalence.exact import Evaluator
from verifier_service.equivalence.lexer import Refused
from verifier_service.equivalence.nodes import Add, Const, Fn, Node, Num, Pow, Sym
from verifier_service.equivalence.special import FUNCTIONS
from verifier_service.equivalence.values import Undefined

SEVERAL = ("max", "min", "gcd", "lcm")
TWO = ("logb", "root", "mod", "residue", "binom", "perm")


def number(top: int, bottom: int = 1) -> Num:
    return Num(fmpq(top, bottom), None, 1)


ARGUMENTS: tuple[Node, ...] = (
    number(0),
    number(1),
    number(-1),
    number(1, 2),
    number(-7, 3),
    number(10**30),
    Const("i"),
    Const("pi"),
    Const("inf"),
    Add((number(1), number(-1))),
    Sym("x"),
    Fn("sqrt", number(2)),
    Fn("sqrt", number(-2)),
    Pow(number(10), Pow(number(10), number(10))),
)


@pytest.mark.parametrize("complex_values", [False, True])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_function_has_a_value_or_says_that_it_has_none(name: str, complex_values: bool) -> None:
    arity = 2 if name in (*TWO, *SEVERAL) else 1
    for arguments in itertools.product(ARGUMENTS, repeat=arity):
        evaluator = Evaluator({"x": fmpq(3, 7)}, complex_values=complex_values)
        try:
            evaluator.value(Fn(name, *arguments))
        except (Undefined, Refused):
            continue


@pytest.mark.parametrize(
    "answer", [r"\sqrt[0]{5}", r"\sqrt[1-1]{5}", r"x>\sqrt[0]{3}", r"(1,\sqrt[0]{2})", r"\log_1 5"]
)
@pytest.mark.parametrize("gold", ["5", "x+1", r"\pi", "x>3", "(1,2)", r"\{1,2\}", "y=2x"])
def test_a_root_of_index_zero_is_wrong_and_no_fault_of_ours(gold: str, answer: str) -> None:
    decision = decide(Gold(any_of=(gold,)), Offered((Part(answer),), 1, "box"), Rules(), Context())
    assert decision.verdict == "incorrect"
