"""Numbers in words, checked against spellers written for these tests."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.equivalence.numerals import number_words, scale_word

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()
CHINESE_DIGITS = "零一二三四五六七八九"


def english(number: int, joint: str = " ") -> str:
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= scale:
            rest = number % scale
            tail = f" {english(rest, joint)}" if rest else ""
            return f"{english(number // scale, joint)} {name}{tail}"
    if number >= 100:
        tail = joint + english(number % 100) if number % 100 else ""
        return f"{ONES[number // 100]} hundred{tail}"
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")


def chinese(number: int) -> str:
    if number >= 10_000:
        high, low = divmod(number, 10_000)
        zero = "零" if 0 < low < 1000 else ""
        return chinese(high) + "万" + (zero + chinese(low) if low else "")
    written, pending_zero = "", False
    for unit, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // unit % 10
        if digit:
            written += ("零" if pending_zero and written else "") + CHINESE_DIGITS[digit] + name
            pending_zero = False
        else:
            pending_zero = True
    return written or "零"


@given(st.integers(0, 10**12 - 1), st.sampled_from((" ", " and ")))
def test_an_english_cardinal_is_its_number(number: int, joint: str) -> None:
    assert number_words(english(number, joint)) == number
    assert number_words("negative " + english(number, joint).upper()) == -number


@given(st.integers(0, 10**8 - 1))
def test_a_chinese_cardinal_is_its_number(number: int) -> None:
    assert number_words(chinese(number)) == number
    assert number_words("负" + chinese(number)) == -number


@given(st.integers(1, 99), st.integers(1, 99))
def test_a_chinese_fraction_is_its_quotient(numerator: int, denominator: int) -> None:
    assert number_words(f"{chinese(denominator)}分之{chinese(numerator)}") == Fraction(numerator, denominator)


VALUES = [
    ("half", "1/2"),
    ("a half", "1/2"),
    ("two thirds", "2/3"),
    ("two-thirds", "2/3"),
    ("three-quarters", "3/4"),
    ("a third", "1/3"),
    ("three twenty-fifths", "3/25"),
    ("five hundredths", "1/20"),
    ("three and a half", "7/2"),
    ("one and two fifths", "7/5"),
    ("2 and a half", "5/2"),
    ("half a million", "500000"),
    ("a dozen", "12"),
    ("two dozen", "24"),
    ("half a dozen", "6"),
    ("a hundred", "100"),
    ("twenty-one hundred", "2100"),
    ("three point one four", "157/50"),
    ("minus five", "-5"),
    ("半", "1/2"),
    ("两", "2"),
    ("十二", "12"),
    ("三点五", "7/2"),
    ("一又二分之一", "3/2"),
    ("百分之三十", "3/10"),
    ("3万", "30000"),
    ("1亿2000万", "120000000"),
    ("三万五", "35000"),
    ("vingt et un", "21"),
    ("quatre-vingt-dix-sept", "97"),
    ("treinta y cinco", "35"),
    ("einundzwanzig", "21"),
    ("zwölf", "12"),
    ("dreißig", "30"),
    ("двадцать три", "23"),
    ("deux tiers", "2/3"),
]


@pytest.mark.parametrize("text, value", VALUES)
def test_a_phrase_is_its_value(text: str, value: str) -> None:
    assert number_words(text) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    [
        *"third first twenty-first none once someone tone 12 -5 point a and 万 百 ten-four".split(" "),
        "twenty-fifths",
        "two third",
        "one two",
        "twenty eleven",
        "hundred million hundred",
        "one hundred and",
        "thousand thousand",
        "two halves and a half and",
        "三三",
        "两半",
        "负",
        "",
    ],
)
def test_what_is_no_cardinal_is_no_number(text: str) -> None:
    assert number_words(text) is None


@given(st.integers(0, 999), st.sampled_from(("x", "s", "banana", "apples")))
def test_a_number_inside_a_longer_text_is_not_found(number: int, other: str) -> None:
    assert number_words(f"{english(number)} {other}") is None
    assert number_words(f"{english(number)}{other}") is None or other == "s"


SCALES = [
    ("million", 10**6),
    ("Millions", 10**6),
    ("dozen", 12),
    ("万", 10**4),
    ("亿", 10**8),
    ("k", None),
    ("ten", None),
]


@pytest.mark.parametrize("text, value", SCALES)
def test_a_scale_word_is_its_factor(text: str, value: int | None) -> None:
    assert scale_word(text) == value


@given(
    st.text() | st.text(alphabet="一二十百千万亿零点分之半负两 0123456789.") | st.text(alphabet="-一1٣.万")
)
def test_no_text_raises(text: str) -> None:
    number_words(text)
    scale_word(text)


@given(
    st.lists(
        st.sampled_from(
            "a an and one two ten twenty hundred thousand million half third thirds point dozen".split()
        )
    )
)
def test_no_sequence_of_number_words_raises(words: list[str]) -> None:
    value = number_words(" ".join(words))
    assert value is None or value >= 0


def test_long_text_is_refused_at_once() -> None:
    start = time.process_time()
    for unit in ("one ", "一", "-", "二十", "1.", "a half and "):
        assert number_words(unit * 100_000) is None
    assert time.process_time() - start < 0.5
