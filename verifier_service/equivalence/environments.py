"""\\begin ... \\end: matrices, piecewise functions, aligned material."""

from .connectives import RELATIONS
from .cursor import RELATION, Cursor
from .lexer import Refused, Token
from .names import ALIGNED, MATRICES
from .nodes import Cases, Fn, Matrix, Node, Rel, Seq, Words


def environment(p: Cursor, name: str) -> Node:
    if name in ALIGNED:
        _join_lines(p)
    rows: list[list[Node]] = [[]]
    while True:
        token = p.peek()
        if token is None:
            raise Refused(f"\\begin{{{name}}} is not ended")
        if token.kind == "end":
            p.at += 1
            break
        if token.kind == "o" and token.value == "\\\\":
            p.at += 1
            rows.append([])
        elif token.kind == "o" and token.value in ("&", ","):
            p.at += 1
        elif token.kind == "c" and token.value == "hline":
            p.at += 1
        else:
            rows[-1].append(_cell(p, name))
    table = tuple(tuple(row) for row in rows if row)
    if not table:
        raise Refused("an empty environment")
    if name in MATRICES:
        return _matrix(table)
    if name in ("cases", "rcases"):
        return _cases(table)
    if name in ALIGNED:
        cells = tuple(cell for row in table for cell in row)
        return cells[0] if len(cells) == 1 else Seq(cells, joint="and")
    if name in ("vmatrix", "Vmatrix"):
        return Fn("det", _matrix(table))
    raise Refused(f"unknown environment {name}")


def _join_lines(p: Cursor) -> None:
    """In aligned material & marks a place, not a cell, and a line that opens with a relation goes on with the last."""
    depth, at = 0, p.at
    kept: list[Token] = []
    while at < p.last and not (depth == 0 and p.tokens[at].kind == "end"):
        token = p.tokens[at]
        depth += (token.kind == "begin") - (token.kind == "end")
        at += 1
        if depth == 0 and token.kind == "o":
            if token.value == "&":
                continue
            if token.value == "\\\\" and _opens_with_relation(p.tokens[at : at + 2]):
                continue
        kept.append(token)
    p.tokens[p.at : at] = kept
    p.last = len(p.tokens)


def _opens_with_relation(line: list[Token]) -> bool:
    first = next((token for token in line if token.value != "&"), None)
    return first is not None and first.kind in "oc" and first.value in RELATIONS


def _cell(p: Cursor, name: str) -> Node:
    """One cell. In cases and aligned material a cell may be a condition in words."""
    token = p.peek()
    if name in ("cases", "rcases") and token is not None and token.kind in "wt":
        word = token.value.lower()
        if word in ("if", "for", "when", "where"):
            p.at += 1
        elif word in ("otherwise", "else"):
            p.at += 1
            return Words("otherwise")
    return p.expression(RELATION)


def _matrix(table: tuple[tuple[Node, ...], ...]) -> Node:
    width = len(table[0])
    if any(len(row) != width for row in table):
        raise Refused("rows of different length")
    return Matrix(table)


def _cases(table: tuple[tuple[Node, ...], ...]) -> Node:
    if all(len(row) == 1 and isinstance(row[0], Rel) for row in table):
        return Seq(tuple(row[0] for row in table), joint="and")
    if all(len(row) == 2 for row in table):
        return Cases(tuple(cell for row in table for cell in row))
    raise Refused("branches without conditions")
