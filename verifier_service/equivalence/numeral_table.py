"""Tables for numerals.py: the words of numbers."""

from fractions import Fraction

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: value for value, word in enumerate(_UNITS.split())}
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)}
TENS["fourty"] = 40  # a common misspelling that means nothing else
SCALES = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "quadrillion": 10**15,
    "quintillion": 10**18,
}
ALONE = {"hundred": 100, "dozen": 12, **SCALES}  # numbers without a count before them, or after "a"
HALVED = {"dozen": 12, **SCALES}  # "half a million"

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth"
ORDINALS = {word: value for value, word in enumerate(_ORDINALS.split(), start=1)}
_TEENTHS = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth "
    "nineteenth twentieth"
)


def _denominators() -> dict[str, int]:
    table = {word: value for word, value in ORDINALS.items() if value > 2}
    table |= {word: value for value, word in enumerate(_TEENTHS.split(), start=10)}
    table |= {
        "half": 2,
        "quarter": 4,
        "hundredth": 100,
        "thousandth": 1000,
        "millionth": 10**6,
        "billionth": 10**9,
    }
    table |= {word.removesuffix("y") + "ieth": value for word, value in TENS.items()}
    table |= {f"{tens}_{word}": high + low for tens, high in TENS.items() for word, low in ORDINALS.items()}
    return table


DENOMINATORS = _denominators()
DENOMINATORS_PLURAL = {word + "s": value for word, value in DENOMINATORS.items()} | {"halves": 2}

SCALE_WORDS = {
    "hundred": 100,
    "dozen": 12,
    "dozens": 12,
    "ten thousand": 10**4,
    "hundred thousand": 10**5,
    "hundred million": 10**8,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
    "crores": 10**7,
    **SCALES,
    **{word + "s": value for word, value in SCALES.items()},
    "百": 10**2,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "十万": 10**5,
    "百万": 10**6,
    "千万": 10**7,
    "亿": 10**8,
    "億": 10**8,
    "十亿": 10**9,
    "百亿": 10**10,
    "千亿": 10**11,
    "万亿": 10**12,
    "cien": 100,
    "mil": 10**3,
    "millon": 10**6,
    "millones": 10**6,
    "mil millones": 10**9,
    "billon": 10**12,
    "billones": 10**12,
    "mille": 10**3,
    "milliard": 10**9,
    "milliards": 10**9,
    "hundert": 100,
    "tausend": 10**3,
    "millionen": 10**6,
    "milliarde": 10**9,
    "milliarden": 10**9,
    "douzaine": 12,
    "douzaines": 12,
    "docena": 12,
    "docenas": 12,
    "dutzend": 12,
    "тысяча": 10**3,
    "тысячи": 10**3,
    "тысяч": 10**3,
    "миллион": 10**6,
    "миллиона": 10**6,
    "миллионов": 10**6,
    "миллиард": 10**9,
    "миллиарда": 10**9,
    "миллиардов": 10**9,
    "milhao": 10**6,
    "milhoes": 10**6,
    "milione": 10**6,
    "milioni": 10**6,
}

# Words that are also English ("once", "elf", "cent") are left out. Accents are folded before look-up.
_COUNTED = {
    "es": (
        "cero uno dos tres cuatro cinco seis siete ocho nueve diez - doce trece catorce quince dieciseis "
        "diecisiete dieciocho diecinueve veinte veintiuno veintidos veintitres veinticuatro veinticinco "
        "veintiseis veintisiete veintiocho veintinueve"
    ),
    "fr": (
        "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "dix_sept dix_huit dix_neuf vingt"
    ),
    "de": (
        "- eins zwei drei vier funf sechs sieben acht neun zehn - zwolf dreizehn vierzehn funfzehn "
        "sechzehn siebzehn achtzehn neunzehn zwanzig"
    ),
    "it": (
        "- - - tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
        "sedici diciassette diciotto diciannove venti"
    ),
    "pt": (
        "- um dois tres quatro - - sete oito nove dez onze doze treze quatorze quinze dezesseis "
        "dezessete dezoito dezenove vinte"
    ),
    "ru": (
        "ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать "
        "четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать двадцать"
    ),
}
_MORE = (
    "un 1|una 1|une 1|ein 1|eine 1|uma 1|duas 2|одна 1|две 2|treinta 30|cuarenta 40|cincuenta 50|"
    "sesenta 60|setenta 70|ochenta 80|noventa 90|cien 100|mil 1000|doscientos 200|trescientos 300|"
    "cuatrocientos 400|quinientos 500|seiscientos 600|setecientos 700|ochocientos 800|novecientos 900|"
    "dos mil 2000|un millon 1000000|trente 30|quarante 40|cinquante 50|soixante 60|soixante dix 70|"
    "quatre vingt 80|quatre vingts 80|quatre vingt dix 90|deux cents 200|trois cents 300|mille 1000|"
    "deux mille 2000|un million 1000000|septante 70|huitante 80|nonante 90|dreissig 30|vierzig 40|"
    "funfzig 50|sechzig 60|siebzig 70|achtzig 80|neunzig 90|hundert 100|einhundert 100|zweihundert 200|"
    "dreihundert 300|tausend 1000|eintausend 1000|zweitausend 2000|eine million 1000000|тридцать 30|"
    "сорок 40|пятьдесят 50|шестьдесят 60|семьдесят 70|восемьдесят 80|девяносто 90|сто 100|тысяча 1000|"
    "medio 1/2|un medio 1/2|la mitad 1/2|un tercio 1/3|dos tercios 2/3|un cuarto 1/4|tres cuartos 3/4|"
    "un quinto 1/5|demi 1/2|un demi 1/2|la moitie 1/2|un tiers 1/3|deux tiers 2/3|un quart 1/4|"
    "trois quarts 3/4|un cinquieme 1/5|ein halb 1/2|einhalb 1/2|die halfte 1/2|anderthalb 3/2|"
    "ein drittel 1/3|zwei drittel 2/3|ein viertel 1/4|drei viertel 3/4|ein funftel 1/5|половина 1/2|"
    "треть 1/3|одна треть 1/3|две трети 2/3|четверть 1/4|одна четверть 1/4|три четверти 3/4"
)
_FRENCH_TENS = {"vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60}
_SPANISH_TENS = ("treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa")
_RUSSIAN_TENS = (
    "двадцать",
    "тридцать",
    "сорок",
    "пятьдесят",
    "шестьдесят",
    "семьдесят",
    "восемьдесят",
    "девяносто",
)
_GERMAN_TENS = ("zwanzig", "dreissig", "vierzig", "funfzig", "sechzig", "siebzig", "achtzig", "neunzig")


def _compounds(counted: dict[str, list[str]]) -> dict[str, int]:
    """21 to 99, each language in its own order: tens "et" ones, tens "y" ones, ones "und" tens."""
    table: dict[str, int] = {}
    for ones in range(1, 10):
        for place, tens in enumerate(_SPANISH_TENS, start=3):
            table[f"{tens} y {counted['es'][ones]}"] = 10 * place + ones
        for place, tens in enumerate(_RUSSIAN_TENS, start=2):
            table[f"{tens} {counted['ru'][ones]}"] = 10 * place + ones
        for place, tens in enumerate(_GERMAN_TENS, start=2):
            head = "ein" if ones == 1 else counted["de"][ones]
            table[f"{head}und{tens}"] = 10 * place + ones
    for tens, value in _FRENCH_TENS.items():
        for ones in range(1, 20 if value == 60 else 10):
            joint = " et " if ones in (1, 11) else " "
            table[tens + joint + counted["fr"][ones]] = value + ones
    for ones in range(1, 20):
        table[f"quatre vingt {counted['fr'][ones]}"] = 80 + ones
    return table


def _foreign() -> dict[str, Fraction]:
    counted = {
        language: [word.replace("_", " ") for word in words.split()] for language, words in _COUNTED.items()
    }
    whole = {word: value for words in counted.values() for value, word in enumerate(words) if word != "-"}
    whole |= _compounds(counted)
    more = dict(entry.rsplit(" ", 1) for entry in _MORE.split("|"))
    return {word: Fraction(value) for word, value in (whole | more).items()}


FOREIGN = _foreign()

CJK_VALUES = (
    {ch: value for value, ch in enumerate("零一二三四五六七八九")}
    | {ch: value for value, ch in enumerate("〇壹贰叁肆伍陆柒捌玖")}
    | {"两": 2, "兩": 2}
)
CJK_DIGITS = "".join(CJK_VALUES)
CJK_UNIT_VALUES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8} | {
    "拾": 10,
    "佰": 100,
    "仟": 1000,
    "萬": 10**4,
    "億": 10**8,
}
CJK_UNITS = "".join(CJK_UNIT_VALUES)
CJK_STARTS = frozenset(CJK_DIGITS + CJK_UNITS + "负負正半")
