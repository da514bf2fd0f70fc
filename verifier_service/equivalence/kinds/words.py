"""Answers that are words: canonical text, families of meaning, prose, placeholders, option letters.

Strings in, strings out. Everything is matched whole; a phrase inside a longer one never counts
("not a prime number" is no prime number, the C of "CUBE" is no option).
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..numerals import number_words
from . import phrases

MAX_FAMILY_CHARS = 100  # no phrase of the tables is longer
PROSE_WORDS = 6
PROSE_CJK_CHARS = 20

_ARTICLES = frozenset(("a", "an", "the"))
_FOREIGN_ARTICLES = frozenset(phrases.FOREIGN_ARTICLES.split())
_NO_NOUNS = frozenset(phrases.NO_NOUNS.split())
_HYPHENABLE = frozenset(phrases.HYPHENABLE.split())
_DASHES = str.maketrans({"‐": "-", "‑": "-", "’": "'", "‘": "'", "´": "'", "＇": "'", "\u00a0": " "})
_OPENING = " \t\r\n\"'`“”«»„‘’「」『』"
_ENDING = _OPENING + ".,;:。．，、；："
_LETTERS = r"[^\W\d_]"
_HYPHENED = re.compile(rf"(?<!{_LETTERS})({_LETTERS}+)-(?={_LETTERS})")


def _is_word(token: str) -> bool:
    return len(token) >= 2 and token.isalpha() and token.casefold() not in _NO_NOUNS


def _without_articles(tokens: list[str]) -> list[str]:
    """Drop articles where a noun follows; "a" that may be a name stays ("plan A", "A and B")."""
    if len(tokens) < 2:
        return tokens
    kept: list[str] = []
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        lower = token.casefold()
        if lower == "the" and following:
            continue
        if lower in _ARTICLES and _is_word(following) and (token != "A" or place == 0):
            continue
        if place == 0 and lower in _FOREIGN_ARTICLES and len(following) > 2 and following.isalpha():
            continue
        kept.append(token)
    return kept


def _hyphens_to_spaces(text: str) -> str:
    """ "non-zero" and "non zero" are one word; "a-b" and "ab-cd" stay differences."""

    def spaced(match: re.Match[str]) -> str:
        left = match[1]
        right = text[match.end() : match.end() + 4]
        wordlike = len(left) >= 4 or (len(right) == 4 and right.isalpha())
        return left + (" " if wordlike or left.casefold() in _HYPHENABLE else "-")

    return _HYPHENED.sub(spaced, text) if "-" in text else text


@lru_cache(maxsize=4096)
def canonical_text(text: str) -> str:
    """Case folded, spaces collapsed, articles, quotes, final punctuation and the hyphens of words dropped."""
    plain = _hyphens_to_spaces(text.translate(_DASHES).strip(_OPENING).rstrip(_ENDING))
    return " ".join(_without_articles(plain.split())).casefold()


def same_text(gold: str, answer: str) -> bool:
    """Whether two short texts are the same words, or words of the same meaning.

    Spaces between letters do not count (TeX drops them in math mode); a space between digits does.
    """
    if canonical_text(gold) == canonical_text(answer):
        return True
    if _closed_up(canonical_text(gold)) == _closed_up(canonical_text(answer)):
        return True
    return same_family(family(gold), family(answer))


_SAYS = re.compile(r"(?:it|this|that|(?:the|its) [a-z]+(?: [a-z]+){0,3}) (?:is|are) (?P<what>[a-z].*)")


def says_of_its_subject(gold: str, answer: str) -> bool:
    """ "The graph is a parabola" says "parabola". One side only: of whom it is said may be the answer."""
    first, second = (
        _SAYS.fullmatch(text.translate(_DASHES).strip(_OPENING).lower()) for text in (gold, answer)
    )
    if (first is None) == (second is None):
        return False
    said, other = (first["what"], answer) if first is not None else (second["what"] if second else "", gold)
    return len(said) <= MAX_FAMILY_CHARS and canonical_text(said) == canonical_text(other)


_JOINTS = re.compile(r",? and |, ?|;\s?")


def same_names(gold: str, answer: str) -> bool:
    """Whether two lists of short names are the same in another order."""
    ours, theirs = (sorted(_JOINTS.split(canonical_text(text))) for text in (gold, answer))
    return len(ours) > 1 and ours == theirs and all(name and name.count(" ") < 3 for name in ours)


_SPACE_AT_LETTER = re.compile(r"(?<=[^\W\d_]) +| +(?=[^\W\d_])")


def _closed_up(text: str) -> str:
    return _SPACE_AT_LETTER.sub("", text)


# Families


def _fold(text: str) -> str:
    """The key under which a phrase is kept: canonical text without accents, contractions written out."""
    key = canonical_text(text)
    if key.isascii():
        return key
    parts = unicodedata.normalize("NFD", key)
    return "".join(ch for ch in parts if not unicodedata.combining(ch))


def _phrase_table() -> dict[str, str]:
    table: dict[str, str] = {}
    for name, listed in phrases.PHRASES.items():
        for phrase in listed.split("|"):
            known = table.setdefault(_fold(phrase), name)
            if known != name:
                raise ValueError(f"phrase {phrase!r} stands in two families, {known} and {name}")
    return table


_FAMILY_OF = _phrase_table()
_PROBLEM = r"(?:this |given )?(?:equation|system|system of equations|inequality|problem|statement)"
_SUBJECT = (
    rf"(?:(?:it|this|that|{_PROBLEM}|so|hence|therefore|thus)(?: also)? )?"
    r"(?:has |have |there (?:is|are|exists|exist) |we have )?"
)
_TAIL = (
    rf"(?: (?:exist|exists|at all|possible|to {_PROBLEM}"
    r"|in (?:real numbers|reals|integers|real|r|ℝ)|over (?:reals|real numbers|integers|r|ℝ)|for x|of x))*"
)
_NO_SOLUTION = re.compile(
    rf"{_SUBJECT}no (?:(?:{phrases.SOLUTION_ADJECTIVES}) )*(?:{phrases.SOLUTION_NOUNS}){_TAIL}"
)
_NO_SUCH = re.compile(r"(?:there (?:is|are|exists|exist) )?no such [a-z]+(?: [a-z]+)?(?: exists?)?")
_NOT_EXIST = r"(?:does not|doesn't|do not|don't|cannot|can't) exist"
_MISSING = re.compile(
    rf"(?:{phrases.MISSING_NOUNS}) (?:(?P<dne>{_NOT_EXIST})|(?P<undefined>is (?:undefined|not defined)))"
)
_SOLUTIONS_MISSING = re.compile(
    rf"(?:real |integer |such )?(?:solutions?|roots?|real solutions) {_NOT_EXIST}"
)
_MANY = re.compile(
    rf"(?:there (?:is|are) |it has |(?:{_PROBLEM}) has |has )?"
    r"(?:infinitely many|infinite|infinite (?:number|amount) of|infinity many|an infinity of|unlimited) "
    rf"(?:(?:real|integer|positive|rational|complex) )?(?:{phrases.COUNTED_NOUNS}){_TAIL}"
)


@lru_cache(maxsize=4096)
def family(text: str) -> str | None:
    """The family of meaning that a whole phrase belongs to (a constant of phrases.py), or None."""
    if len(text) > MAX_FAMILY_CHARS:
        return None
    key = _fold(text)
    known = _FAMILY_OF.get(key)
    if known is not None or " " not in key:
        return known
    if _NO_SOLUTION.fullmatch(key) or _NO_SUCH.fullmatch(key) or _SOLUTIONS_MISSING.fullmatch(key):
        return phrases.NO_SOLUTION
    if _MANY.fullmatch(key):
        return phrases.INFINITELY_MANY
    missing = _MISSING.fullmatch(key)
    if missing is None:
        return None
    return phrases.DOES_NOT_EXIST if missing["dne"] else phrases.UNDEFINED


def same_family(first: str | None, second: str | None) -> bool:
    """Whether two families say the same thing: one and the same, or akin (phrases.AKIN)."""
    if first is None or second is None:
        return False
    return first == second or frozenset((first, second)) in phrases.AKIN


# Prose and placeholders

_FORMULA = re.compile(r"\$[^$]*\$|\\\([^()\\]*\\\)|\\[A-Za-z]+")
_SEPARATOR = re.compile(r"[,;\n，；、]|\band\b|\bor\b")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PUNCTUATION = ".,;:!?'\"()[]“”‘’。，；：！？（）"


def _words_in_runs(segment: str) -> int:
    """Words that stand beside another word; lone ones between operators are names in a formula."""
    total = run = 0
    for token in segment.split():
        core = token.strip(_PUNCTUATION)
        if len(core) >= 2 and core.replace("-", "").replace("'", "").replace("’", "").isalpha():
            run += 1
            total += run if run == 2 else run > 2
        elif not (len(core) <= 1 or core.isalnum()) or core in ("=", "+", "-"):
            run = 0
    return total


def is_prose(text: str) -> bool:
    """Whether a text is sentences rather than an answer: more than about six words that no table knows.

    A list of short names is no prose, however long. The text is expected without \\text wrappers;
    what remains of TeX is not counted.
    """
    if len(text) < 2 * PROSE_WORDS:
        return False
    plain = _FORMULA.sub(" $ ", text)
    if len(_CJK.findall(plain)) > PROSE_CJK_CHARS:
        return family(text) is None and number_words(text) is None
    words = [_words_in_runs(segment) for segment in _SEPARATOR.split(plain)]
    if _words_in_runs(plain) <= PROSE_WORDS or max(words) <= 2:
        return False
    return family(text) is None and number_words(text) is None


_MARKUP = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt)|mbox|hbox|boxed|fbox|emph|underline|rm|bf|it|large|Large"
    r"|left|right|displaystyle|quad|qquad)(?![A-Za-z])|\\[,;:! ()\[\]]|</?[a-zA-Z]{1,10}>|[{}$*`#~\s]"
)
_UNKNOWN_SHAPES = frozenset(("n/a", "n.a", "n\\a", "na/", "na", "nan", "null"))
_NO_CONTENT = ".,;:!?-_–—…'\"()[]<>"
_WORDS_ONLY = re.compile(r"[^\W\d_]+(?:[\s.,;:!?'\"()\[\]<>*_\-–—…#/]+[^\W\d_]+)*")
_PLACEHOLDER_KEYS = frozenset(
    " ".join(listed.casefold().split()) for listed in phrases.PLACEHOLDERS.split("|")
)
_PLACEHOLDERS_CLOSED = frozenset(key.replace(" ", "") for key in _PLACEHOLDER_KEYS)
_NOT_LETTERS = re.compile(r"[\W\d_]+")


@lru_cache(maxsize=4096)
def is_placeholder(gold: str) -> bool:
    """Whether a gold names no answer: empty, N/A, nan, "see figure", "proof", "answers may vary".

    Judged by its words once markup is stripped, since every wrapper hides one. "None" is an answer.
    """
    bare = _MARKUP.sub(" ", gold)
    shape = "".join(bare.split())
    core = shape.strip(_NO_CONTENT)
    if not core:
        return "<" not in shape and ">" not in shape
    if core.casefold() in _UNKNOWN_SHAPES and (core.isupper() or core.casefold() != "na"):
        return True
    words = _NOT_LETTERS.sub(" ", bare[:400].casefold()).split()
    if not words:
        return False
    if words[0] in phrases.SEE_WORDS and len(words) > 1:
        return True
    if words[0].startswith(phrases.SEE_PREFIXES_CJK):
        return True
    if words[0] in ("figure", "graph", "diagram", "image", "picture") and len(words) == 1:
        return True
    if _WORDS_ONLY.fullmatch(bare.strip(_NO_CONTENT + " \t\r\n。，；：！？（）")) is None:
        return False
    kept = " ".join(words)
    return kept in _PLACEHOLDER_KEYS or "".join(words) in _PLACEHOLDERS_CLOSED


# Options of a multiple-choice question


@dataclass(frozen=True, slots=True)
class Choice:
    """An option that was named.

    letter: A to J, always a capital.  text: what stands after the mark ("17" in "(C) 17"), "" for none.
    marked: something beside the letter says that it is an option: parentheses, a mark, the word "option".
    written: the letter as written, so that a caller can tell b from B.
    """

    letter: str
    text: str
    marked: bool
    written: str


_LEADS = (
    r"(?:(?:the )?(?:correct |final )?(?:option|choice|answer|alternative|opción|respuesta|choix|réponse|"
    r"antwort|вариант|ответ|alternativa)(?: is| choice| choice is| option| es| est| ist)?\s*:?\s*"
    r"|(?:正确答案|答案|正确选项|选项|选择|选)\s*(?:是|为|：|:)?\s*)"
)
_CHOICE = re.compile(
    rf"(?P<lead>{_LEADS})?"
    r"(?:(?P<open>[(\[（【])\s*(?P<inner>[A-Ja-j])\s*[)\]）】](?P<after>[.:：．、]?)"
    r"|(?P<letter>[A-Ja-j])(?P<mark>[.)）．、:：]|(?= ?$))(?P<close>[.:：]?))"
    r"(?P<gap>\s*)(?P<text>.*)",
    re.DOTALL | re.IGNORECASE,
)
_OTHER_OPTION = re.compile(r"(?:^|[\s,;/，；、(（\[])([A-J])(?:[).:）：．、\]](?=\s|$|[\d$\\])|\s*$)")
_CONNECTED = re.compile(r"(?:or|and|not|nor|&|/|,|;|或|和|，|、)(?![A-Za-z]{2})", re.IGNORECASE)
_ADJACENT = re.compile(r"[\d$\\\u3040-\u9fff]|[A-Za-z]{2}|[+\-−]?\d")
MAX_CHOICE_CHARS = 400


@lru_cache(maxsize=4096)
def choice(text: str) -> Choice | None:
    """The option that a whole text names: "B", "(b)", "C: the median", "(C) 17", "Option B"; else None.

    A text that goes on to a second option names none, so that "B or C" and "B. 5 or C. 6" are not options.
    """
    text = text.strip()
    if not text or len(text) > MAX_CHOICE_CHARS or not (text[0].isalpha() or text[0] in "([（【"):
        return None
    found = _CHOICE.fullmatch(text.rstrip(" 。") if len(text) > 1 else text)
    if found is None:
        return None
    written = found["inner"] or found["letter"]
    rest = found["text"].strip()
    marked = bool(found["lead"] or found["open"] or found["mark"])
    if rest and not _heads_its_text(found, written, rest):
        return None
    return Choice(written.upper(), rest, marked, written)


def _heads_its_text(found: re.Match[str], written: str, rest: str) -> bool:
    """Whether a mark is the head of an option's text, and not a function, a ratio or one of two options."""
    if not written.isupper() or _CONNECTED.match(rest):
        return False
    if any(other[1] != written for other in _OTHER_OPTION.finditer(rest)):
        return False
    if not found["gap"]:
        if found["mark"] in (":", "：") and found["close"] == "":
            return False
        return _ADJACENT.match(rest) is not None
    return len(rest) > 1 or not rest.isalpha()


def choice_letter(text: str) -> str | None:
    """The capital letter of the option that the text names, or None."""
    named = choice(text)
    return named.letter if named is not None else None


_OPTION = r"[(\[（]?[A-Ja-j][)\]）.]?"
_SEVERAL = re.compile(
    rf"{_OPTION}(?:\s*(?:[,;&，；、和与及]|and|y|et|und|и)\s*(?:and\s+)?{_OPTION})+"
    r"|[A-J](?:\s+[A-J])+|[(（][A-J][)）](?:\s*[(（][A-J][)）])+"
)
_TOGETHER = re.compile(r"[A-J]{2,10}")
_LETTER = re.compile(r"(?<![A-Za-z])[A-Ja-j](?![A-Za-z])")


@lru_cache(maxsize=4096)
def choice_letters(text: str) -> tuple[str, ...] | None:
    """Several options, sorted: "A, C", "A and C", "(A)(C)", "A，C", and "AC" run together in rising order.

    None for a single letter, a repeated one, or letters that make a word ("BAD").
    """
    text = text.strip("\\{}.。 \t\n")
    if len(text) > 80 or not (text[:1].isalpha() or text[:1] in "([（"):
        return None
    if _TOGETHER.fullmatch(text):
        rising = all(first < second for first, second in pairwise(text))
        return tuple(text) if rising else None
    if not _SEVERAL.fullmatch(text):
        return None
    letters = [letter.upper() for letter in _LETTER.findall(text)]
    return tuple(sorted(letters)) if len(set(letters)) == len(letters) > 1 else None
