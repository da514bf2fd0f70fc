"""Clean text -> tokens, in one linear pass. LaTeX and plain notation share the tokens.

A token is (kind, value, start, end): kind "n" number, "w" letters in math mode, "t" a word of text mode or of
another script, "c" a command without its backslash, "o" an operator or bracket, "b" a numeral in a base,
"r" a decimal with a repeating tail. start and end index into the clean text.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

MAX_TOKENS = 6000
MAX_CHARS = 200_000


class Refused(ValueError):
    """The text exceeds a published bound or is no mathematics; the message says which."""


class Token(NamedTuple):
    kind: str
    value: str
    start: int
    end: int


# Token(...) without the Python function that a named tuple's constructor is.
_token: Callable[[tuple[str, str, int, int]], Token] = partial(tuple.__new__, Token)


class Tokens(NamedTuple):
    """grouped: a comma before three digits was read as a separator of thousands, though it may be a list."""

    items: list[Token]
    grouped: bool


_SPACING = (
    "left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle "
    "scriptstyle scriptscriptstyle limits nolimits quad qquad hfill strut mathstrut noindent nonumber "
    "thinspace enspace medspace negthinspace allowbreak newline normalsize large Large small rm bf it "
    "thickspace boldmath centering hline left. right. pagebreak null relax unboldmath"
).split()
_DROP_ARGUMENT = {
    "hspace": 1, "vspace": 1, "phantom": 1, "hphantom": 1, "vphantom": 1, "rule": 2, "label": 1, "tag": 1,
    "color": 1, "kern": 0, "mskip": 0, "ref": 1, "cite": 1,
}  # fmt: skip
_DROP_FIRST = {"textcolor", "colorbox"}
_TEXT_GROUPS = {
    "text", "textbf", "textit", "textrm", "textsf", "texttt", "textnormal", "mbox", "hbox", "emph", "mathrm",
    "operatorname", "textup", "textsc", "textsl", "mathsf", "mathtt",
}  # fmt: skip
_PLAIN_GROUPS = {
    "mathbf", "boldsymbol", "bm", "mathit", "mathnormal", "underline", "boxed", "fbox", "pmb", "ensuremath",
    "mathop", "mathord", "mathrel", "mathbin", "smash", "mathclose", "mathopen", "uline", "underbrace",
    "vec", "overrightarrow", "mathcal", "mathscr", "mathfrak",
}  # fmt: skip

_ALIASES = {
    "dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "nicefrac": "frac", "sfrac": "frac", "dbinom": "binom",
    "tbinom": "binom", "leq": "le", "leqslant": "le", "geq": "ge", "geqslant": "ge", "neq": "ne", "lt": "<",
    "gt": ">", "cdotp": "cdot", "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "lvert": "|",
    "rvert": "|", "vert": "|", "lVert": "|", "rVert": "|", "Vert": "|", "varnothing": "emptyset", "oslash": "emptyset",
    "bullet": "cdot", "top": "T", "intercal": "T",
    "ldots": "dots", "cdots": "dots", "dotsc": "dots", "dotsb": "dots", "dotsm": "dots", "dotso": "dots",
    "vdots": "dots", "ddots": "dots", "exponentialE": "e", "imaginaryI": "i", "bigcup": "cup", "bigcap": "cap",
    "smallsetminus": "setminus", "backslash": "setminus", "rightarrow": "to", "longrightarrow": "to",
    "implies": "Rightarrow", "iff": "Leftrightarrow", "wedge": "land", "vee": "lor", "degree": "circ",
    "textdegree": "circ", "varphi": "phi", "vartheta": "theta", "varepsilon": "epsilon", "ast": "*",
    "div": "/", "colon": ":", "pounds": "£", "euro": "€", "yen": "¥", "prime": "'", "mathdollar": "$",
    "textdollar": "$", "bar": "overline", "simeq": "approx", "doteq": "=", "triangleq": "=", "coloneqq": "=",
    "lparen": "(", "rparen": ")", "suchthat": "mid", "arctg": "arctan", "tg": "tan", "ctg": "cot", "sh": "sinh",
    "ch": "cosh", "th": "tanh", "lg": "lg", "imath": "i", "ne": "ne", "not=": "ne", "Re": "re", "Im": "im",
}  # fmt: skip

_WORDS = r"[^\W\d_]"
_GROUP = r"(?:\{,\}|,\\!|\\,|~|\\\ |\\;|\\!|\{\\,\}|'|\ )"
_TOKEN = re.compile(
    rf"""
  (?P<ws>(?:[ \t\r\n\f\v~]|\\[,;:!\ /]|\{{\}})+)
 |(?P<c>\\[a-zA-Z]+\*?)
 |(?P<e>\\[^a-zA-Z])
 |(?=[\d.A-F])(?:
   (?P<g>(?<![\d.])\d{{1,3}}(?:{_GROUP}\d{{3}})+(?![\d])(?:\.\d+)?)
  |(?P<k>(?<![\d.])\d{{1,3}}(?:,\d{{3}})+(?!\d)(?:\.\d+)?)
  |(?P<hex>0[xX][0-9a-fA-F]+)
  |(?P<b>(?:\d[0-9a-fA-F]*|[A-F][0-9A-F]*(?=_\{{?16))_
      (?:\{{\s*(?:\\(?:text|mathrm)\{{)?\s*(?:\d\d?|[a-z]+)\s*\}}?\s*\}}|\d))
  |(?P<r>\d*\.\d*(?:\\(?:overline|bar)\ *(?:\{{\d+\}}|\d)|\(\d+\)
      |\\dot\ *(?:\{{\d\}}|\d)(?:\d*\\dot\ *(?:\{{\d\}}|\d))?))
  |(?P<n>(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+(?![\d.]*[a-zA-Z]))?)
  )
 |(?P<w>[a-zA-Z]+)
 |(?P<t>{_WORDS}+)
 |(?P<bad>[\x00-\x1f\ud800-\udfff])
 |(?P<o>\*\*|<=|>=|!=|==|<>|=>|->|\.\.\.|.)
""",
    re.VERBOSE | re.DOTALL,
)
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}
_TEXT_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ROW_SPACING = re.compile(r"\s{0,9}\[-?\d{0,3}\.?\d{0,3}\s?(?:pt|em|ex|mm|cm|in|px|mu)\s?\]")
_SEPARATORS = re.compile(r"[^\d.]")
BASE_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16, "binary": 2, "octal": 8, "hex": 16,
}  # fmt: skip


def closing_brace(text: str, opening: int, end: int) -> int:
    """Index of the brace that closes the one at `opening`; -1 if none does before `end`."""
    depth = 0
    at = opening
    while at < end:
        char = text[at]
        if char == "\\":
            at += 2
            continue
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return -1


class _Lexer:
    def __init__(self, text: str, group_commas: bool) -> None:
        self.text = text
        self.group_commas = group_commas
        self.grouped = False
        self.out: list[Token] = []
        self.depth = 0  # open round or square brackets and set braces: inside them a comma separates
        self.nesting = 0
        self.skipped_to = 0

    def run(self, start: int, end: int, text_mode: bool) -> None:
        self.nesting += 1
        if self.nesting > 40:
            raise Refused("groups nested too deep")
        at = start
        text, match, out = self.text, _TOKEN.match, self.out
        while at < end:
            found = match(text, at, end)
            if found is None:
                raise Refused("unreadable character")
            kind = found.lastgroup
            start, at = at, found.end()
            if kind == "ws":
                continue
            value = found.group()
            if kind == "w":
                out.append(_token(("t" if text_mode else "w", value, start, at)))
            elif kind == "n":
                out.append(_token(("n", value, start, at)))
            elif kind == "o":
                self.depth += _BRACKETS.get(value, 0)
                out.append(_token(("o", value, start, at)))
            else:
                at = self._special(kind or "bad", value, start, at, end, text_mode)
            if len(out) > MAX_TOKENS:
                raise Refused(f"more than {MAX_TOKENS} tokens")
        self.nesting -= 1

    def _special(self, kind: str, value: str, start: int, at: int, end: int, text_mode: bool) -> int:
        out = self.out
        if kind == "c":
            return self._command(value[1:], start, at, end, text_mode)
        if kind == "e":
            return self._escape(value[1], start, at)
        if kind == "g":
            out.append(Token("n", _SEPARATORS.sub("", value), start, at))
        elif kind == "k":
            if self.group_commas and self.depth <= 0:
                self.grouped = True
                out.append(Token("n", value.replace(",", ""), start, at))
            else:
                first = value.index(",")
                out.append(Token("n", value[:first], start, start + first))
                return start + first
        elif kind == "b":
            return self._based(value, start, at)
        elif kind == "bad":
            raise Refused("control character or broken text")
        elif kind == "t" and text_mode and (word := _TEXT_WORD.match(self.text, start, end)):
            out.append(Token("t", word.group(), start, word.end()))
            return word.end()
        else:
            out.append(Token({"hex": "b"}.get(kind, kind), value, start, at))
        return at

    def _based(self, value: str, start: int, at: int) -> int:
        digits, _, tail = value.partition("_")
        label = re.sub(r"\\text|\\mathrm|[{}\s]", "", tail)
        base = int(label) if label.isdigit() else BASE_WORDS.get(label, 0)
        try:
            if not 2 <= base <= 36:
                raise ValueError
            int(digits, base)
        except ValueError:
            number = re.match(r"\d+|[A-F]", digits)
            assert number is not None
            kind = "n" if number.group()[0].isdigit() else "w"
            self.out.append(Token(kind, number.group(), start, start + number.end()))
            return start + number.end()
        self.out.append(Token("b", f"{digits}_{base}", start, at))
        return at

    def _escape(self, char: str, start: int, at: int) -> int:
        if char in "{}":
            self.depth += 1 if char == "{" else -1
            self.out.append(Token("o", "\\" + char, start, at))
        elif char == "\\":
            self.out.append(Token("o", "\\\\", start, at))
            spacing = _ROW_SPACING.match(self.text, at)
            return spacing.end() if spacing is not None else at
        elif char == "|":
            self.out.append(Token("o", "|", start, at))
        elif char in "%$&#":
            self.out.append(Token("o", char, start, at))
        elif char == "_":
            self.out.append(Token("o", "_", start, at))
        elif char not in "()[]-'`\"^~.=@\n":
            raise Refused(f"unknown escape \\{char}")
        return at

    def _command(self, name: str, start: int, at: int, end: int, text_mode: bool) -> int:
        name = name.rstrip("*")
        if name in _SPACING_SET:
            if name in _SIZED and self.text[at : at + 1] == ".":
                return at + 1
            return at
        if name in _TEXT_GROUPS or name in _PLAIN_GROUPS:
            return self._group(name, at, end, text_mode or name in _TEXT_GROUPS)
        if name in _DROP_ARGUMENT:
            for _ in range(_DROP_ARGUMENT[name]):
                at = self._skip_group(at, end)
            return at
        if name in _DROP_FIRST:
            return self._group(name, self._skip_group(at, end), end, text_mode)
        if name in ("begin", "end"):
            return self._environment(name, start, at, end)
        name = _ALIASES.get(name, name)
        if not name[0].isalpha():
            if name in "{}":
                self.depth += 1 if name == "{" else -1
                name = "\\" + name
            self.out.append(Token("o", name, start, at))
        elif len(name) == 1:
            self.out.append(Token("w", name, start, at))
        else:
            self.out.append(Token("c", name, start, at))
        return at

    def _blank(self, at: int, end: int) -> int:
        while at < end and self.text[at] in " \t\r\n":
            at += 1
        return at

    def _skip_group(self, at: int, end: int) -> int:
        at = self._blank(at, end)
        if self.text[at : at + 1] != "{":
            return at
        closing = closing_brace(self.text, at, end)
        if closing < 0:
            raise Refused("a brace is not closed")
        return closing + 1

    def _group(self, name: str, at: int, end: int, text_mode: bool) -> int:
        """The braces of a styling command are no grouping of its own, except around several tokens."""
        at = self._blank(at, end)
        if self.text[at : at + 1] != "{":
            return at
        closing = closing_brace(self.text, at, end)
        if closing < 0:
            raise Refused("a brace is not closed")
        before = len(self.out)
        self.run(at + 1, closing, text_mode)
        inside = self.out[before:]
        if (
            name in ("mathrm", "operatorname", "mathsf", "mathtt")
            and len(inside) == 1
            and inside[0].kind == "t"
        ):
            word = inside[0]
            kind = "w" if len(word.value) == 1 or name == "operatorname" else "t"
            self.out[before] = Token(kind, word.value, word.start, word.end)
        elif len(inside) > 1 and not text_mode:
            self.out.insert(before, Token("o", "{", at, at + 1))
            self.out.append(Token("o", "}", closing, closing + 1))
        return closing + 1

    def _environment(self, name: str, start: int, at: int, end: int) -> int:
        at = self._blank(at, end)
        closing = closing_brace(self.text, at, end) if self.text[at : at + 1] == "{" else -1
        if closing < 0:
            raise Refused("an environment without a name")
        self.out.append(Token(name, self.text[at + 1 : closing].strip(" *"), start, closing + 1))
        at = closing + 1
        if name == "begin" and self.out[-1].value in ("array", "tabular"):
            at = self._skip_group(at, end)
        return at


_SPACING_SET = frozenset(_SPACING)
_SIZED = frozenset({"left", "right", "middle", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"})


def tokenize(text: str, *, group_commas: bool = True, start: int = 0, end: int | None = None) -> Tokens:
    """Tokens of clean text. Raises Refused on what exceeds the bounds or cannot be mathematics."""
    end = len(text) if end is None else end
    if end - start > MAX_CHARS:
        raise Refused(f"more than {MAX_CHARS} characters")
    lexer = _Lexer(text, group_commas)
    lexer.run(start, end, text_mode=False)
    return Tokens(lexer.out, lexer.grouped)
