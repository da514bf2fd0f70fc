r"""What a text of sentences concludes: one value, or yes or no. For golds that are worked solutions.

Add them. Therefore the sum is $7$.            7
Yes, because its rank is full.                 Yes
The sum is $7$ and the product is $12$.        nothing: two values
One possible basis is $(1, 0)$.                nothing: other answers are as right
"""

import re
from dataclasses import dataclass

from .reading import plain_text
from .text import strip_wrappers, without_outer_spaces
from .units import parse_unit

MAX_CHARS = 6_000
MAX_ANSWER_CHARS = 400

# Formulas are masked by private characters, so that sentences and words can be told in what is left.
_FIRST = 0xE000
_MAX_FORMULAS = 400
_FORMULA = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$([^$]+)\$|\\\[((?:(?!\\\[).){1,2000}?)\\\]|\\\(((?:(?!\\\().){1,2000}?)\\\)",
    re.DOTALL,
)
_F = "[\ue000-\ue18f]"
_SENTENCE_END = re.compile(rf"(?<=[.!?])\s+|\n\s*\n(?![a-z])|(?<={_F})\s+(?=[A-Z])")
_WRAPPER = re.compile(r"\s*\\(?:text|mathrm|textbf)\s*\{([^{}]*)\}\s*")

_VALUE = rf"(?P<value>{_F}(?:,?(?: and| or)? {_F}){{0,9}}|-?\d+(?:\.\d+)?|[\"“][^\"”]+[\"”])(?P<unit>\s+[a-z]{{1,12}})?"
_THEN = r"(?:\s+(?:then|just|therefore|thus|simply|now))?"
_SUBJECT = r"(?:the|its|his|her|this|it)\b"
_VERB = rf"(?:is|are|equals|(?:is|are){_THEN}\s+(?:equal to|given by|at)|reduces to|simplifies to|takes)"
_STATEMENT = re.compile(
    rf"(?:^|(?<=[\s,;{_F[1:-1]}]))(?P<subject>{_SUBJECT}[^.,;:]{{0,80}}?)\s{_VERB}"
    rf"(?:\s+(?:the|a)\s+[a-z]+(?:\s+given\s+by)?)?(?:\s+the\s+equation)?{_THEN}\s*:?\s*{_VALUE}\s*$",
    re.IGNORECASE,
)
_DERIVED = re.compile(
    rf"(?:^|(?<=[\s,;{_F[1:-1]}]))"
    rf"(?:so|thus|therefore|hence|which gives|this gives|we (?:get|have|obtain|find))\s*,?\s*{_VALUE}\s*$",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"(?:[Pp]lain ?text|[Mm]essage|[Ww]ord)(?:\s+is|:)\s*[\"“](?P<value>[^\"”]{1,80})[\"”]\W*$"
)
_STATED = re.compile(
    rf"\b(?P<subject>{_SUBJECT}[^.,;:]{{0,80}}?)\s(?:is|are|equals){_THEN}\s*:?\s*{_VALUE}", re.I
)
_NEXT_PART = re.compile(r"\band\s+(?:the|its)\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|equals)\b", re.IGNORECASE)
_WORDS_LEAD = re.compile(
    r"\\text\s*\{\s*(?:the|its)\s[^{}]{1,80}\s(?:is|are|equals)\s*:?\s*\}(?P<value>.+)",
    re.IGNORECASE | re.DOTALL,
)
_WORDS_FOLLOW = re.compile(
    r"(?P<value>(?=[^$]*[=\d])[^$]{1,200}?)\s{0,3}(?:\\text\s*\{)?\s(?:is|are) (?:the|a|an)\s[A-Za-z ]{1,60}\}?\s*\.?"
    r"|\$(?P<formula>[^$]+)\$ (?:is|are) (?:the|a|an)\s[A-Za-z ]{1,60}\.?",
    re.IGNORECASE,
)
_ONE_OF_MANY = re.compile(
    r"\b(?:eigenvectors?|bas[ei]s|axes|(?:in)?dependent|for example|for instance|such as|possible|one is|parameters?"
    r"|arbitrary|equivalently|denotes?)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{4,}")
_YES_OR_NO = re.compile(
    r"(?P<head>yes|no|true|false)(?:\s*[.,;:!]\s+|(?<=yes)\s+(?=\$))(?P<rest>\S.*)", re.IGNORECASE | re.DOTALL
)
_MAY_BE_YES_OR_NO = re.compile(r"[^A-Za-z]*(?:\\text\w*\W*)?(?:yes|no|true|false)\W+", re.IGNORECASE)
_WAVERS = re.compile(
    r"^(?:or|and|but|unless|if(?! not\b)|only|except|maybe|not|wait)\b|\b(?:maybe|otherwise|actually|either)\b",
    re.IGNORECASE,
)
_TAKES_BACK = {
    "yes": re.compile(r"\b(?:no|false|not true)\s*(?:[.,;:!?]|$)|(?:\bnot|n't)\s*(?:[.!?]|$)", re.IGNORECASE),
    "no": re.compile(r"\b(?:yes|true)\s*(?:[.,;:!?]|$)", re.IGNORECASE),
}
_TAKES_BACK |= {"true": _TAKES_BACK["yes"], "false": _TAKES_BACK["no"]}
_LEAD = re.compile(r"(?:so|thus|therefore|hence|finally)?\s*,?\s*", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:not|never|neither|nor|cannot|no|or|either|if|unless|except|but|false|wrong|incorrect|untrue|maybe|perhaps"
    r"|possibly|could|may|might|would|should|rather|instead|otherwise|excluding|without)\b|n't\b",
    re.IGNORECASE,
)
_LETTER_NAME = re.compile(
    r"\\?(?:(?:mathbf|vec|mathrm|overrightarrow|hat)\s*\{?\s*)?\\?[^\W\d_]+\s*\}?(?:\^\{\\prime\}|')*"
    r"(?:_(?:\w|\{[\w,\s]+\}))?(?:\([a-z](?:,\s*[a-z])*\))?\s*"
)
_VECTOR_NAME = re.compile(
    r"\[.{1,20}\]_.*|(?:\\left)?[\[(]\s*\\begin.*|\([a-z](?:,\s*[a-z])+\)\s*", re.DOTALL
)
_OPENS = re.compile(
    r"\\begin|\\end|\\?[{}()\[\]]|=|,|;|[<>]|\\n?eq?\b|\\[gl]eq?(?:slant)?\b|\\approx|\\equiv"
)
_EQUATION_ASKED = re.compile(
    r"\b(?:equations?|lines?|planes?|hyperplane|circle|curve|locus|solutions?)\b", re.IGNORECASE
)
_LEADS_ON = re.compile(
    r"(?:\b(?:is|are|by|get|have|obtain|gives|so|thus|therefore|hence|to|with)|:)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences with their formulas masked. formulas: by their mask."""

    masked: list[str]
    formulas: dict[str, str]

    def shown(self, value: str) -> str:
        return "".join(self.formulas.get(char, char) for char in value)


def concluded(text: str) -> str:
    """The one value, or yes or no, that the sentences of a text come to; "" where there is none or more than one."""
    if len(text) > MAX_CHARS:
        return ""
    for _ in range(4):
        text = without_outer_spaces(text.strip(" \t\r\n~"))
    told = _WORDS_LEAD.fullmatch(text) or _WORDS_FOLLOW.fullmatch(text)
    if told is not None:
        return told[told.lastindex or 0]
    quoted = _QUOTED.search(text)
    if quoted is not None:
        return f"\\text{{{quoted['value']}}}"
    if _ONE_OF_MANY.search(text):
        return ""
    found = _sentences(text)
    return _conclusion(found) if found is not None else ""


def stated(text: str) -> str:
    """What an answer states in one sentence and nothing beside; "" where it says more, so that hedging gains nothing.

    The area is $12$.                      12
    The sum is $6$. The sum is $5$.        nothing
    If it is even, the value is $5$.       nothing
    """
    if len(text) > MAX_ANSWER_CHARS:
        return ""
    value = concluded(text)
    return value if value and not _UNSURE.search(text) and _is_one_statement(text) else ""


def _is_one_statement(text: str) -> bool:
    text = text.strip(" \t\r\n~")
    if _QUOTED.search(text) is not None:
        return sum(map(text.count, '"“”')) == 2 and ":" not in text[:-1].partition(":")[2]
    if _WORDS_LEAD.fullmatch(text) or _WORDS_FOLLOW.fullmatch(text):
        return len(_IS.findall(text)) == 1
    found = _sentences(text)
    if found is None or len(found.masked) != 1:
        return False
    sentence = found.masked[0]
    match = _STATEMENT.search(sentence) or _DERIVED.search(sentence)
    return (
        match is not None
        and _LEAD.fullmatch(sentence, 0, match.start()) is not None
        and len(_IS.findall(sentence)) <= 1
    )


def yes_or_no(text: str) -> str:
    """ "Yes" of "Yes, because ..."; "" where the text goes on to take it back."""
    if not _MAY_BE_YES_OR_NO.match(text[:40]) or len(text) > MAX_CHARS:
        return ""
    found = _YES_OR_NO.fullmatch(plain_text(strip_wrappers(text)))
    if found is not None and not any(map(_tells_why, _WORD.findall(_FORMULA.sub(" ", found["rest"])))):
        return ""  # "Yes, 5": an answer of two parts
    if (
        found is None
        or _WAVERS.search(found["rest"])
        or _TAKES_BACK[found["head"].lower()].search(found["rest"])
    ):
        return ""
    return found["head"]


def _tells_why(word: str) -> bool:
    return parse_unit(word) is None


def gives_one_of_many(text: str) -> bool:
    """Does a text say, or its kind of answer imply, that other answers are as right?"""
    return _ONE_OF_MANY.search(text) is not None


def _sentences(text: str) -> Sentences | None:
    formulas: dict[str, str] = {}

    def mask(match: re.Match[str]) -> str:
        inner = next(part for part in match.groups() if part is not None).strip()
        wrapped = _WRAPPER.fullmatch(inner)
        if wrapped is not None:
            return wrapped[1]
        sign = chr(_FIRST + len(formulas) % _MAX_FORMULAS)
        stop = "." if inner.endswith(".") else ""
        formulas[sign] = inner.rstrip(". ")
        return sign + stop

    masked = _FORMULA.sub(mask, text)
    if len(formulas) >= _MAX_FORMULAS:
        return None
    found = [" ".join(part.split()) for part in _SENTENCE_END.split(masked)]
    return Sentences([part.rstrip(" .") for part in found if part.strip(" .")], formulas)


def _conclusion(found: Sentences) -> str:
    masked = _joined_displays(found.masked)
    while len(masked) > 1 and _is_remark(masked[-1]):
        masked = masked[:-1]
    last = masked[-1] if masked else ""
    if len(last) == 1 and last in found.formulas:
        return end_of_chain(found.formulas[last], named=True) if len(masked) == 1 else ""
    stated = _STATEMENT.search(last)
    match = stated or _DERIVED.search(last)
    if match is None or sum(_IS.search(part) is not None for part in _NEXT_PART.split(last)) > 1:
        return ""
    others = [value for sentence in masked[:-1] for value in _stated_values(sentence)]
    if any(found.shown(value) != found.shown(match["value"]) for value in others):
        return ""
    value = found.shown(match["value"])
    if stated is None or not _EQUATION_ASKED.search(stated.group()):
        value = end_of_chain(value, named=stated is None)
    return value + _unit(match["unit"]) if value else ""


def end_of_chain(formula: str, *, named: bool) -> str:
    """The value that a chain A = B = C ends in. named: the chain must begin with a name, else it is an equation."""
    members = _members(formula)
    if members is None or len(members) < 2:
        return formula
    if not named or len(members) > 2 or _VECTOR_NAME.fullmatch(members[0].strip()):
        return members[-1]
    return formula if _LETTER_NAME.fullmatch(members[0].strip()) else ""


def _members(formula: str) -> list[str] | None:
    """What stands between the equals signs outside of all brackets; None for a list or another relation."""
    depth, start = 0, 0
    members: list[str] = []
    for sign in _OPENS.finditer(formula):
        mark = sign.group()
        if mark in ("\\begin", "{", "(", "[", "\\{"):
            depth += 1
        elif mark in ("\\end", "}", ")", "]", "\\}"):
            depth -= 1
        elif depth == 0 and mark == "=":
            members.append(formula[start : sign.start()])
            start = sign.end()
        elif depth == 0:
            return None
    return [*members, formula[start:]]


def _joined_displays(masked: list[str]) -> list[str]:
    """A displayed formula ends the sentence that a verb or colon leads to it."""
    joined: list[str] = []
    for part in masked:
        if joined and _LEADS_ON.search(joined[-1][-12:]):
            joined[-1] = f"{joined[-1]} {part}"
        else:
            joined.append(part)
    return joined


def _is_remark(sentence: str) -> bool:
    return not any("\ue000" <= char <= "\ue18f" or char.isdigit() for char in sentence)


def _stated_values(sentence: str) -> list[str]:
    return [match["value"] for match in _STATED.finditer(sentence)]


def _unit(unit: str | None) -> str:
    return f" \\text{{{unit}}}" if unit else ""
