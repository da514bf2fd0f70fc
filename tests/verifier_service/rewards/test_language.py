import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_service.rewards import language
from verifier_service.rewards.language_names import LANGUAGES
from verifier_service.transcript import Transcript

from .prose import SENTENCES

CASES = Path(__file__).parents[2] / "cases" / "language_cases.jsonl"
PURE = {code: " ".join(sentences) for code, sentences in SENTENCES.items()}


def share(text: str, target: str) -> float | None:
    return language.score(text, target).value


# One language


@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_prose_in_the_wanted_language_scores_one(code: str) -> None:
    assert share(PURE[code], code) == 1.0
    assert [share(sentence, code) for sentence in SENTENCES[code]] == [1.0] * len(SENTENCES[code])


@pytest.mark.parametrize(
    "target", ["ar", "de", "en", "es", "fr", "hi", "ja", "ko", "pt", "ru", "th", "uk", "zh"]
)
def test_prose_in_any_other_language_scores_next_to_nothing(target: str) -> None:
    others = {code: share(text, target) or 0.0 for code, text in PURE.items() if code != target}
    assert max(others.values()) < 0.7  # a Nepali sentence can be one of Hindi
    assert sum(others.values()) / len(others) < 0.03


# Mixes


PAIRS = "en-zh zh-en en-es es-en de-en fr-it ru-uk uk-ru ja-en ja-zh ar-fa mr-hi ko-zh th-en pt-es vi-fr"


@pytest.mark.parametrize("pair", PAIRS.split())
@pytest.mark.parametrize("foreign", [1, 2, 3])
def test_a_mix_scores_its_share_of_words(pair: str, foreign: int) -> None:
    target, other = pair.split("-")
    mine, theirs = SENTENCES[target][: 4 - foreign], SENTENCES[other][:foreign]
    own = language.score("\n".join(mine), target).detail["evidence_words"]
    strange = language.score("\n".join(theirs), other).detail["evidence_words"]
    assert share("\n".join([*mine, *theirs]), target) == pytest.approx(own / (own + strange), abs=0.06)


def test_a_foreign_word_inside_a_sentence_counts_as_one_word() -> None:
    assert share("Then the 余数 is smaller than the number that we divide by.", "en") == pytest.approx(
        11 / 12.2, abs=0.02
    )


# What is not a word


@pytest.mark.parametrize(
    "neutral",
    [
        "$x^2 + y = \\frac{1}{2}$",
        "$$\\sum_{k=1}^{n} k$$",
        "\\(a+b\\)",
        "\\[ \\int f \\, dx \\]",
        "\\boxed{42}",
        "\\begin{align*} a &= b \\\\ c &= d \\end{align*}",
        "\\frac{a+b}{2} \\geq \\sqrt{ab}",
        "x_{max}^{2k}",
        "`total_count`",
        "```python\nfor value in range(10):\n    print(value)\n```",
        "https://example.org/some/page",
        "x",
        "x1",
        "3b",
        "a_n",
        "f(x)",
        "sin(x)",
        "gcd(a, b)",
        "12 km",
        "1,234.5",
        "x = y",
        "\u2234 \u21d2 \U0001f914",
        "<b></b>",
        "$5",
    ],
)
@pytest.mark.parametrize("target", ["en", "zh", "ru", "ar"])
def test_formulas_code_addresses_and_single_letters_are_not_words(neutral: str, target: str) -> None:
    assert language.score(neutral, target).detail == {"target": target, "evidence_words": 0}
    assert share(neutral, target) is None
    sentence = SENTENCES[target][0]
    assert share(f"{neutral} {sentence} {neutral} {sentence}", target) == 1.0


@pytest.mark.parametrize("name", ["ABC", "AM-GM", "Cauchy-Schwarz", "Python", "iPhone", "GeoGebra"])
def test_names_and_initials_are_nobodys_words_where_latin_is_foreign(name: str) -> None:
    assert share(f"由 {name} 可知，三角形的面积等于十二。", "zh") == 1.0
    assert share(f"{name} 부등식을 쓰면 등호가 성립합니다.", "ko") == 1.0


@pytest.mark.parametrize("text", ["", " \n", "42", "$x=2$", "\\boxed{8}", "```\nx = 1\n", "?!", "\u200b"])
def test_without_words_there_is_no_share(text: str) -> None:
    assert share(text, "en") is None


# Hiding places


@pytest.mark.parametrize(
    "hidden",
    [
        "$x = 2 \\text{ because the left side is always even }$",
        "\\mbox{because the left side is always even}",
        "$ because the left side is always even $",
        "\\begin{quote} because the left side is always even \\end{quote}",
        "`because the left side is always even`",
        "```\nbecause the left side is always even\nand the right side is always odd\n```",
        "``` because the left side is always even",
        "<because the left side is always even>",
    ],
)
def test_prose_in_formulas_and_code_counts_as_words(hidden: str) -> None:
    value = share(f"由此可得结论。{hidden}", "zh")
    assert value is not None
    assert value < 0.5


def test_chinese_in_formulas_counts_too() -> None:
    assert share("We are done, as $首先把两边相加然后除以二$ shows.", "en") == pytest.approx(0.5, abs=0.1)


def test_zero_width_characters_and_full_width_letters_change_nothing() -> None:
    plain = SENTENCES["en"][1]
    assert share("\u200b".join(plain), "en") == 1.0
    assert share("".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in plain), "en") == 1.0


def test_no_part_of_a_very_long_text_is_a_blind_spot() -> None:
    english, chinese = PURE["en"] + "\n", PURE["zh"] + "\n"
    for place in range(5):
        parts = [english * 400] * 5
        parts[place] = chinese * 1100
        value = share("".join(parts), "en")
        assert value is not None
        assert value < 0.97


# Short texts, kanji


@pytest.mark.parametrize(
    "text, target",
    [
        ("So $x=3$.", "en"),
        ("Donc $x=2$.", "fr"),
        ("Luego $x=2$.", "es"),
        ("Logo, $x=2$.", "pt"),
        ("Also $x=2$.", "de"),
        ("Ответ: 5.", "ru"),
        ("Відповідь: 5.", "uk"),
        ("उत्तर 5 है।", "hi"),
        ("最大値。", "ja"),
        ("证毕。", "zh"),
        ("故得證。", "zh"),
    ],
)
def test_a_few_words_get_the_benefit_of_the_doubt(text: str, target: str) -> None:
    assert share(text, target) == 1.0


def test_short_foreign_sentences_do_not_hide_behind_each_other() -> None:
    text = "Sumamos los dos lados de la ecuación. " + "Then we add. So we divide. Now we check. " * 5
    value = share(text, "es")
    assert value is not None
    assert value < 0.3


def test_short_sentences_are_judged_a_few_at_a_time() -> None:
    text = "Now we add. Then we divide. " * 3 + "Ahora sumamos todo. Luego dividimos todo. " * 3
    assert share(text, "es") == pytest.approx(0.5, abs=0.1)


def test_kanji_alone_follow_the_japanese_around_them() -> None:
    assert share("まず面積を求める。三角形。底辺は三である。", "ja") == 1.0
    assert share("最小値、最大値、平均値を順に求める。", "ja") == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "首先把两边相加，然后除以二。",
        "我們先把題目的條件整理清楚。",
        "如果余数等于零，那么这个数能被三整除。",
    ],
)
def test_chinese_is_not_japanese_though_the_script_is_shared(text: str) -> None:
    assert share(text, "ja") == 0.0
    assert share(text, "zh") == 1.0


# What is reported


def test_the_report_names_the_foreign_language_and_quotes_it() -> None:
    detail = language.score(f"{PURE['en']} {PURE['zh']}", "en").detail
    assert detail["target"] == "en"
    assert detail["top_foreign"] == "zh"
    assert set(detail["shares"]) == {"en", "zh"}
    assert sum(detail["shares"].values()) == pytest.approx(1.0, abs=0.001)
    assert len(detail["snippets"]) == 3
    assert detail["snippets"][0] == {"language": "zh", "text": "假设所求的数是偶数"}
    json.dumps(detail, allow_nan=False)


# Names of languages


@pytest.mark.parametrize(
    "name, code",
    [
        ("en", "en"),
        ("EN", "en"),
        ("en-US", "en"),
        ("pt_BR", "pt"),
        ("zh-CN", "zh"),
        ("zh-Hant-TW", "zh"),
        ("cmn", "zh"),
        ("English", "en"),
        (" chinese ", "zh"),
        ("nb", "no"),
        ("iw", "he"),
        ("sr-Latn", "sr"),
        ("Farsi", "fa"),
    ],
)
def test_codes_regions_scripts_and_english_names_are_understood(name: str, code: str) -> None:
    assert language.is_supported(name)
    assert language.language_code(name) == code


@pytest.mark.parametrize("name", ["", "xx", "klingon", "englisch", "e", "\ud800", "en\x00"])
def test_an_unknown_language_is_refused_with_the_known_ones(name: str) -> None:
    assert not language.is_supported(name)
    with pytest.raises(language.UnknownLanguage, match="Known: am, ar, "):
        language.score("some text", name)


def test_a_near_miss_is_answered_with_the_nearest() -> None:
    with pytest.raises(language.UnknownLanguage, match='Nearest: "german"'):
        language.language_code("germen")


def test_every_supported_language_can_be_a_target() -> None:
    assert set(language.supported_languages()) == set(LANGUAGES)
    for code in language.supported_languages():
        assert share("Now we add the two equations and divide by two.", code) in (0.0, 1.0)


def test_the_part_that_is_measured_is_chosen() -> None:
    both = Transcript("", "thinking", "response", None, None)
    assert language.part_text(both, "thinking") == "thinking"
    assert language.part_text(both, "response") == "response"
    assert language.part_text(both, "both") == "thinking\n\nresponse"
    assert language.part_text(Transcript("", None, "response", None, None), "thinking") == ""


# Hostile text


HOSTILE = [
    "\\a{",
    "<a",
    "\\text{",
    " $a",
    "$",
    "$$",
    "\\(",
    "\\[",
    "`",
    "``a ",
    "```",
    "{",
    "}",
    "\\begin{x}",
    "^{",
    "a",
    "字",
    "а",
    "ก",
    "क्",
    "a b ",
    "ab cd ",
    "ab. ",
    "字。",
    "字，",
    "の字，",
    "$ab cd ef gh$ ",
    "\u0301\u0316",
    "\ufdfa",
    "\u200b",
    "\ud800",
    "www.",
    "\\",
    "a'b-",
    "[",
    "\\a[",
    "```a b c d e\n",
    "\n\n",
    "\x00",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_is_read_in_linear_time(unit: str) -> None:
    text = unit * (64 * 1024 // len(unit))
    start = time.process_time()
    share(text, "en")
    assert time.process_time() - start < 1.0


def test_even_a_whole_request_of_text_is_read_in_time() -> None:
    start = time.process_time()
    assert share((PURE["en"] + " $x+1$\n") * 60_000, "en") == 1.0
    assert time.process_time() - start < 2.0


@settings(max_examples=200)
@given(st.text(), st.sampled_from(["en", "zh", "ja", "ru", "hi", "sr"]))
def test_no_text_raises_and_every_share_is_a_share(text: str, target: str) -> None:
    value = share(text, target)
    assert value is None or 0.0 <= value <= 1.0


fragments = st.sampled_from(
    [
        "\\text{",
        "$",
        "`",
        "```",
        "{",
        "}",
        "<b>",
        "\\(",
        "\\)",
        "字句",
        "かな",
        "word and ",
        "и вот ",
        "\n",
        ". ",
        ", ",
        "\ud800",
    ]
)


@settings(max_examples=200)
@given(st.lists(fragments, max_size=60).map("".join))
def test_no_jumble_of_markup_raises(text: str) -> None:
    for target in ("en", "ja"):
        value = share(text, target)
        assert value is None or 0.0 <= value <= 1.0


def test_another_process_gives_the_same_shares() -> None:
    texts = [f"{PURE[one]} {PURE[two]}" for one, two in (("es", "pt"), ("ru", "uk"), ("ja", "zh"))]
    program = (
        "import json, sys\n"
        "from verifier_service.rewards.language import score\n"
        "print(json.dumps([score(text, 'es').detail for text in json.load(sys.stdin)]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert json.loads(done.stdout) == [language.score(text, "es").detail for text in texts]


# The labelled cases


def test_the_labelled_cases() -> None:
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    misses = {}
    for row in rows:
        value, wanted = share(row["text"], row["target"]), row["expected"]
        right = value is wanted if value is None or wanted is None else abs(value - wanted) <= row["tol"]
        if not right:
            misses[row["id"]] = value
    assert len(rows) == 51
    assert len(misses) <= 1, misses
