"""Answers that stand in no box: after "the answer is", after ####, in bold, in the last formula.

Read in that order, and only where a profile asks for it. Every pattern looks ahead a bounded way, so that
no text takes more than linear time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Found:
    """An answer outside a box: its span in the text, and how it was found."""

    start: int
    end: int
    how: str


def find_unboxed(text: str) -> Found | None:
    """The answer of a text without a box; None where nothing looks like one, or where it is cut off."""
    for position in sorted(_ends_of_phrases(text), reverse=True):
        start, end = _after_phrase(text, position)
        if start < end:
            return Found(start, end, "phrase")
        if start == len(text):
            return None
    return _last(text, _HASH, "hash") or _last(text, _BOLD, "bold") or _last_formula(text)


def _phrase(word: str, verbs: str, filler: int = 40) -> re.Pattern[str]:
    """A word for "answer", a few words about it, and the verb or colon after which the answer stands."""
    return re.compile(
        rf"{word}(?<!\w{word})\w{{0,3}}[^.:：=\n$]{{0,{filler}}}?(?:\b(?:{verbs})(?!\w)|[:：=])"
    )


# Each begins with plain letters, which are searched for many times faster than alternatives.
_ASCII_PHRASES = (
    _phrase("answer", "is|are|be|equals", filler=60),
    re.compile(r"answer(?=[*_]{0,6}[ \t]*\n)"),  # a title
    _phrase("final result", "is|are|equals"),
    _phrase("final value", "is|equals"),
    _phrase("respuesta", "es"),
    _phrase("resultado", "es|é"),
    _phrase("antwort", "ist|lautet"),
    _phrase("ergebnis", "ist|lautet"),
    _phrase("risposta", "è"),
    _phrase("resposta", "é"),
    _phrase("antwoord", "is"),
    _phrase("svar", "är|er"),
    _phrase("cevap", "şudur"),
    _phrase("jawaban", "adalah"),
)
_OTHER_PHRASES = (
    _phrase("réponse", "est"),
    _phrase("lösung", "ist|lautet"),
    _phrase("odpowiedź", "to"),
    _phrase("ответ", "равен|это"),
    _phrase("відповідь", "дорівнює|це"),
    _phrase("απάντηση", "είναι"),
    re.compile(r"答案(?:应该|应|就)?(?:是|为|為|等于|[:：])"),
    re.compile(r"答(?:え|[:：])(?:(?<=え)(?:は|[:：])|(?<=[:：]))"),
    re.compile(r"解答(?:は|[:：])"),
    re.compile(r"답(?:은|[:：])"),
    re.compile(r"đáp (?:án|số)\s?(?:là|[:：])"),
    re.compile(r"الجواب\s?(?:هو|هي|[:：])"),
    re.compile(r"الإجابة\s?(?:هو|هي|[:：])"),
    re.compile(r"उत्तर\s?(?:है|[:：])"),
)


def _ends_of_phrases(text: str) -> Iterator[int]:
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter that becomes two would shift what follows
        lowered = text
    for pattern in _ASCII_PHRASES if text.isascii() else _ASCII_PHRASES + _OTHER_PHRASES:
        for match in pattern.finditer(lowered):
            yield match.end()


_LEAD = re.compile(
    r"(?:[\s*:：=>\"“”'`]|\x1b\[[\d;]*m"
    r"|(?:therefore|thus|simply|just|indeed|then|now|about|approximately|equal to|given by)(?!\w),?)*",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\$\$[^$]*\$\$|\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]"
    r"|(?P<end>[.!?](?!\w)|[。！？\n]"
    r"|,?\s(?:because|since|which|where|as|when|so|for|after|and\s(?:we|i|so|this|that|it))\s)",
    re.DOTALL | re.IGNORECASE,
)
_TAIL = re.compile(r"(?:[\s*.,;:!?\"“”'`。，；]|\x1b\[[\d;]*m|です|である|だ|입니다|이다|है)+\Z")


def _after_phrase(text: str, position: int) -> tuple[int, int]:
    """The span of the answer that follows a phrase; empty, at its place, where none does."""
    start = _match_end(_LEAD, text, position)
    limit = min(len(text), start + _LONGEST)
    end = limit
    for step in _STEP.finditer(text, start, limit):
        if step["end"]:
            end = step.start()
            break
    tail = _TAIL.search(text, max(start, end - 40), end)
    return start, tail.start() if tail else end


def _match_end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


_HASH = re.compile(r"####(?<!#####)[ \t]*(?P<answer>[^\n#]{1,100}?)[ \t.]*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*\s?(?P<answer>[^*\n]{1,120}?)[\s.]?\*\*(?!\w)")

_TITLE = re.compile(
    r"(?:step|case|part|method|example|problem|question|note|solution|answer|final|section|claim|lemma)\b"
    r"|\d+[.)]\s*[^\W\d]|.*:\Z",
    re.IGNORECASE,
)
_VALUE = re.compile(r".*(?:\d|\$|\\)|[A-Z]\Z|(?:yes|no|true|false)\Z", re.IGNORECASE)


def _last(text: str, pattern: re.Pattern[str], how: str) -> Found | None:
    """The last match whose answer is a value, not a title."""
    found = None
    for match in pattern.finditer(text):
        answer = match["answer"]
        if _VALUE.match(answer) and not _TITLE.match(answer):
            found = Found(*match.span("answer"), how)
    return found


def _last_formula(text: str) -> Found | None:
    spans = (_last_in_dollars(text), _last_between(text, r"\(", r"\)"), _last_between(text, r"\[", r"\]"))
    last = max((span for span in spans if span), key=lambda span: span[1], default=None)
    return Found(*last, "formula") if last else None


def _last_between(text: str, opening: str, closing: str) -> tuple[int, int] | None:
    end = _rfind(text, closing, len(text))
    while end >= 0:
        start = _rfind(text, opening, end)
        if start < 0:
            return None
        if text[start + 2 : end].strip():
            return start + 2, end
        end = _rfind(text, closing, start)
    return None


def _rfind(text: str, delimiter: str, end: int) -> int:
    r"""Last place of a delimiter; in \\[4pt] a line ends and no formula begins."""
    place = text.rfind(delimiter, 0, end)
    while place > 0 and text[place - 1] == "\\":
        place = text.rfind(delimiter, 0, place)
    return place


def _last_in_dollars(text: str) -> tuple[int, int] | None:
    end = text.rfind("$")
    while end > 0:
        width = 2 if text[end - 1] == "$" else 1
        close = end + 1 - width
        start = text.rfind("$" * width, 0, close)
        if start < 0:
            return None
        content = text[start + width : close]
        if content.strip() and (width == 2 or _is_inline(content, text[end + 1 : end + 2])):
            return start + width, close
        end = text.rfind("$", 0, end)
    return None


def _is_inline(content: str, after: str) -> bool:
    """A formula touches its dollars; in "$5 and $7" they are prices."""
    return not (content[0].isspace() or content[-1].isspace() or content.endswith("\\") or after.isdigit())
