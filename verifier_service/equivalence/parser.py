"""Tokens -> tree: a Pratt parser, linear in the number of tokens, bounded in depth.

Levels of binding, loosest first: list separators, relations, set operations, ratio, sums, products
(a product may be written by putting factors side by side), signs, powers, postfix marks.
"""

from dataclasses import replace

from .atoms import read_atom
from .connectives import (
    AND_WORDS,
    BEHIND_INTERVALS,
    CONDITION_WORDS,
    CONDITIONS,
    CURRENCY,
    JOINING,
    OR_WORDS,
    OTHERWISE,
    PERCENT_WORDS,
    QUALIFIERS,
    QUALIFYING_MARKS,
    RELATIONS,
    SET_OPS,
    STACKED,
    UNIT_FUNCTIONS,
    may_be_noun,
)
from .cursor import CLOSERS, MAX_DEPTH, PRODUCT, RATIO, RELATION, SET, SIGN, SUM, Cursor
from .functions import stacked
from .lexer import Refused, Token
from .literals import exact_decimal, product, signed
from .measures import in_two_units, measured, sides, without_markup
from .names import ATOM_COMMANDS, FUNCTION_NAMES, NAMED_CONSTANTS
from .nodes import (
    Add,
    Cases,
    Degrees,
    Div,
    Fn,
    Mul,
    NamedSet,
    Node,
    Num,
    Percent,
    PlusMinus,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Trait,
    Words,
)
from .units import currency_symbol, parse_unit

_POSTFIX = CURRENCY | {"!", "%", "circ"}


class Parser(Cursor):
    """One pass over one token list. Raises Refused where the tokens are no mathematics."""

    def parse(self) -> Node:
        """The whole text."""
        node = self.parse_list()
        self._drop_qualifier()
        while self.sees(".") or self.sees("\\\\"):
            self.at += 1
        if self.at < self.last:
            raise Refused(f"unexpected {self.tokens[self.at].value!r}")
        return node

    def _drop_qualifier(self) -> None:
        """ "for any c", "where k is an integer": says what the letters are, not what the answer is."""
        rest = self.tokens[self.at :]
        if not rest or len(rest) > 14 or rest[0].kind not in "wt" or rest[0].value.lower() not in QUALIFIERS:
            return
        if all(token.kind in "wtc" or token.value in QUALIFYING_MARKS for token in rest):
            self.at = self.last

    def separator(self) -> str | None:
        """The list separator at this place, consumed; None where there is none."""
        token = self.peek()
        if token is None:
            return None
        if token.kind == "o" and token.value in (",", ";", "&"):
            self.at += 1
            return self._joining_word() or token.value
        return self._joining_word()

    def _joining_word(self) -> str | None:
        token = self.peek()
        if token is None or token.kind == "n":
            return None
        word = token.value.lower() if token.kind in "wt" else token.value
        letter = len(word) == 1 and word.isascii()
        if letter and token.kind != "t":
            return None
        for joint, words in (("and", AND_WORDS), ("or", OR_WORDS)):
            if word in words:
                self.at += 1
                return joint
        return None

    def parse_list(self) -> Node:
        """Items up to a closing bracket or the end; a lone item is itself."""
        first = self.lone_integer() or self.parse_item()
        items: list[Node] = [first]
        joint = ","
        while (found := self.separator()) is not None:
            joint = found if found in ("and", "or") or joint == "," else joint
            token = self.peek()
            if token is None or token.value in CLOSERS:
                if found in ("and", "or"):
                    raise Refused("a joining word at the end")
                break  # a trailing separator
            items.append(self.parse_item())
        if len(items) == 1:
            return stacked(self, first)
        if all(isinstance(item, Cases) for item in items):
            return Cases(tuple(cell for item in items for cell in item.args))
        return Seq(tuple(items), joint=joint)

    def parse_item(self) -> Node:
        """One member of a list: an expression, perhaps with its condition (a branch of a function)."""
        token = self.peek()
        if token is not None and token.kind in "wt" and token.value.lower() in OTHERWISE:
            self.at += 1
            return Cases((self.expression(RELATION), Words("otherwise")))
        if self.sees("=") or self.sees("approx"):
            self.at += 1  # "= 5": the left side was written outside
        node = self.expression(RELATION)
        token = self.peek()
        if token is None or token.kind not in "wt":
            return node
        word = token.value.lower()
        if word in OTHERWISE:
            self.at += 1
            return Cases((node, Words("otherwise")))
        if word in CONDITIONS and self._is_condition():
            self.at += 1
            return Cases((node, self.expression(RELATION)))
        return node

    def _is_condition(self) -> bool:
        """A relation follows: "x if x >= 0", but not "cx for any c"."""
        ahead = self.tokens[self.at + 1 : self.at + 12]
        return any(token.value in RELATIONS for token in ahead) and ahead[0].kind not in "t"

    def expression(self, floor: int) -> Node:
        self._deeper()
        left = self.prefix(floor)
        left = self.infix(left, floor)
        self.depth -= 1
        return left

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Refused("nested too deep")

    def prefix(self, floor: int) -> Node:
        token = self.peek()
        if token is None:
            raise Refused("the expression ends too early")
        if token.kind == "o" and token.value in "+-":
            self.at += 1
            arg = self.expression(SIGN)
            return signed(arg) if token.value == "-" else arg
        if token.kind == "c" and token.value in ("pm", "mp"):
            self.at += 1
            return PlusMinus(self.expression(SIGN), 1 if token.value == "pm" else -1)
        return self.operand()

    def infix(self, left: Node, floor: int) -> Node:
        while (token := self.peek()) is not None:
            value = token.value
            if token.kind in "oc":
                if value in CLOSERS or value in STACKED or (value == "[" and self._closes_outward()):
                    return left
                if value in RELATIONS:
                    if floor > RELATION:
                        return left
                    left = self.relation(left)
                    continue
                step = self._operator(left, value, floor)
                if step is None:
                    return left
                if step is not left:
                    left = step
                    continue
            elif token.kind == "end" or value == "choose":
                return left
            if token.kind == "w" and value == "U" and floor <= SET and self._opens_set(1):
                self.at += 1
                left = SetOp("union", (left, self.expression(SET + 1)))
                continue
            if floor > PRODUCT or not (self.starts_factor() or self._number_behind_letters(left)):
                return self.trailing_words(left, floor)
            left = product(left, self.factor())
        return left

    def _closes_outward(self) -> bool:
        """[a, b[ and ]a, b[: nothing that the bracket could open stands behind it."""
        if self.outward:
            return True
        following = self.tokens[self.at + 1] if self.at + 1 < self.last else None
        return following is None or (following.kind in "oc" and following.value in BEHIND_INTERVALS)

    def _operator(self, left: Node, value: str, floor: int) -> Node | None:
        """Apply the operator at this place; None to stop before it; `left` itself if it is none."""
        if value in "+-" or value in ("pm", "mp"):
            if floor > SUM:
                return None
            return self.sum(left)
        if value in ("*", "/", "times", "cdot"):
            if floor > PRODUCT:
                return None
            self.at += 1
            right = self.factor()
            return Div((left, right)) if value == "/" else product(left, right)
        if value in SET_OPS:
            if floor > SET:
                return None
            self.at += 1
            return SetOp(SET_OPS[value], (left, self.expression(SET + 1)))
        if value == ":":
            return self.ratio(left) if floor <= RATIO and not self.stop_at_bar else None
        if value in ("bmod", "mod", "pmod", "pod"):
            return self.modulus(left, value) if floor <= RELATION else None
        if value == "|":
            return None if self.bars or self.stop_at_bar or not self.starts_factor() else left
        if value in (",", ";", "\\\\", "&", "mid", "land", "lor", "Rightarrow", "Leftrightarrow", "to"):
            return None
        return left

    def sum(self, left: Node) -> Node:
        terms = [left]
        while (token := self.peek()) is not None:
            if token.kind not in "oc" or token.value not in ("+", "-", "pm", "mp"):
                break
            self.at += 1
            term = self.expression(PRODUCT)
            if token.value == "-" and isinstance(left, (NamedSet, SetOp)):
                return SetOp("difference", (left, term))
            if token.value == "-":
                term = signed(term)
            elif token.value != "+":
                term = PlusMinus(term, 1 if token.value == "pm" else -1)
            terms.append(term)
        return Add(tuple(terms))

    def factor(self) -> Node:
        """An operand of a product, its own sign allowed (2 * -3)."""
        token = self.peek()
        if token is not None and token.kind == "o" and token.value in "+-":
            self.at += 1
            self._deeper()
            arg = self.factor()
            self.depth -= 1
            return signed(arg) if token.value == "-" else arg
        return self.operand()

    def relation(self, left: Node) -> Node:
        ops: list[str] = []
        args = [left]
        while (token := self.peek()) is not None and token.kind in "oc" and token.value in RELATIONS:
            self.at += 1
            op = RELATIONS[token.value]
            if op in ("<", ">") and self.accept("="):
                op += "="
            ops.append(op)
            args.append(self.expression(RELATION + 1))
        return Rel(tuple(ops), tuple(args))

    def ratio(self, left: Node) -> Node:
        args = [left]
        while self.accept(":"):
            args.append(self.expression(RATIO + 1))
        return Ratio(tuple(args))

    def modulus(self, left: Node, value: str) -> Node:
        self.at += 1
        bracketed = self.accept("(") if value in ("mod", "pod") else False
        modulus = self.expression(SUM)
        if bracketed:
            self.expect(")")
        if value == "bmod" or (value == "mod" and not bracketed):
            return Fn("mod", left, modulus)
        return Fn("residue", left, modulus)

    # -- operands: an atom, its powers and postfix marks

    def atom(self) -> Node:
        self.atoms_deep += 1
        if self.atoms_deep > MAX_DEPTH:
            raise Refused("nested too deep")
        node = read_atom(self)
        self.atoms_deep -= 1
        return node

    def operand(self) -> Node:
        self._deeper()
        node = self.postfix(self.atom())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        while (token := self.peek()) is not None and token.kind in "oc":
            value = token.value
            if value in ("^", "**"):
                node = self.power(node)
            elif value not in _POSTFIX:
                break
            elif value == "!":
                self.at += 1
                node = Fn("double_factorial" if self.accept("!") else "factorial", node)
            elif value == "%":
                self.at += 1
                node = Percent(node)
            elif value == "circ" and isinstance(node, (Num, Degrees)):
                self.at += 1
                node = self.degrees_of(node)
            elif value in CURRENCY and isinstance(node, (Num, Mul)):
                self.at += 1
                node = Quantity(node, currency_symbol(value))
            else:
                break
        return node

    def power(self, base: Node) -> Node:
        self.at += 1
        if self.sees("circ") or (self.sees("{") and self.sees("circ", 1) and self.sees("}", 2)):
            self.at += 3 if self.sees("{") else 1
            return self.degrees_of(base)
        if self.sees("'") or (self.sees("{") and self.sees("'", 1)):
            raise Refused("a prime as an exponent")
        return Pow(base, self.exponent())

    def exponent(self) -> Node:
        token = self.peek()
        if token is not None and token.kind == "o" and token.value in "+-":
            self.at += 1
            self._deeper()
            arg = self.exponent()
            self.depth -= 1
            return signed(arg) if token.value == "-" else arg
        self._deeper()
        node = self.atom()
        if self.sees("^") or self.sees("**"):
            node = self.power(node)
        elif self.sees("!"):
            node = self.postfix(node)
        self.depth -= 1
        return node

    def degrees_of(self, base: Node) -> Node:
        """Behind a degree sign: an angle, or a temperature where C, F or K follows."""
        token = self.peek()
        if (
            token is not None
            and token.kind in "wt"
            and token.value in ("C", "F", "K", "Celsius", "Fahrenheit")
        ):
            unit = parse_unit(f"°{token.value[0]}")
            if unit is not None:
                self.at += 1
                return Quantity(base, unit)
        total: Node = Degrees(base)
        for mark, parts in (("'", 60), ("''", 3600)):
            if self._angle_part(mark):
                value = self.next()
                self.at += len(mark)
                total = Degrees(Add((total.args[0], Num(exact_decimal(value.value) / parts))))
        return total

    def _angle_part(self, mark: str) -> bool:
        number = self.peek()
        if number is None or number.kind != "n":
            return False
        primes = 0
        while self.sees("'", 1 + primes):
            primes += 1
        return primes == len(mark)

    def starts_factor(self) -> bool:
        """Does the next token begin a factor of a product by juxtaposition?"""
        token = self.peek()
        if token is None:
            return False
        kind, value = token.kind, token.value
        if kind == "w":
            return not self.is_word(token)
        if kind == "o":
            return value in ("(", "[", "|", "\\{") or (value == "{" and not self._number_follows_brace())
        if kind == "c":
            return value in ATOM_COMMANDS and not (value == "frac" and self._unit_fraction())
        return kind == "begin"

    def is_word(self, token: Token) -> bool:
        """Letters in math mode that are a word, not factors."""
        value = token.value
        if len(value) == 1:
            return False
        if value in UNIT_FUNCTIONS and self._after_number() and not self._opens_argument():
            return True
        if value in FUNCTION_NAMES or value in NAMED_CONSTANTS:
            return False
        lower = value.lower()
        if lower in JOINING:
            return True
        if value == "by":
            return self._after_number() and self.at + 1 < self.last and self.tokens[self.at + 1].kind == "n"
        if len(value) <= 3:
            return parse_unit(value) is not None and not value.isupper() and self._after_number()
        return True

    def _number_behind_letters(self, left: Node) -> bool:
        """(n-2) 2^n is a product; two numbers side by side are not."""
        token = self.peek()
        return (
            token is not None
            and token.kind == "n"
            and bool(left.free or left.has(Trait.TRANSCENDENTAL))
            and self.tokens[self.at - 1].value == ")"
        )

    def _number_follows_brace(self) -> bool:
        """Two numbers side by side are no product, braces or not."""
        return self.at + 1 < self.last and self.tokens[self.at + 1].kind == "n"

    def _opens_argument(self) -> bool:
        return self.sees("(", 1) or self.sees("{", 1)

    def _after_number(self) -> bool:
        return self.at > 0 and self.tokens[self.at - 1].kind == "n"

    def _unit_fraction(self) -> bool:
        """\\frac{\\text{km}}{\\text{h}} behind a number is a unit."""
        return self.sees("{", 1) and self.at + 2 < self.last and self.tokens[self.at + 2].kind == "t"

    def _opens_set(self, ahead: int) -> bool:
        return any(self.sees(bracket, ahead) for bracket in ("(", "[", "\\{"))

    def trailing_words(self, left: Node, floor: int) -> Node:
        """A unit or a counted noun behind a value: everything up to the end of the item."""
        token = self.peek()
        if token is None or floor > SUM or isinstance(left, (Rel, Quantity, Seq, Words)):
            return left
        if token.kind not in "wt" and not (token.kind == "c" and token.value in ("frac", "angle")):
            return left
        lower = token.value.lower()
        if lower in AND_WORDS or lower in OR_WORDS or lower in CONDITION_WORDS:
            return left
        if lower == "to":
            self.at += 1
            return Ratio((left, self.expression(RATIO + 1)))
        end = self._item_end()
        measures = sides(self, left, end)
        if measures is not None:
            return measures
        text = without_markup(self.source[token.start : self.tokens[end - 1].end])
        compound = in_two_units(self, left, end)
        if compound is not None:
            return compound
        if text.lower() in PERCENT_WORDS:
            self.at = end
            return Percent(left)
        unit = parse_unit(text)
        if unit is not None:
            if token.kind == "t" and unit.bare_letter:  # set as text, it is no variable
                unit = replace(unit, bare_letter=False)
            self.at = end
            return measured(left, unit)
        words = text.lower().replace("/", " ").split()
        if len(words) <= 3 and all(map(may_be_noun, words)):
            self.at = end
            return Quantity(left, None, " ".join(words))
        raise Refused("words behind a value")

    def _item_end(self) -> int:
        at = self.at
        depth = 0
        while at < self.last:
            token = self.tokens[at]
            if token.kind in "oc":
                if token.value in ("(", "{", "["):
                    depth += 1
                elif token.value in CLOSERS:
                    if depth == 0:
                        break
                    depth -= 1
                elif depth == 0 and (token.value in (",", ";", "\\\\", "&", "|") or token.value in RELATIONS):
                    break
            elif token.kind in ("end", "begin"):
                break
            elif token.kind in "wt" and token.value.lower() in OR_WORDS | {"and", "和", "und", "и", "if"}:
                break
            at += 1
        return at
