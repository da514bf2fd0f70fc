"""Signs and words that join or close expressions."""

from .names import NAMED_CONSTANTS
from .numerals import number_words, scale_word

RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", "<>": "!=", "le": "<=",
    "ge": ">=", "ne": "!=", "approx": "~", "sim": "sim", "equiv": "==", "in": "in", "notin": "notin", "cong": "~",
    "subset": "subset", "subseteq": "subset", "to": "->", "->": "->", "propto": "propto", "ni": "ni", "perp": "perp",
    "parallel": "parallel",
}  # fmt: skip
SET_OPS = {"cup": "union", "cap": "intersection", "setminus": "difference"}
AND_WORDS = frozenset({"and", "und", "et", "y", "e", "и", "和", "与", "及", "&", "land"})
OR_WORDS = frozenset({"or", "oder", "ou", "o", "или", "或", "或者", "lor", "または", "또는"})
CONDITIONS = frozenset({"if", "when", "for", "whenever"})
OTHERWISE = frozenset({"otherwise", "else"})
QUALIFIERS = frozenset({"for", "where", "with", "when"})
STACKED = frozenset({"over", "choose", "atop"})
BEHIND_INTERVALS = frozenset(SET_OPS) | {",", ";", ")", "}", "\\}", "lor", "land", "&"}
CURRENCY_CODES = frozenset("USD EUR GBP JPY INR CNY RMB CAD AUD CHF HKD".split())
QUALIFYING_MARKS = frozenset({",", "{", "}", "(", ")", "="})
CURRENCY = frozenset("$£€¥₹")
PERCENT_WORDS = frozenset({"percent", "per cent", "percentage", "pct", "por ciento", "prozent", "pour cent"})
UNIT_FUNCTIONS = frozenset({"min", "sec"})
CONDITION_WORDS = frozenset({"if", "when", "for", "where", "otherwise", "else", "whenever", "unless"})
# Words that say something of a value, or change it, but are nothing that is counted.
_NO_NOUNS = frozenset(
    "is not are was no nor if then but isn isnt aren't isn't wrong incorrect false true maybe perhaps either or and "
    "neither than less more least most about approximately roughly around between from without to by of over under "
    "because since so unless except only plus minus times divided mod squared cubed square cube root factorial half "
    "halves third thirds quarter quarters fourth fourths fifth fifths sixth sixths seventh sevenths eighth eighths "
    "ninth ninths tenth tenths hundredth hundredths thousandth thousandths tens hundreds thousands gross score below "
    "above negative positive imaginary infinity something anything squares percent th st nd rd degrees ish odd".split()
)
JOINING = AND_WORDS | OR_WORDS | CONDITION_WORDS | {"to", "per", "is", "are", "the"}


def may_be_noun(word: str) -> bool:
    """Can the word name what is counted ("apples")? No operator, number, fraction or comment on the value can."""
    if word in _NO_NOUNS or not word.isalpha() or (len(word) == 1 and word.isascii()):
        return False
    return number_words(word) is None and scale_word(word) is None and word not in NAMED_CONSTANTS
