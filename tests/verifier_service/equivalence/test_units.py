"""Units of measure and money, and what a prompt says about them."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_service.equivalence import unit_table
from verifier_service.equivalence.units import (
    Unit,
    asks_percent,
    convertible,
    currency_symbol,
    is_count_word,
    names_unit,
    parse_unit,
    units_in_prompt,
)


def unit(text: str) -> Unit:
    found = parse_unit(text)
    assert found is not None, text
    return found


# each line: spellings of one and the same unit
SAME = [
    "cm|centimeter|centimetres|centímetros|Zentimeter|сантиметров|厘米|CM",
    r"cm^2|cm2|cm²|cm^{2}|square centimeters|sq. cm|sq cm|centimeters squared|平方厘米|Quadratzentimeter|\text{ cm}^2",
    "ft^3|cubic feet|cu. ft|cu ft|ft³|feet cubed",
    r"km/h|kilometers per hour|kph|km·h^{-1}|km h^-1|kilometres an hour|千米/时|千米每小时|км/ч|kilómetros por hora|"
    r"\frac{\text{km}}{\text{h}}|\frac{km}{h}",
    r"m/s^2|m/s/s|meters per second squared|meters per second per second|m·s⁻²|m \cdot s^{-2}",
    "kg m^2|kg*m^2|kg·m²|kilogram square meters",
    "J/(kg·K)|J/kg K|joules per kilogram kelvin",
    "N·m|N m|newton meters|newton-meters",
    "mph|miles per hour|mi/h|MPH",
    "h|hr|hrs|hours|heures|Stunden|часов|小时",
    "min|mins|minutes|分钟|минут",
    "°C|℃|degrees Celsius|° C|摄氏度|Celsius",
    "L|l|liters|litres|升|dm^3|cubic decimeters",
    "mL|ml|milliliters|cc|cm^3|毫升",
    "km^2|square kilometers|平方公里|sq km",
    "in^2|square inches|sq. in.|in²",
    "$|dollars|USD|US$|US dollars|dólares",
    "¥|yuan|元|RMB|块",
    "€|euros|EUR|欧元",
    "kWh|kilowatt-hours|kilowatt hours",
    "GB|gigabytes",
    "fl oz|fluid ounces",
    "year|years|yr|years old|岁|лет|ans",
    "units^2|square units|sq units|平方单位",
]


@pytest.mark.parametrize("line", SAME)
def test_spellings_of_one_unit_are_one_unit(line: str) -> None:
    first, *others = line.split("|")
    for other in others:
        assert convertible(unit(first), unit(other)) == 1, other


CONVERSIONS = [
    ("m", "cm", 100),
    ("km", "m", 1000),
    ("h", "min", 60),
    ("day", "h", 24),
    ("week", "days", 7),
    ("year", "months", 12),
    ("ft", "in", 12),
    ("yard", "ft", 3),
    ("mile", "ft", 5280),
    ("in", "cm", "2.54"),
    ("lb", "oz", 16),
    ("ton", "lb", 2000),
    ("t", "kg", 1000),
    ("gal", "qt", 4),
    ("L", "cm^3", 1000),
    ("m^3", "L", 1000),
    ("m/s", "km/h", "3.6"),
    ("mph", "ft/s", "22/15"),
    ("acre", "square feet", 43560),
    ("hectare", "m^2", 10000),
    ("degree", "arc minutes", 60),
    ("dollars", "cents", 100),
    ("元", "角", 10),
    ("万元", "元", 10000),
    ("kWh", "J", 3600000),
    ("斤", "克", 500),
    ("minutes", "degrees", "1/60"),
    ("pounds", "£", 1),
    ("pounds", "kg", "0.45359237"),
    ("¥", "yen", 1),
]


@pytest.mark.parametrize("one, other, factor", CONVERSIONS)
def test_units_convert_exactly_both_ways(one: str, other: str, factor: int | str) -> None:
    assert convertible(unit(one), unit(other)) == Fraction(factor)
    assert convertible(unit(other), unit(one)) == 1 / Fraction(factor)


STRANGERS = [
    "cm|cm^2",
    "cm^2|cm^3",
    "kg|m",
    "°C|°F",
    "°C|K",
    "$|€",
    "£|kg",
    "month|days",
    "m/s|m",
    "USD|CNY",
    "mW|m",
]


@pytest.mark.parametrize("pair", STRANGERS)
def test_unlike_units_do_not_convert(pair: str) -> None:
    one, other = pair.split("|")
    assert convertible(unit(one), unit(other)) is None


def test_case_counts_where_it_matters() -> None:
    assert convertible(unit("MW"), unit("mW")) == 10**9
    assert parse_unit("mw") is None
    assert convertible(unit("KG"), unit("kg")) == 1


NO_UNITS = (
    "x|apples|a|an|per|square|m/|(m/s)^2|m^100|m^2^3|cm cm^|万|people|m^0|1|^2|/|-|m//s|per cent|cm 2|"
    "feet 6 inches|"
)


@pytest.mark.parametrize("text", NO_UNITS.split("|"))
def test_what_is_no_unit_is_none(text: str) -> None:
    assert parse_unit(text) is None


@pytest.mark.parametrize(
    "text, bare", [("m", True), ("m^2", True), ("h", True), ("cm", False), ("m/s", False), ("Ω", False)]
)
def test_a_single_letter_is_flagged(text: str, bare: bool) -> None:
    assert unit(text).bare_letter is bare


SYMBOLS = [atom.split("|")[3].split() for atom in unit_table.UNITS.strip().split("\n")]
SIMPLE = sorted(
    {symbol for row in SYMBOLS for symbol in row if symbol.isalpha() and symbol.isascii() and len(symbol) > 1}
)


@given(st.sampled_from(SIMPLE), st.sampled_from(SIMPLE), st.integers(1, 4))
def test_products_quotients_and_powers_follow_the_dimensions(one: str, other: str, power: int) -> None:
    first, second = unit(one), unit(other)
    product, quotient = unit(f"{one}*{other}"), unit(f"{one}/{other}^{power}")
    assert product.factor == first.factor * second.factor
    assert quotient.factor == first.factor / second.factor**power
    bases = dict(first.dimension)
    for base, exponent in second.dimension:
        bases[base] = bases.get(base, 0) - power * exponent
    assert dict(quotient.dimension) == {base: exponent for base, exponent in bases.items() if exponent}


@given(st.sampled_from(SIMPLE), st.sampled_from(SIMPLE))
def test_conversion_there_and_back_is_nothing(one: str, other: str) -> None:
    factor = convertible(unit(one), unit(other))
    if factor is not None:
        assert factor * (convertible(unit(other), unit(one)) or 0) == 1


@given(st.text() | st.text(alphabet="mskg/^2-·*()²⁻ per\\{}fractext平方米每$°"))
def test_no_text_raises(text: str) -> None:
    found = parse_unit(text)
    assert found is None or found.factor > 0
    units_in_prompt(text)
    asks_percent(text)
    currency_symbol(text)
    names_unit(text, unit("cm"))


MONEY = [("$", "usd"), ("£", "gbp"), ("€", "eur"), ("₹", "inr"), ("US$", "usd"), ("USD", "usd"), ("¥", "cny")]


@pytest.mark.parametrize("sign, base", MONEY)
def test_a_sign_of_money_is_its_currency(sign: str, base: str) -> None:
    found = currency_symbol(sign)
    assert found is not None
    assert found.dimension == ((base, 1),)


@pytest.mark.parametrize("sign", ["", "¢", "x", "m", "dollars", "%"])
def test_no_other_sign_is_money(sign: str) -> None:
    assert currency_symbol(sign) is None


def test_measure_words_only_count() -> None:
    assert is_count_word("个")
    assert not is_count_word("米")


ASKED = [
    ("How tall is the tree, in metres?", "m"),
    ("Find the surface in square inches.", "square inches"),
    ("How many minutes does the trip take?", "minutes"),
    ("How many more square feet of carpet are needed?", "square feet"),
    ("Convert 3 hours to minutes.", "minutes"),
    ("Round your answer to the nearest cent.", "cents"),
    ("Give it to the nearest tenth of a meter.", "m"),
    ("What is the speed in m/s?", "m/s"),
    (r"What is the speed in $\text{km/h}$?", "km/h"),
    ("What is the length in m?", "m"),
    ("Find the radius of the circle (in cm).", "cm"),
    ("Give your answer in feet and inches.", "ft|in"),
    ("How many hours a day does she work?", "h|h/day"),
    ("How much does it cost? Each is \\$5.", "$"),
    ("How much did she pay? Pens are $3 and rulers $4 each, and glue is $1.", "$"),
    ("这条路长多少千米？", "km"),
    ("求面积。（单位：平方厘米）", "cm^2"),
    ("一共要付多少元？", "元"),
    ("¿Cuántos metros mide la cuerda?", "m"),
    ("Combien de litres reste-t-il ?", "L"),
    ("Wie viele Stunden braucht er?", "h"),
    ("Сколько метров ткани осталось?", "m"),
    ("Express the perimeter in terms of m.", ""),
    ("Find a polynomial in m.", ""),
    ("She is in second place. In how many ways can they line up?", ""),
    ("A 5 cm rod is cut. How many pieces are there?", ""),
    ("How many in total?", ""),
    ("If $x$ is the cost, how much is $5x$?", ""),
    ("几分之几是红色的？", ""),
    ("", ""),
]


@pytest.mark.parametrize("prompt, expected", ASKED)
def test_the_unit_asked_for_is_found(prompt: str, expected: str) -> None:
    wanted = [unit(text) for text in expected.split("|") if text]
    found = units_in_prompt(prompt)
    assert len(found) == len(wanted)
    assert all(convertible(one, other) == 1 for one, other in zip(found, wanted, strict=True))


NAMED = [
    ("He walks 5 metres.", "m", True),
    ("A 5 m wall is painted.", "m", True),
    (r"The side is $3\text{ cm}$.", "cm", True),
    ("A 5-cm rod.", "cm", True),
    ("A wall of 500 cm.", "m", False),
    ("Simplify 5m + 3m.", "m", False),
    ("Simplify 5 m + 3 m.", "m", False),
    ("Write it in terms of m.", "m", False),
    ("It costs $5 and more.", "$", True),
    ("Add $5x+3$ to it.", "$", False),
]


@pytest.mark.parametrize("prompt, text, expected", NAMED)
def test_a_unit_is_named_or_not(prompt: str, text: str, expected: bool) -> None:
    assert names_unit(prompt, unit(text)) is expected


PERCENT = [
    ("What percent of the voters stayed at home?", True),
    ("By what percent did it fall?", True),
    ("What is the percentage of red ones?", True),
    ("Express it as a percent.", True),
    ("Fill in: 3 of 4 is ___%", True),
    ("What is the rate (in %)?", True),
    ("红球占百分之几？", True),
    ("¿Qué porcentaje es rojo?", True),
    ("20% of the pupils are ill. How many are well?", False),
    (r"Mix $20\%$ acid with water.", False),
    ("After a 20 percent discount, what is the price?", False),
    ("After a twenty percent discount, what is the price?", False),
    ("What is the probability of an error?", False),
    ("What is x% of 5?", False),
    ("百分之二十的学生生病了，多少人没病？", False),
    ("", False),
]


@pytest.mark.parametrize("prompt, expected", PERCENT)
def test_a_percent_is_asked_for_or_not(prompt: str, expected: bool) -> None:
    assert asks_percent(prompt) is expected


HOSTILE = [
    "in ",
    "5 m ",
    "how many ",
    "_",
    "( ",
    "$5",
    "percentage ",
    "单位 ",
    "in m and ",
    "m/",
    "nearest ",
    "convert ",
    "\\text{",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_hostile_prompts_take_one_pass(piece: str) -> None:
    prompt = piece * (40_000 // len(piece))
    start = time.process_time()
    for text in (prompt, "how many" + " " * 40_000, "5" + " " * 40_000 + "?", "单位" + " " * 40_000):
        units_in_prompt(text)
        asks_percent(text)
        names_unit(text, unit("cm"))
        parse_unit(text)
    assert time.process_time() - start < 3
