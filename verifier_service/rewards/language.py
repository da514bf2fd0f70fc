"""Language consistency: the share of words that are in the wanted language (DeepSeek-R1, arXiv 2501.12948).

share = words of the target language / all words.  Formulas, code, numbers, single letters, function names
and addresses are not words. Without a word there is no share: the score is None and the profile says what
that is worth (`no_words`, 0 unless set). docs/rewards.md has the definition and its measurements.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from verifier_service.equivalence.rules import LanguagePart
from verifier_service.rewards import Score
from verifier_service.rewards.language_detect import AMBIGUOUS, detect, preload
from verifier_service.rewards.language_names import (
    LANGUAGES,
    UnknownLanguage,
    is_supported,
    language_code,
    same_language,
    supported_languages,
)
from verifier_service.rewards.language_text import clean
from verifier_service.rewards.language_words import ENOUGH_WORDS, Segment, segments
from verifier_service.transcript import Transcript

__all__ = [
    "UnknownLanguage",
    "is_supported",
    "language_code",
    "part_text",
    "preload",
    "score",
    "supported_languages",
]

_SNIPPETS = 3
_SNIPPET_CHARS = 60
_LANGUAGES_NAMED = 5

# Characters that only one of the two languages writes; in the rest of Han both look alike.
_ONLY_CHINESE = frozenset("们們这這那了是吗呢吧还没则设從从為为么让很你她它谁给请个兩两对时說说过进應应與于")
_ONLY_JAPANESE = frozenset(
    "円図対両変単検応験総帰処広売価経済続観発乗剰毎込払択沢駅訳歩気黒仮関覚囲抜栄圏読実悪雑様戻枠値辺"
)
_KANA = range(0x3041, 0x3200)
_HAN_PER_KANA = 12  # Japanese prose has far more kana than this; a lone quoted kana is not Japanese


def part_text(transcript: Transcript, part: LanguagePart) -> str:
    """The text whose language is measured; empty where the transcript has no such part."""
    parts = {
        "thinking": (transcript.thinking,),
        "response": (transcript.response,),
        "both": (transcript.thinking, transcript.response),
    }
    return "\n\n".join(text for text in parts[part] if text)


def score(text: str, target: str) -> Score:
    """Share of the words of `text` that are in the language `target`, 0 to 1; None without words.

    target: a code or an English name ("en", "zh-Hans", "English"); raises UnknownLanguage for others.
    """
    code = language_code(target)
    runs = segments(clean(text), latin_target="latn" in LANGUAGES[code].scripts)
    labelled = list(_labelled(runs, code))
    total = sum(run.units for run in labelled)
    if not total:
        return Score(None, {"target": code, "evidence_words": 0})
    counts: dict[str, float] = {}
    for run in labelled:
        counts[run.language] = counts.get(run.language, 0.0) + run.units
    own = sum(units for language, units in counts.items() if same_language(language, code))
    return Score(round(own / total, 6), _detail(code, counts, labelled))


@dataclass(frozen=True, slots=True)
class _Run:
    language: str
    units: float
    text: str


def _detail(target: str, counts: dict[str, float], runs: list[_Run]) -> dict[str, Any]:
    total = sum(counts.values())
    order = sorted(counts, key=lambda language: (-counts[language], language))
    foreign = [language for language in order if not same_language(language, target)]
    snippets = [
        {"language": run.language, "text": run.text[:_SNIPPET_CHARS]}
        for run in runs
        if not same_language(run.language, target)
    ]
    return {
        "target": target,
        "evidence_words": max(1, round(total)),
        "shares": {language: round(counts[language] / total, 4) for language in order[:_LANGUAGES_NAMED]},
        "top_foreign": foreign[0] if foreign else None,
        "snippets": snippets[:_SNIPPETS],
    }


def _labelled(runs: list[Segment], target: str) -> Iterator[_Run]:
    """Every segment with its language, script by script."""
    by_script: dict[str, list[Segment]] = {}
    for run in runs:
        by_script.setdefault(run.script, []).append(run)
    for script, own in by_script.items():
        groups = _groups(own)
        labels = [_label(group, script, target) for group in groups]
        for group, language in zip(groups, _settled(labels, groups, script, target), strict=True):
            yield from (_Run(language, run.units, run.text) for run in group)


def _groups(runs: list[Segment]) -> list[list[Segment]]:
    """Long segments alone; short ones pooled with the short ones next to them until they say enough."""
    groups: list[list[Segment]] = []
    pool: list[Segment] = []
    for run in runs:
        alone = run.is_long or _orthography(run) is not None
        if pool and (alone or _units(pool) >= ENOUGH_WORDS):
            groups.append(pool)
            pool = []
        if alone:
            groups.append([run])
        else:
            pool.append(run)
    return [*groups, pool] if pool else groups


def _units(group: list[Segment]) -> float:
    return sum(run.units for run in group)


def _text(group: list[Segment]) -> str:
    return " ".join(run.text for run in group)


def _label(group: list[Segment], script: str, target: str) -> str | None:
    """Language of a group by its own words; None where they are too few."""
    if script == "hani":
        own = _orthography(group[0]) if len(group) == 1 else None
        return own or ("zh" if _units(group) >= ENOUGH_WORDS else None)
    if script not in AMBIGUOUS:
        return detect("", script, target)
    return detect(_text(group), script, target) if _units(group) >= ENOUGH_WORDS else None


def _settled(labels: list[str | None], groups: list[list[Segment]], script: str, target: str) -> list[str]:
    """Groups of few words follow the group before them, else the one after, else the benefit of the doubt."""
    known = next((label for label in labels if label), None)
    settled: list[str] = []
    for label, group in zip(labels, groups, strict=True):
        if label is None and known is None:
            known = _doubtful(group, script, target)
        known = label or known or target
        settled.append(known)
    return settled


def _doubtful(group: list[Segment], script: str, target: str) -> str:
    if script == "hani":
        return target if target == "ja" else "zh"
    return detect(_text(group), script, target, few=True)


def _orthography(run: Segment) -> str | None:
    """Japanese or Chinese where the characters of a clause tell; None where they do not."""
    if run.script != "hani":
        return None
    text = run.text
    kana = sum(ord(char) in _KANA for char in text)
    if kana * _HAN_PER_KANA >= len(text):
        return "ja"
    chinese = sum(char in _ONLY_CHINESE for char in text)
    japanese = sum(char in _ONLY_JAPANESE for char in text)
    if chinese == japanese:
        return None
    return "zh" if chinese > japanese else "ja"
