"""Names of months and days: as spreadsheet programs write them, and as people do in a date."""

# ruff: noqa: RUF001 - letters of other scripts look like Latin ones

import unicodedata
from functools import cache
from typing import NamedTuple


class DateNames(NamedTuple):
    """Names from January and from Monday on, whole and short."""

    months: tuple[str, ...]
    short_months: tuple[str, ...]
    days: tuple[str, ...]
    short_days: tuple[str, ...]


def _names(months: str, days: str, short_months: str = "", short_days: str = "") -> DateNames:
    """Make them of words; short ones are the first three letters where none are given."""
    first = [" ".join(word[:3] for word in words.split()) for words in (months, days)]
    chosen = (months, short_months or first[0], days, short_days or first[1])
    return DateNames(*(tuple(words.split()) for words in chosen))


ENGLISH = _names(
    "January February March April May June July August September October November December",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
)
_GERMAN = _names(
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Mo Di Mi Do Fr Sa So",
)
_NORWEGIAN = _names(
    "januar februar mars april mai juni juli august september oktober november desember",
    "mandag tirsdag onsdag torsdag fredag lørdag søndag",
    short_days="ma ti on to fr lø sø",
)
# By ISO 639; formats name a language so, or by the lower bits of its number on Windows.
_BY_LANGUAGE = {
    "de": _GERMAN,
    "fr": _names(
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
        "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        "lun. mar. mer. jeu. ven. sam. dim.",
    ),
    "es": _names(
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
    ),
    "it": _names(
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    "pt": _names(
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    ),
    "nl": _names(
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        "jan feb mrt apr mei jun jul aug sep okt nov dec",
        "ma di wo do vr za zo",
    ),
    "sv": _names(
        "januari februari mars april maj juni juli augusti september oktober november december",
        "måndag tisdag onsdag torsdag fredag lördag söndag",
    ),
    "da": _names(
        "januar februar marts april maj juni juli august september oktober november december",
        "mandag tirsdag onsdag torsdag fredag lørdag søndag",
        short_days="ma ti on to fr lø sø",
    ),
    "nb": _NORWEGIAN,
    "no": _NORWEGIAN,
    "fi": _names(
        "tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu "
        "lokakuu marraskuu joulukuu",
        "maanantai tiistai keskiviikko torstai perjantai lauantai sunnuntai",
        "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu",
        "ma ti ke to pe la su",
    ),
    "pl": _names(
        "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień "
        "październik listopad grudzień",
        "poniedziałek wtorek środa czwartek piątek sobota niedziela",
        short_days="pon. wt. śr. czw. pt. sob. niedz.",
    ),
    "cs": _names(
        "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
        "pondělí úterý středa čtvrtek pátek sobota neděle",
        "I II III IV V VI VII VIII IX X XI XII",
        "po út st čt pá so ne",
    ),
    "tr": _names(
        "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
        "Pazartesi Salı Çarşamba Perşembe Cuma Cumartesi Pazar",
        short_days="Pzt Sal Çar Per Cum Cmt Paz",
    ),
    "uk": _names(
        "січень лютий березень квітень травень червень липень серпень вересень жовтень "
        "листопад грудень",
        "понеділок вівторок середа четвер п’ятниця субота неділя",
        "січ лют бер кві тра чер лип сер вер жов лис гру",
        "пн вт ср чт пт сб нд",
    ),
    "el": _names(
        "Ιανουάριος Φεβρουάριος Μάρτιος Απρίλιος Μάιος Ιούνιος Ιούλιος Αύγουστος Σεπτέμβριος "
        "Οκτώβριος Νοέμβριος Δεκέμβριος",
        "Δευτέρα Τρίτη Τετάρτη Πέμπτη Παρασκευή Σάββατο Κυριακή",
    ),
    "ro": _names(
        "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie "
        "decembrie",
        "luni marți miercuri joi vineri sâmbătă duminică",
    ),
    "hu": _names(
        "január február március április május június július augusztus szeptember október november "
        "december",
        "hétfő kedd szerda csütörtök péntek szombat vasárnap",
    ),
    "ru": _names(
        "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
        "понедельник вторник среда четверг пятница суббота воскресенье",
        short_days="Пн Вт Ср Чт Пт Сб Вс",
    ),
}
_NUMBERS = {
    **{0x05: "cs", 0x06: "da", 0x07: "de", 0x0A: "es", 0x0B: "fi", 0x0C: "fr", 0x10: "it"},
    **{0x08: "el", 0x0E: "hu", 0x18: "ro", 0x22: "uk"},
    **{0x13: "nl", 0x14: "no", 0x15: "pl", 0x16: "pt", 0x19: "ru", 0x1D: "sv", 0x1F: "tr"},
}
# The lower bits of a number are the language, those above it the country and the calendar.
_LANGUAGE_BITS = 0x3FF


def date_names(locale: str) -> DateNames:
    """Return the names of a format's locale, such as 407 or de-DE; English where it is unknown."""
    language = locale.partition("-")[0].lower()
    if language not in _BY_LANGUAGE:
        try:
            language = _NUMBERS.get(int(locale, 16) & _LANGUAGE_BITS, "")
        except ValueError:
            return ENGLISH
    return _BY_LANGUAGE.get(language, ENGLISH)


# Other forms of months: short ones, those of Austria, and of languages that bend them in a date.
_FURTHER_MONTHS = (
    "jan jän jänner janv ene gen stycznia ledna января січня ιανουαρίου tammikuuta"
    " يناير ינואר בינואר",
    "feb feber févr fév fev lutego února февраля лютого φεβρουαρίου helmikuuta"
    " فبراير פברואר בפברואר",
    "mar mär mrz mars mrt marca března марта березня μαρτίου maaliskuuta مارس מרץ במרץ",
    "apr avr abr kwietnia dubna апреля квітня απριλίου huhtikuuta أبريل אפריל באפריל",
    "may mai mag mei maja května мая травня μαΐου toukokuuta مايو מאי במאי",
    "jun giu czerwca června июня червня ιουνίου kesäkuuta يونيو יוני ביוני",
    "jul juil lug lipca července июля липня ιουλίου heinäkuuta يوليو יולי ביולי",
    "aug aoû ago sierpnia srpna августа серпня αυγούστου elokuuta أغسطس אוגוסט באוגוסט",
    "sep sept set setiembre września září сентября вересня σεπτεμβρίου syyskuuta"
    " سبتمبر ספטמבר בספטמבר",
    "oct okt ott out października října октября жовтня οκτωβρίου lokakuuta أكتوبر אוקטובר באוקטובר",
    "nov listopada listopadu ноября листопада νοεμβρίου marraskuuta نوفمبر נובמבר בנובמבר",
    "dec dez déc dic grudnia prosince декабря грудня δεκεμβρίου joulukuuta ديسمبر דצמבר בדצמבר",
)


@cache
def _month_numbers() -> dict[str, int]:
    found: dict[str, int] = {}
    for names in (ENGLISH, *_BY_LANGUAGE.values()):
        for several in (names.months, names.short_months):
            for number, name in enumerate(several, 1):
                found.setdefault(name.lower().strip("."), number)
    for number, forms in enumerate(_FURTHER_MONTHS, 1):
        found |= dict.fromkeys(forms.split(), number)
    return found


def month_number(name: str) -> int | None:
    """Return the month, from 1 on, that a name in any of the languages is of; None for others."""
    return _month_numbers().get(unicodedata.normalize("NFC", name.lower()).strip("."))
