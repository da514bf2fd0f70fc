"""Clean-up before words are counted: formulas, code, tags and addresses out, hidden prose kept.

A single pass with an index that only moves forward; no pattern here can backtrack beyond a line.
"""

import re
import unicodedata

MAX_CHARS = 64 * 1024
_MAX_READ = 16 * MAX_CHARS
_WINDOWS = 16
_NORMALISED_AT_ONCE = 1024  # canonical ordering is quadratic in a run of combining marks

# Stands where a formula or code was: neither a word nor the end of a sentence.
GAP = "\ufffc"

_INVISIBLE = dict.fromkeys(
    [0xAD, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065)]
)

_CODE_SIGNS = re.compile(r"[=(){}\[\];_<>#\\@]")
_COMMENT = ("//", "--", "/*", "* ")

_MARK = re.compile(
    r"(?P<tick>`+)"
    r"|(?P<dollar>\${1,2})"
    r"|\\(?P<open>[(\[])"
    r"|\\begin\{(?P<env>[A-Za-z]{1,30}\*?)\}"
    r"|\\(?P<command>[A-Za-z]+)\*?"
    r"|(?P<index>[\^_])\{"
    r"|(?P<address>(?:https?://|www\.)[!-~]+)"
    r"|</?(?P<tag>[A-Za-z][^<>\n]{0,200})>"
    r"|(?P<escape>\\.)",
    re.DOTALL,
)
_CLOSING = {"(": "\\)", "[": "\\]"}

# Letters of any script with their marks; punctuation and symbols that share these blocks do no harm here.
_LETTER = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2dff\u3041-\u318f\u3400-\ud7ff\uf900-\ufaff"
_UNSPACED = re.compile(r"[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff]")
_SPACED_WORD = re.compile(f"[{_LETTER}]{{2,}}")
# Inside formulas: words of two letters or more in a row, with blanks or commas between; no command names.
_PROSE = re.compile(rf"(?<![\\{_LETTER}])[{_LETTER}]{{2,}}+(?:[ \t\n,.;:'’-]{{1,3}}+[{_LETTER}]++)*")
_MIN_PROSE = 4


def clean(text: str) -> str:
    """The countable words of a completion, formulas and code replaced by a gap. Linear, never raises."""
    hidden: list[str] = []
    text = _without_fences(_sampled(text, _MAX_READ), hidden)
    text = _Scanner(_normalised(_sampled(text, MAX_CHARS)), hidden).run()
    return "\n".join([text, _sampled("\n".join(hidden), MAX_CHARS)])


def _sampled(text: str, limit: int) -> str:
    """At most `limit` characters: equal windows spread over the whole, so that no part is a blind spot."""
    if len(text) <= limit:
        return text
    size = limit // _WINDOWS
    step = (len(text) - size) / (_WINDOWS - 1)
    starts = (round(window * step) for window in range(_WINDOWS))
    return "\n\n".join(text[start : start + size] for start in starts)


def _normalised(text: str) -> str:
    if text.isascii():
        return text
    text = text.translate(_INVISIBLE)
    pieces = (text[at : at + _NORMALISED_AT_ONCE] for at in range(0, len(text), _NORMALISED_AT_ONCE))
    # Some single characters expand to a whole phrase, hence the second cap.
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces)[: 2 * MAX_CHARS]


def _without_fences(text: str, hidden: list[str]) -> str:
    """Fenced code blocks replaced by gaps; a fence that never closes runs to the end."""
    kept: list[str] = []
    at = 0
    while (start := text.find("```", at)) >= 0:
        kept.append(text[at:start])
        end = text.find("```", start + 3)
        block = text[start + 3 : end] if end >= 0 else text[start + 3 :]
        _keep_prose_of_block(block, hidden)
        kept.append(GAP)
        if end < 0:
            return "".join(kept)
        at = end + 3
        while text[at : at + 1] == "`":
            at += 1
    return "".join([*kept, text[at:]])


def _keep_prose_of_block(block: str, hidden: list[str]) -> None:
    """A block most of whose lines are sentences is prose in a code fence, not code."""
    info, _, rest = block[:MAX_CHARS].partition("\n")
    body = block[:MAX_CHARS] if " " in info.strip() else rest
    lines = [line.strip() for line in body.split("\n") if line.strip()]
    sentences = [line for line in lines if _is_sentence(line)]
    if 2 * len(sentences) > len(lines):
        hidden.append(_normalised("\n".join(sentences)))


def _is_sentence(line: str) -> bool:
    return not line.startswith(_COMMENT) and not _CODE_SIGNS.search(line) and _words(line) >= _MIN_PROSE


def _words(text: str) -> float:
    return max(len(_UNSPACED.findall(text)) / 1.7, len(_SPACED_WORD.findall(text)))


def _keep_prose_of_formula(body: str, hidden: list[str]) -> None:
    """Runs of four words or more inside a formula are prose: otherwise it would be a hiding place."""
    hidden.extend(run for run in _PROSE.findall(body) if _words(run) >= _MIN_PROSE)


class _Scanner:
    """One pass over the text; every construct is skipped whole or passed as it stands."""

    def __init__(self, text: str, hidden: list[str]) -> None:
        self.text = text
        self.hidden = hidden
        self.kept: list[str] = []
        self.braces = _matching_braces(text)
        self.never: set[str] = set()  # closings known not to occur again: keeps the pass linear

    def run(self) -> str:
        at = 0
        while (mark := _MARK.search(self.text, at)) is not None:
            self.kept.append(self.text[at : mark.start()])
            at = self._skip(mark)
        self.kept.append(self.text[at:])
        return "".join(self.kept)

    def _skip(self, mark: re.Match[str]) -> int:
        """Deal with the construct at `mark`; where reading goes on."""
        kind = mark.lastgroup
        if kind == "tick":
            return self._code(mark)
        if kind == "dollar":
            return self._dollars(mark)
        if kind == "open":
            return self._until(_CLOSING[mark["open"]], mark.end())
        if kind == "env":
            return self._until(f"\\end{{{mark['env']}}}", mark.end())
        if kind in ("command", "index"):
            return self._arguments(mark)
        if kind == "tag":
            _keep_prose_of_formula(mark["tag"], self.hidden)
        self.kept.append(GAP if kind == "address" else " ")
        return mark.end()

    def _find(self, closing: str, start: int) -> int:
        if closing in self.never:
            return -1
        end = self.text.find(closing, start)
        if end < 0:
            self.never.add(closing)
        return end

    def _until(self, closing: str, start: int) -> int:
        end = self._find(closing, start)
        if end < 0:
            self.kept.append(" ")
            return start
        return self._formula(start, end, len(closing))

    def _formula(self, start: int, end: int, closing: int) -> int:
        _keep_prose_of_formula(self.text[start:end], self.hidden)
        self.kept.append(GAP)
        return end + closing

    def _dollars(self, mark: re.Match[str]) -> int:
        """$..$ within a paragraph, $$..$$ anywhere. A dollar before a blank opens nothing, as in Markdown."""
        sign, start = mark["dollar"], mark.end()
        if sign == "$" and self.text[start : start + 1].isspace():
            self.kept.append(" ")
            return start
        end = self._find(sign, start)
        if end < 0 or (sign == "$" and "\n\n" in self.text[start:end]):
            self.kept.append(" ")
            return start
        return self._formula(start, end, len(sign))

    def _code(self, mark: re.Match[str]) -> int:
        """Inline code, closed by as many ticks on the same line."""
        start = mark.end()
        line_end = self._find("\n", start)
        end = self.text.find(mark["tick"], start, line_end if line_end >= 0 else start + 2000)
        if end < 0:
            self.kept.append(" ")
            return start
        body = self.text[start:end]
        if _is_sentence(body):
            self.hidden.append(body)
        self.kept.append(GAP)
        return end + len(mark["tick"])

    def _arguments(self, mark: re.Match[str]) -> int:
        """A bare command or index with its [..] and {..} arguments."""
        at = mark.end() - (1 if mark.lastgroup == "index" else 0)
        while True:
            if self.text[at : at + 1] == "[" and (end := self.text.find("]", at, at + 200)) >= 0:
                at = end + 1
            elif (end := self.braces.get(at, -1)) >= 0:
                _keep_prose_of_formula(self.text[at + 1 : end], self.hidden)
                at = end + 1
            else:
                break
        self.kept.append(GAP)
        return at if at > mark.start() + 1 else mark.end()


def _matching_braces(text: str) -> dict[int, int]:
    """Position of each opening brace -> that of its closing one; unmatched ones are left out."""
    pairs: dict[int, int] = {}
    open_at: list[int] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            open_at.append(brace.start())
        elif open_at:
            pairs[open_at.pop()] = brace.start()
    return pairs
