"""The shortcut for bare numbers reads what the lexer and the parser would."""

import pytest

from verifier_service.equivalence.lexer import tokenize
from verifier_service.equivalence.nodes import Node, Num
from verifier_service.equivalence.parser import Parser
from verifier_service.equivalence.reading import comparable, read


def shape(tree: Node | None) -> tuple[object, ...]:
    assert isinstance(tree, Num)
    return tree.value, tree.decimals, tree.significant, tree.size, tree.free, tree.traits


@pytest.mark.parametrize("sign", ["", "+", "-"])
@pytest.mark.parametrize("digits", ["0", "5", "007", "120", "0.50", ".5", "00.25", "3.14159", "9" * 38])
def test_a_bare_number_reads_as_the_parser_reads_it(sign: str, digits: str) -> None:
    text = sign + digits
    tokens, grouped = tokenize(text)
    reading = read(text)
    assert reading.tokens == comparable(tokens)
    assert shape(reading.tree) == shape(Parser(text, list(tokens)).parse())
    assert (reading.text, reading.words, reading.refusal, reading.grouped) == (text, "", "", grouped)
