"""\\begin ... \\end: matrices, piecewise functions, aligned material."""

from .cursor import RELATION, Cursor
from .lexer import Refused
from .names import ALIGNED, MATRICES
from .nodes import Cases, Fn, Matrix, Node, Rel, Seq, Words


def environment(p: Cursor, name: str) -> Node:
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
