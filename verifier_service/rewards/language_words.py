"""Text -> segments: runs of one script within a sentence or clause, with their number of words.

No segmenter: languages written without spaces are counted by characters over the mean length of a word
(measured against segmenters: 1.7 Chinese or Japanese characters, 4.4 Thai ones).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

HAN_PER_WORD = 1.7
THAI_PER_WORD = 4.4
_UNSPACED = {
    "hani": HAN_PER_WORD,
    "kana": HAN_PER_WORD,
    "thai": THAI_PER_WORD,
    "laoo": THAI_PER_WORD,
    "khmr": THAI_PER_WORD,
    "mymr": THAI_PER_WORD,
}

# Letters and marks of each script; digits and punctuation of their blocks are left out.
_LATIN = "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0250-\u02af\u1e00-\u1eff\u0300-\u036f"
_SCRIPTS = {
    "hani": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af",
    "kana": "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",
    "hang": "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3",
    "cyrl": "\u0400-\u052f\u0300-\u036f",
    "grek": "\u0370-\u0373\u0376-\u037d\u037f-\u03ff\u1f00-\u1fff",
    "arab": (
        "\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06ef\u06fa-\u06ff"
        "\u0750-\u077f\u08a0-\u08ff"
    ),
    "deva": "\u0900-\u0963\u0971-\u097f",
    "hebr": "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u05d0-\u05f2",
    "thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "laoo": "\u0e81-\u0ece\u0edc-\u0edf",
    "khmr": "\u1780-\u17d3",
    "mymr": "\u1000-\u103f\u1050-\u108f",
    "beng": "\u0980-\u09e3\u09f0\u09f1",
    "guru": "\u0a00-\u0a63\u0a70-\u0a75",
    "gujr": "\u0a80-\u0ae3",
    "orya": "\u0b00-\u0b63\u0b71",
    "taml": "\u0b80-\u0be3",
    "telu": "\u0c00-\u0c63",
    "knda": "\u0c80-\u0ce3",
    "mlym": "\u0d00-\u0d63\u0d7a-\u0d7f",
    "sinh": "\u0d80-\u0df3",
    "armn": "\u0531-\u0556\u0561-\u0587",
    "geor": "\u10a0-\u10fa\u10fc-\u10ff\u1c90-\u1cbf",
    "ethi": "\u1200-\u1360\u1369-\u137f",
}
_JOINT = "(?:['’ʼ\u05f3\u05f4-][{0}]++)*+"

_TOKEN = re.compile(
    "|".join(
        [
            f"(?P<latn>[{_LATIN}0-9_]++{_JOINT.format(_LATIN + '0-9_')})",
            *(f"(?P<{name}>[{letters}]++{_JOINT.format(letters)})" for name, letters in _SCRIPTS.items()),
            r"(?P<stop>[.](?=\s|$|\ufffc)|[!?;:\n。｡！？；：…؟؛۔।॥։።]+)",
            r"(?P<pause>[,，、،])",
        ]
    )
)

# Names of functions and units: the same in every language.
_NEUTRAL = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh arcsin arccos arctan log ln lg exp lim max min sup inf arg det"
    " dim ker gcd lcm hcf mod deg sgn sqrt frac cm mm km kg mg ml km/h hz kb mb gb".split()
)
_JOINTS = re.compile(r"['’ʼ-]")
_LONGEST_WORD = 40  # longer ones are data, not words
_INITIALS = 6
_NAME_WORDS = 2
_LONG_SENTENCE = 25
_CLAUSE = 8
ENOUGH_WORDS = 4


@dataclass(slots=True)
class Segment:
    """Words of one script that stand together. `units`: how many words they count for."""

    script: str
    words: list[str]
    units: float

    @property
    def text(self) -> str:
        return ("" if self.script in _UNSPACED else " ").join(self.words)

    @property
    def is_long(self) -> bool:
        """Enough words to tell their language by themselves."""
        return self.units >= ENOUGH_WORDS


def segments(text: str, *, latin_target: bool) -> list[Segment]:
    """All countable words of a cleaned text, in order of their sentences.

    latin_target: whether the wanted language is written in Latin letters; if not, initials (ABC, AM-GM) and
    names of one or two words with a capital (Cauchy-Schwarz, iPhone) are nobody's words.
    """
    done: list[Segment] = []
    sentence = _Sentence(latin_target)
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "stop":
            done += sentence.close()
            sentence = _Sentence(latin_target)
        elif kind == "pause":
            sentence.pause()
        elif kind is not None:
            sentence.add(kind, token[0])
    return done + sentence.close()


class _Sentence:
    """Collects the words of one sentence by script, the unspaced Han and kana by clause."""

    def __init__(self, latin_target: bool) -> None:
        self.latin_target = latin_target
        self.words: dict[str, list[str]] = {}
        self.cuts: dict[str, list[int]] = {}
        self.clauses: list[list[str]] = [[]]
        self.latin_run: list[str] = []

    def add(self, script: str, word: str) -> None:
        if script == "latn":
            if _is_word(word):
                self.latin_run.append(word)
            return
        if script == "grek" and len(word) == 1:
            return
        self._end_latin_run()
        if script in ("hani", "kana"):
            self.clauses[-1].append(word)
        else:
            self.words.setdefault(script, []).append(word)

    def pause(self) -> None:
        self.clauses.append([])
        for script, words in (*self.words.items(), ("latn", self.words.get("latn", []) + self.latin_run)):
            self.cuts.setdefault(script, []).append(len(words))

    def close(self) -> list[Segment]:
        self._end_latin_run()
        found = [
            Segment("hani", clause, sum(map(len, clause)) / HAN_PER_WORD) for clause in self.clauses if clause
        ]
        for script, words in self.words.items():
            if script in _UNSPACED:
                found.append(Segment(script, words, sum(map(len, words)) / _UNSPACED[script]))
            else:
                pieces = _pieces(words, self.cuts.get(script, []))
                found += [Segment(script, piece, float(len(piece))) for piece in pieces]
        return found

    def _end_latin_run(self) -> None:
        run, self.latin_run = self.latin_run, []
        if not self.latin_target:
            run = [word for word in run if not (word.isupper() and len(word) <= _INITIALS)]
            if len(run) <= _NAME_WORDS and not any(word.islower() for word in run):
                return
        if run:
            self.words.setdefault("latn", []).extend(run)


def _is_word(token: str) -> bool:
    """Whether a Latin token is a word of some language: not x, x1, a-b, total_count, sin, km."""
    if len(token) > _LONGEST_WORD or token.lower() in _NEUTRAL:
        return False
    if "_" in token or any(char.isdigit() for char in token):
        return False
    return max(map(len, _JOINTS.split(token))) > 1


def _pieces(words: list[str], cuts: list[int]) -> Iterator[list[str]]:
    """A long sentence in clauses of eight words or more, cut at commas, or where none comes in time."""
    if len(words) <= _LONG_SENTENCE:
        yield words
        return
    start = 0
    for cut in [*cuts, len(words)]:
        while cut - start > 2 * _LONG_SENTENCE:
            yield words[start : start + _LONG_SENTENCE]
            start += _LONG_SENTENCE
        if cut - start >= _CLAUSE and len(words) - cut >= _CLAUSE:
            yield words[start:cut]
            start = cut
    if start < len(words):
        yield words[start:]
