"""Answers that stand in no box: after "the answer is", after ####, in bold, in the last formula.

Read in that order, and only where a profile asks for it. Every pattern looks ahead a bounded way, so that
no text takes more than linear time.
"""

import re
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
    phrases = list(_PHRASE.finditer(text))
    for phrase in reversed(phrases):
        start, end = _after_phrase(text, phrase.end())
        if start < end:
            return Found(start, end, "phrase")
        if start == len(text):
            return None
    return _last(text, _HASH, "hash") or _last(text, _BOLD, "bold") or _last_formula(text)


# "answer" and its kin, a few words about it at most, and the verb or colon after which the answer stands.
_PHRASE = re.compile(
    r"(?:\b(?:answers?|final\s(?:result|value)|respuesta|réponse|antwort|lösung|ergebnis|risposta|resposta"
    r"|antwoord|svaret|svar|odpowiedź|cevap|jawaban(?:nya)?|ответ|відповідь|απάντηση)\b[^.:：=\n$]{0,60}?"
    r"(?:\b(?:is|are|be|equals|es|est|ist|lautet|è|é|är|er|to|adalah|равен|είναι)(?![\w'’])|[:：=])"
    r"|答案(?:应该|应|就)?(?:是|为|為|等于|[:：])|答[:：]|(?:答え|解答|正解)(?:は|[:：])|(?:정답|답)(?:은|[:：])"
    r"|đáp (?:án|số)\s*(?:là|[:：])|(?:الجواب|الإجابة)\s*(?:هو|هي|[:：])|उत्तर\s*(?:है|[:：])"
    r"|^[#*\s]*(?:final\s)?answer[*_]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_LEAD = re.compile(
    r"(?:[\s*:：=>\"“”'`]|\x1b\[[\d;]*m"
    r"|(?:therefore|thus|simply|just|indeed|then|now|equal to|given by)(?![\w]),?)*",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\$\$[^$]*\$\$|\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]"
    r"|(?P<end>[.!?](?!\w)|[。！？\n]|,?\s(?:because|since|which|where|as|when|so|for|after)\s)",
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


_HASH = re.compile(r"^[ \t]*####[ \t]*(?P<answer>[^\n]{1,100}?)[ \t.]*$", re.MULTILINE)
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
