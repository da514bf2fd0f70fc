"""Reading tokens one after another: what the parser and its atoms share."""

from .lexer import Refused, Token
from .literals import number
from .nodes import Node

MAX_DEPTH = 110

# How tightly operators bind, loosest first.
RELATION, SET, RATIO, SUM, PRODUCT, SIGN = 10, 20, 22, 30, 40, 45
CLOSERS = frozenset({")", "]", "}", "\\}", "rfloor", "rceil", "rangle"})


class Cursor:
    """A place in a token list. The parser proper supplies the three ways down at the end."""

    def __init__(self, source: str, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.last = len(tokens)
        self.depth = 0
        self.atoms_deep = 0
        self.bars = 0  # open absolute values
        self.stop_at_bar = False  # inside a set, before its such-that bar
        self.outward = False  # inside ]a, b[, where [ closes

    def peek(self) -> Token | None:
        return self.tokens[self.at] if self.at < self.last else None

    def next(self) -> Token:
        if self.at >= self.last:
            raise Refused("the expression ends too early")
        token = self.tokens[self.at]
        self.at += 1
        return token

    def sees(self, value: str, ahead: int = 0) -> bool:
        at = self.at + ahead
        return at < self.last and self.tokens[at].value == value and self.tokens[at].kind in "oc"

    def accept(self, value: str) -> bool:
        if self.sees(value):
            self.at += 1
            return True
        return False

    def expect(self, value: str) -> None:
        if not self.accept(value):
            found = self.peek()
            raise Refused(f"expected {value!r}, found {found.value if found else 'the end'!r}")

    def lone_integer(self) -> Node | None:
        """{3}, (12): the commonest group needs none of the levels below."""
        if self.at + 1 >= self.last:
            return None
        token, closer = self.tokens[self.at : self.at + 2]
        if token.kind != "n" or closer.value not in CLOSERS or not token.value.isdecimal():
            return None
        self.at += 1
        return number(token)

    def atom(self) -> Node:
        """One atom."""
        raise NotImplementedError

    def parse_list(self) -> Node:
        """Items up to a closing bracket or the end."""
        raise NotImplementedError

    def expression(self, floor: int) -> Node:
        """An expression whose operators bind tighter than `floor`."""
        raise NotImplementedError

    def operand(self) -> Node:
        """An atom with its powers and postfix marks."""
        raise NotImplementedError

    def exponent(self) -> Node:
        """What stands behind ^."""
        raise NotImplementedError

    def starts_factor(self) -> bool:
        """Does the next token begin a factor of a product by juxtaposition?"""
        raise NotImplementedError
