"""The gold prepared once: where the answer stands in it, how it reads, whether it can be judged at all."""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from .conclusion import concluded, gives_one_of_many, yes_or_no
from .dates import parse_date, parse_time
from .designation import designated_value, subject_of
from .kinds.dispatch import kind_of
from .kinds.words import Choice, choice, choice_letters, is_placeholder, is_prose
from .lexer import closing_brace
from .nodes import Node
from .reading import Reading, plain_text, read
from .rules import Rules
from .wording import tree_of_words

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_PHRASE = re.compile(
    r"(?:the\s+)?(?:final\s+|correct\s+)?(?:answer|solution|result)s?\s*(?:is|are)?\s*[:：]\s*"
    r"|(?<!of )the\s+(?:final\s+|correct\s+)?(?:answer|solution|result)s?\s+(?:is|are)\s+",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(r"answer|solution|result", re.IGNORECASE)

PROSE_WORDS = 3  # around formulas, in a gold that is none itself
_FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|\\[a-zA-Z]+", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{2,}")
_DIGITS = r"\s*([-+]?[0-9]{1,15})\s*"
_SMALL_LETTER = re.compile(r"(?<![A-Za-z])[a-z](?![A-Za-z])")  # (a, b) is a pair, not two options
INTEGER = re.compile(rf"{_DIGITS}|\s*\${_DIGITS}\$\s*|\s*\\\({_DIGITS}\\\)\s*")
_LEADING_PHRASE = re.compile(
    r"(?:\s|\\[,;:! ]|[$~])*(?:\\text\{\s*)?(?:no\s+)?(?:" + _PHRASE.pattern + ")", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PreparedGold:
    """One alternative of a gold.

    readings: the main reading first; where a comma may separate thousands or list members, both.
    words: canonical words of a gold that is no formula.  option: the letter of a multiple-choice gold.
    integer: the value of a gold that is a bare integer of few digits.
    problem: why it cannot be judged, "" where it can.  needs_sympy: only the slow path can read it.
    sentences: the tokens of the sentences that the answer was concluded from, () where it was given outright.
    subject: what it says the value of, () where it does not say.
    """

    text: str
    readings: tuple[Reading, ...]
    words: str
    option: Choice | None
    options: tuple[str, ...]
    kind: str
    integer: int | None = None
    problem: str = ""
    needs_sympy: bool = False
    sentences: tuple[str, ...] = ()
    subject: tuple[tuple[str, ...], ...] = ()

    @property
    def trees(self) -> tuple[Node, ...]:
        return tuple(reading.tree for reading in self.readings if reading.tree is not None)


def answer_in(gold: str) -> str:
    """The answer that a worked gold holds: its last box, else what stands behind #### or an answer phrase."""
    boxes = list(_BOX.finditer(gold)) if "box" in gold else []
    for match in reversed(boxes[-64:]):
        closing = closing_brace(gold, match.end() - 1, len(gold))
        if closing > 0 and gold[match.end() : closing].strip():
            return gold[match.end() : closing]
    if "####" in gold:
        return gold.rpartition("####")[2]
    phrases = list(_PHRASE.finditer(gold)) if len(gold) < 20_000 and _ANNOUNCES.search(gold) else []
    rest = gold[phrases[-1].end() :].removeprefix("}") if phrases else ""
    return rest if rest.strip(" .$") else gold


_ARROW = re.compile(r"\\(?:Rightarrow|Longrightarrow|implies|therefore)(?![a-zA-Z])|⇒|∴")


def final_statement(text: str) -> str:
    """What an answer says in the end: behind its last arrow, without a leading "the answer is"."""
    if "\\" in text or "⇒" in text or "∴" in text:
        end = 0
        for arrow in _ARROW.finditer(text):
            end = arrow.end()
        if text[end:].strip(" .$}"):
            text = text[end:]
    head = text[:40].lower()
    if "answer" in head or "solution" in head or "result" in head:
        opening = _LEADING_PHRASE.match(text)
        if opening is not None and text[opening.end() :].strip(" .$}"):
            return (
                text[opening.end() :].replace("}", "", 1) if "{" in opening.group() else text[opening.end() :]
            )
    return text


def prepare(gold: str, rules: Rules) -> PreparedGold:
    """Remembered for short golds: the answers of a group share theirs."""
    if len(gold) <= 2_000:
        return _remembered(gold, rules.gold_from)
    return _prepare(gold, rules.gold_from)


def _prepare(gold: str, gold_from: str) -> PreparedGold:
    prepared = _read_from(gold, gold_from)
    subject = subject_of(answer_in(gold)) if "=" in gold else ()
    return replace(prepared, subject=subject) if subject else prepared


def _read_from(gold: str, gold_from: str) -> PreparedGold:
    if gold_from != "auto" or INTEGER.fullmatch(gold) is not None:
        return _as_whole(gold)
    text = answer_in(gold)
    prepared = _as_whole(yes_or_no(text) or text)
    in_words = prepared.kind == "words" and any(map(str.isdigit, text))
    if (prepared.problem or in_words) and (
        conclusion := designated_value(prepared.text) or concluded(prepared.text)
    ):
        found = _as_whole(conclusion)
        return prepared if found.problem else replace(found, sentences=prepared.readings[0].tokens)
    return prepared


def _as_whole(text: str) -> PreparedGold:
    main = read(text)
    bare = INTEGER.fullmatch(text) or INTEGER.fullmatch(main.text)
    if bare is not None:
        return PreparedGold(text, (main,), "", None, (), "number", int(bare[bare.lastindex or 1]))
    if main.is_blank or is_placeholder(main.text):
        return _unverifiable(text, main, "the gold names no answer")
    if main.text.count(" ") >= 6 and is_prose(main.text):
        return _unverifiable(text, main, _why_prose(text))
    plain = plain_text(main.text)
    option = _option(plain)
    options = () if _SMALL_LETTER.search(plain) else choice_letters(plain) or ()
    if option is None and main.tree is None and not options:
        return _unparsed(text, main)
    tree = tree_of_words(main.words) if main.words else None
    kind = "choice" if option or options else _kind(main, tree)
    if kind == "words" and is_prose(main.text):
        return _unverifiable(text, main, _why_prose(text))
    return PreparedGold(text, _readings(text, main), main.words, option, options, kind)


_remembered = lru_cache(maxsize=4096)(_prepare)


def _readings(text: str, main: Reading) -> tuple[Reading, ...]:
    if "=" in text and (value := designated_value(text)):
        return (main, read(value))
    return (main, read(text, group_commas=False)) if main.grouped else (main,)


def _option(text: str) -> Choice | None:
    """A gold is an option if it is one capital letter, alone or marked."""
    found = choice(text)
    if found is None or found.written != found.letter or found.letter > "H":
        return None
    return found if found.marked or not found.text else None


def _kind(main: Reading, tree: Node | None) -> str:
    if main.words and (tree is None or main.tree is None):
        return "words" if tree is None else kind_of(tree)
    return kind_of(main.tree) if main.tree is not None else "words"


def _unverifiable(text: str, main: Reading, problem: str) -> PreparedGold:
    return PreparedGold(text, (main,), "", None, (), "none", problem=problem)


def _why_prose(text: str) -> str:
    return "the gold is one of many right answers" if gives_one_of_many(text) else "the gold is prose"


def _unparsed(text: str, main: Reading) -> PreparedGold:
    """No formula of ours: short words are compared as text, prose is not judged, the rest is for sympy."""
    if is_prose(main.text):
        return _unverifiable(text, main, _why_prose(text))
    plain = plain_text(main.text)
    if len(plain) < 60 and (parse_date(plain) is not None or parse_time(plain) is not None):
        return PreparedGold(text, (main,), main.words, None, (), "time")
    if main.words and "=" not in main.words and _mostly_letters(main.words):
        return PreparedGold(text, (main,), main.words, None, (), "words")
    if len(_WORD.findall(_FORMULA.sub(" ", text))) >= PROSE_WORDS:
        return _unverifiable(text, main, _why_prose(text))
    problem = f"the gold cannot be read: {main.refusal}"
    return PreparedGold(text, (main,), "", None, (), "unread", problem=problem, needs_sympy=True)


def _mostly_letters(words: str) -> bool:
    letters = sum(char.isalpha() or char == " " for char in words)
    return letters >= 0.7 * len(words) and "\\" not in words and any(len(word) > 2 for word in words.split())
