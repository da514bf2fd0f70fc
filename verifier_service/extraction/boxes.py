"""Boxes in a text: `\\boxed{...}`, `\\fbox{...}`, `\\boxed 5`. One pass, however the braces stand."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# A pattern that begins with plain letters is searched for many times faster than one with a backslash.
_COMMAND = re.compile(r"box(?:(?<=\\box)ed|(?<=\\fbox))(?![A-Za-z])\s*")
# The backslash may be doubled, as in text that went through JSON.
_FRAME = re.compile(r"\\{1,2}(?:boxed|fbox)(?![A-Za-z])\s*")
_TOKEN = re.compile(r"\\?\\(?:boxed|fbox)(?![A-Za-z])\s*\{?|\\.|[{}]", re.DOTALL)

# What may follow a bare `\boxed`: a number, a formula that begins with a command, or a letter of its own
# ("as \boxed asks for" names the command and boxes nothing).
_BARE = re.compile(
    r"[-+−±(\[]*\.?\d"
    r"|[-+−±]?\\(?!boxed|fbox|[()\[\]\s])"
    r"|[-+−±]?[A-Za-z](?![A-Za-z]|\s+[a-z])"
)
_BARE_TOKEN = re.compile(r"(?P<stop>\\(?:[()\[\]\s]|boxed|fbox)|[\s$])|\\.|[{}]", re.DOTALL)
_LONGEST_BARE = 100

# Nothing, as TeX writes it, and the dots, dashes and squares that hold a place in an instruction.
_NOTHING = re.compile(
    r"(?:[\s~${}.…?_]|&nbsp;|\\[,;:!>_\s()\[\]\\]|\\[hv]space\*?\s*\{[^{}]*\}"
    r"|\\(?:quad|qquad|enspace|thinspace|medspace|thickspace|negthinspace|space|hfill|strut|displaystyle"
    r"|text|mbox|mathrm|underline|ldots|dots|cdots|cdot|square|Box)(?![A-Za-z]))+"
)
_PHANTOM = re.compile(r"\\[hv]?phantom\s*\{")
_WRAPPING = re.compile(r"(?:[\s$]|\\[()\[\]])*")


class Box(NamedTuple):
    """A complete box: where it stands, where its content stands, and the content to be read."""

    start: int
    end: int
    content_start: int
    content_end: int
    text: str


class Boxes(NamedTuple):
    """The complete boxes that stand in no other, in order.

    cut_at: where the last box begins that never closes, None where all do.
    """

    complete: tuple[Box, ...]
    cut_at: int | None


class _Span(NamedTuple):
    start: int
    end: int
    content_start: int
    content_end: int


def find_boxes(text: str) -> Boxes:
    """All boxes of a text. Escaped braces do not count; `%` is a percent sign, not a comment."""
    spans: list[_Span] = []
    cut_at = None
    position = 0
    while command := _COMMAND.search(text, position):
        start, opening = _start_of_command(text, command.start()), command.end()
        if text.startswith("{", opening):
            found, unclosed = _braced(text, start)
            spans += found
            if unclosed is not None:  # the scan went to the end of the text
                cut_at = unclosed
                break
            position = found[-1].end
        elif opening == len(text):
            cut_at = start
            break
        else:
            position = _end_of_bare(text, opening)
            if position > opening:
                spans.append(_Span(start, position, opening, position))
    return Boxes(tuple(_outermost(text, sorted(spans))), cut_at)


def _start_of_command(text: str, box: int) -> int:
    """Where the command begins whose "box" is found: before its f and its one or two backslashes."""
    start = box - 1 if text[box - 1] == "\\" else box - 2
    return start - 1 if text.startswith("\\", max(0, start - 1), start) else start


def is_blank_tex(text: str) -> bool:
    """Whether TeX would show nothing of it, or nothing but a place left free."""
    position = 0
    while position < len(text):
        if nothing := _NOTHING.match(text, position):
            position = nothing.end()
        elif phantom := _PHANTOM.match(text, position):
            position = _after_group(text, phantom.end())
        else:
            return False
    return True


def _braced(text: str, start: int) -> tuple[list[_Span], int | None]:
    """The boxes within the one at `start`, itself last; or, if it never closes, those up to the end of the
    text and where the last open one begins."""
    spans: list[_Span] = []
    open_braces: list[tuple[int, int] | None] = []  # a box: where it and its content start
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        if token == "{":
            open_braces.append(None)
        elif token == "}":
            if box := open_braces.pop():
                spans.append(_Span(box[0], match.end(), box[1], match.start()))
            if not open_braces:
                return spans, None
        elif token[-1] == "{" and len(token) > len(r"\{"):
            open_braces.append(match.span())
    return spans, next(box[0] for box in reversed(open_braces) if box)


def _end_of_bare(text: str, opening: int) -> int:
    """End of the argument that a box without braces takes; `opening` where it takes none."""
    if not _BARE.match(text, opening):
        return opening
    depth = 0
    limit = min(len(text), opening + _LONGEST_BARE)
    for match in _BARE_TOKEN.finditer(text, opening, limit):
        token = match[0]
        if token == "{":
            depth += 1
        elif token == "}" and depth:
            depth -= 1
        elif not depth and (token == "}" or match["stop"]):
            return opening + len(text[opening : match.start()].rstrip(".,;:!?"))
    if depth or limit < len(text):
        return opening
    return opening + len(text[opening:].rstrip(".,;:!?"))


def _outermost(text: str, spans: list[_Span]) -> Iterator[Box]:
    """The boxes that stand in no other; of a box in a box, the content of the inner one."""
    index = 0
    while index < len(spans):
        outer = core = spans[index]
        index += 1
        while index < len(spans) and _wraps(text, core, spans[index]):
            core = spans[index]
            index += 1
        has_more = index < len(spans) and spans[index].start < core.content_end
        while index < len(spans) and spans[index].start < outer.end:
            index += 1
        yield _box(text, outer, core, has_more)


def _wraps(text: str, outer: _Span, inner: _Span) -> bool:
    """Whether the outer box holds the inner one and nothing else."""
    return (
        inner.end <= outer.content_end
        and _WRAPPING.fullmatch(text, outer.content_start, inner.start) is not None
        and _WRAPPING.fullmatch(text, inner.end, outer.content_end) is not None
    )


def _box(text: str, outer: _Span, core: _Span, has_more: bool) -> Box:
    content = text[core.content_start : core.content_end]
    start = core.content_start + len(content) - len(content.lstrip())
    content = content.strip()
    end = start + len(content)
    if has_more:  # boxes beside other text, as in x = \boxed{5}: their braces stay, the frame goes
        content = _FRAME.sub("", content)
    return Box(outer.start, outer.end, start, end, content)


def _after_group(text: str, position: int) -> int:
    """The place after the brace that closes the group whose content begins at `position`."""
    depth = 1
    for match in _TOKEN.finditer(text, position):
        if match[0][-1] == "{" and match[0] != r"\{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if not depth:
                return match.end()
    return len(text)
