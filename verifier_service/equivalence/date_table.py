"""Names of months and weekdays in common languages, for dates.py. Looked up without case and accents."""

import unicodedata


def fold(text: str) -> str:
    folded = text.casefold()
    if folded.isascii():
        return folded
    parts = unicodedata.normalize("NFD", folded)
    return unicodedata.normalize("NFC", "".join(ch for ch in parts if not unicodedata.combining(ch)))


_MONTHS = (
    "january jan enero janvier januar gennaio gen janeiro января январь янв",
    "february feb febr febrero fevrier fev februar febbraio fevereiro февраля февраль фев",
    "march mar marzo mars marz março марта март мар",
    "april apr abril avril avr aprile апреля апрель апр",
    "may mayo mai maggio maio мая май",
    "june jun junio juin juni giugno junho июня июнь",
    "july jul julio juillet juil juli luglio julho июля июль",
    "august aug agosto aout августа август авг",
    "september sept sep septiembre septembre settembre setembro сентября сентябрь сен",
    "october oct octubre octobre oktober okt ottobre outubro октября октябрь окт",
    "november nov noviembre novembre novembro ноября ноябрь ноя",
    "december dec diciembre dic decembre dezember dez dicembre dezembro декабря декабрь дек",
)
_WEEKDAYS = (
    "monday mon lunes lundi montag lunedi понедельник 星期一 周一 礼拜一 月曜日 월요일",
    "tuesday tue tues martes mardi dienstag martedi вторник 星期二 周二 礼拜二 火曜日 화요일",
    "wednesday wed weds miercoles mercredi mittwoch mercoledi среда 星期三 周三 礼拜三 水曜日 수요일",
    "thursday thu thur thurs jueves jeudi donnerstag giovedi четверг 星期四 周四 礼拜四 木曜日 목요일",
    "friday fri viernes vendredi freitag venerdi пятница 星期五 周五 礼拜五 金曜日 금요일",
    "saturday sat sabado samedi samstag sonnabend sabato суббота 星期六 周六 礼拜六 土曜日 토요일",
    "sunday sun domingo dimanche sonntag domenica воскресенье 星期日 星期天 周日 周天 礼拜天 日曜日 일요일",
)

NOON = "noon midday mediodia midi mittag полдень 中午 正午 meio-dia mezzogiorno"
MIDNIGHT = "midnight medianoche minuit mitternacht полночь 午夜 零点 meia-noite mezzanotte"


def _numbered(lists: tuple[str, ...]) -> dict[str, int]:
    return {fold(name): number for number, names in enumerate(lists, start=1) for name in names.split()}


MONTHS = _numbered(_MONTHS)
WEEKDAYS = _numbered(_WEEKDAYS)
