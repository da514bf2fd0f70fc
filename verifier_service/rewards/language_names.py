"""The languages whose share can be measured, their names and their scripts. Imports no detector."""

import difflib
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Language:
    code: str
    name: str
    scripts: tuple[str, ...]


def _table(text: str) -> dict[str, Language]:
    rows = (line.split() for line in text.strip().splitlines())
    return {code: Language(code, name, tuple(scripts)) for code, name, *scripts in rows}


LANGUAGES = _table("""
    am Amharic ethi
    ar Arabic arab
    az Azerbaijani latn
    be Belarusian cyrl
    bg Bulgarian cyrl
    bn Bengali beng
    bs Bosnian latn
    ca Catalan latn
    cs Czech latn
    da Danish latn
    de German latn
    el Greek grek
    en English latn
    es Spanish latn
    et Estonian latn
    eu Basque latn
    fa Persian arab
    fi Finnish latn
    fr French latn
    gl Galician latn
    gu Gujarati gujr
    he Hebrew hebr
    hi Hindi deva
    hr Croatian latn
    hu Hungarian latn
    hy Armenian armn
    id Indonesian latn
    is Icelandic latn
    it Italian latn
    ja Japanese hani
    ka Georgian geor
    kk Kazakh cyrl
    km Khmer khmr
    kn Kannada knda
    ko Korean hang
    lo Lao laoo
    lt Lithuanian latn
    lv Latvian latn
    mk Macedonian cyrl
    ml Malayalam mlym
    mr Marathi deva
    ms Malay latn
    my Burmese mymr
    ne Nepali deva
    nl Dutch latn
    no Norwegian latn
    or Odia orya
    pa Punjabi guru
    pl Polish latn
    pt Portuguese latn
    ro Romanian latn
    ru Russian cyrl
    si Sinhala sinh
    sk Slovak latn
    sl Slovenian latn
    sq Albanian latn
    sr Serbian cyrl latn
    sv Swedish latn
    sw Swahili latn
    ta Tamil taml
    te Telugu telu
    th Thai thai
    tl Tagalog latn
    tr Turkish latn
    uk Ukrainian cyrl
    ur Urdu arab
    vi Vietnamese latn
    zh Chinese hani
""")

# Other codes in use for the same language.
_ALIASES = {
    "cmn": "zh",
    "fil": "tl",
    "in": "id",
    "iw": "he",
    "nb": "no",
    "nn": "no",
    "nob": "no",
    "prs": "fa",
    "yue": "zh",
}
_BY_NAME = {language.name.lower(): language.code for language in LANGUAGES.values()}
_BY_NAME |= {"mandarin": "zh", "farsi": "fa", "filipino": "tl"}

# Standards so close that a sentence rarely tells them apart; each counts as the others.
_KIN = (frozenset({"bs", "hr", "sr"}), frozenset({"id", "ms"}))


class UnknownLanguage(ValueError):
    """A target language that cannot be measured; the message says which can."""


def supported_languages() -> tuple[str, ...]:
    """Codes of the languages that can be a target, sorted."""
    return tuple(sorted(LANGUAGES))


def is_supported(target: str) -> bool:
    """Whether `target` names a language that can be measured: "en", "EN", "zh-Hans", "pt_BR", "English"."""
    return _code(target) is not None


@lru_cache(maxsize=256)
def language_code(target: str) -> str:
    """The code of a target language, region and script left out. Raises UnknownLanguage."""
    code = _code(target)
    if code is not None:
        return code
    near = difflib.get_close_matches(target.strip().lower(), [*LANGUAGES, *_BY_NAME], n=1)
    nearest = f' Nearest: "{near[0]}".' if near else ""
    raise UnknownLanguage(
        f'no language "{target[:40]}".{nearest} Known: {", ".join(supported_languages())}; '
        "a region or script may follow (pt-BR, zh-Hans), and English names are accepted (docs/rewards.md)."
    )


def _code(target: str) -> str | None:
    words = target.strip().lower().replace("_", "-")
    if words in _BY_NAME:
        return _BY_NAME[words]
    code = words.split("-", 1)[0]
    code = _ALIASES.get(code, code)
    return code if code in LANGUAGES else None


def same_language(one: str, other: str) -> bool:
    """Equal, or standards of one language that are written alike."""
    return one == other or any(one in kin and other in kin for kin in _KIN)


def candidates(script: str) -> tuple[str, ...]:
    """Languages written in a script, sorted."""
    return tuple(code for code in supported_languages() if script in LANGUAGES[code].scripts)
