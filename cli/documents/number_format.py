"""What a spreadsheet's cell shows of a number: its number format, applied."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache

from pgblend.cli.documents.date_names import ENGLISH, DateNames, date_names

# Formats that files name by number only. Those of the reader's own country (14, 22, 27 to 36, 50
# to 58) differ from machine to machine: they are written as ISO dates.
_ISO_DATE, _ISO_TIME = "yyyy-mm-dd", "yyyy-mm-dd hh:mm"
BUILT_IN = {
    **{1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: "$#,##0;-$#,##0", 6: "$#,##0;-$#,##0"},
    **{7: "$#,##0.00;-$#,##0.00", 8: "$#,##0.00;-$#,##0.00", 9: "0%", 10: "0.00%"},
    **{11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: _ISO_DATE, 15: "d-mmm-yy", 16: "d-mmm"},
    **{17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss"},
    **{22: _ISO_TIME, 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)"},
    **{40: "#,##0.00;(#,##0.00)", 41: "#,##0;(#,##0);-", 42: "$#,##0;($#,##0);-"},
    **{43: "#,##0.00;(#,##0.00);-", 44: "$#,##0.00;($#,##0.00);-", 45: "mm:ss"},
    **{46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@"},
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), _ISO_DATE),
}
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)'
    r"|\[(?P<bracket>[^\]]*)\]|(?P<noon>(?i:AM/PM|A/P))|(?P<general>(?i:General|Standard))"
    r"|(?P<exponent>[Ee][+-])|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+|(?<=[sS])\.0+|[gGeEbB]+)"
    r"|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[\d.]+)")
# A currency sign, a language of names, or both: [$\u20ac-407], [$-de-DE].
_CURRENCY = re.compile(r"\$([^-\]]*)(?:-([0-9A-Za-z-]+)(?:,\w+)?)?")
_ELAPSED = re.compile(r"(?i:h+|m+|s+)")
_LONGEST_CODE = 500
_WHOLE = re.compile(r"-?\d{1,40}")
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
# Excel counts 29 February 1900, a day that never was.
_LEAP_DAY = 60
_LAST_SERIAL = 2_958_466


@dataclass(frozen=True)
class _Section:
    """A format for some values: its tokens, each of a kind, when it holds, its language."""

    tokens: tuple[tuple[str, str], ...]
    condition: tuple[str, float] | None
    names: DateNames = ENGLISH

    def has(self, *kinds: str) -> bool:
        return any(kind in kinds for kind, _ in self.tokens)


def shown(value: float, code: str, from_1904: bool = False, raw: str = "") -> str:
    """Write a number as its cell shows it; `raw` are its digits in the file.

    A number without a format keeps all its digits. A format that makes no sense counts as none.
    """
    if code in ("", "General") or len(code) > _LONGEST_CODE:
        return general(value, raw)
    return _shown(value, code, from_1904, raw)


def shown_moment(text: str, code: str) -> str:
    """Write a date of ISO 8601 as its cell shows it; a text that is none stays."""
    try:
        days = (datetime.fromisoformat(text) - _EPOCH) / timedelta(days=1)
    except (ValueError, TypeError, OverflowError):
        return text
    plain = _ISO_DATE if days == int(days) else _ISO_TIME
    return shown(days, plain if code in ("", "General") else code, raw=text)


@lru_cache(10_000)
def _shown(value: float, code: str, from_1904: bool, raw: str) -> str:
    try:
        section, number = _choose(_sections(code), value)
        if section.has("general"):
            text = _literals(section, general(number, raw if number == value else ""))
        elif section.has("date", "elapsed"):
            text = _date(section, value, from_1904)
        elif section.has("digit"):
            text = _number(section, number, raw.lstrip("-") if _WHOLE.fullmatch(raw) else "")
        else:
            text = _literals(section, general(number, raw))
    except (ArithmeticError, ValueError, OverflowError):
        return general(value, raw)
    return " ".join(text.split())


def shown_text(text: str, code: str) -> str:
    """Write a text as its cell shows it: the last section of four may add words."""
    if "@" not in code or len(code) > _LONGEST_CODE:
        return text
    sections = _sections(code)
    section = sections[-1]
    return _literals(section, text) if section.has("text") else text


def general(value: float, raw: str = "") -> str:
    """Write a number with all its digits, and no more than the fifteen that count."""
    if _WHOLE.fullmatch(raw):
        return raw
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    digits = Decimal(f"{value or 0:.15g}")
    if digits and not -20 < digits.adjusted() < 30:
        return f"{digits.normalize():E}"
    text = f"{digits:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(1000)
def _sections(code: str) -> tuple[_Section, ...]:
    sections: list[_Section] = []
    tokens: list[tuple[str, str]] = []
    condition: tuple[str, float] | None = None
    names = ENGLISH
    for match in _TOKEN.finditer(code):
        kind = str(match.lastgroup)
        text = match[kind]
        if kind == "other" and text == ";":
            sections.append(_Section(tuple(tokens), condition, names))
            tokens, condition, names = [], None, ENGLISH
        elif kind == "bracket":
            if found := _CONDITION.fullmatch(text):
                condition = (found[1], float(found[2]))
            elif found := _CURRENCY.fullmatch(text):
                tokens.append(("literal", found[1]))
                names = date_names(found[2] or "")
            elif _ELAPSED.fullmatch(text):
                tokens.append(("elapsed", text.lower()))
        elif kind != "fill":
            tokens.append(_token(kind, text))
    sections.append(_Section(tuple(tokens), condition, names))
    return tuple(map(_with_minutes, sections))


def _token(kind: str, text: str) -> tuple[str, str]:
    if kind in ("quoted", "escaped"):
        return "literal", text
    if kind == "space":
        return "literal", " "
    if kind == "other":
        return ("text", text) if text == "@" else ("sign", text)
    return kind, text.lower() if kind == "date" else text


def _with_minutes(section: _Section) -> _Section:
    """Tell minutes from months: they stand after hours or before seconds."""
    tokens = list(section.tokens)
    parts = [place for place, (kind, _) in enumerate(tokens) if kind in ("date", "elapsed")]
    for index, place in enumerate(parts):
        kind, text = tokens[place]
        before = tokens[parts[index - 1]][1][0] if index else ""
        after = tokens[parts[index + 1]][1][0] if index + 1 < len(parts) else ""
        if kind == "date" and text in ("m", "mm") and (before == "h" or after == "s"):
            tokens[place] = ("date", text.replace("m", "n"))
    return replace(section, tokens=tuple(tokens))


def _choose(sections: tuple[_Section, ...], value: float) -> tuple[_Section, float]:
    """Return the section of a value, and what of the value it shows: its sign may be the format's.

    Of sections without conditions the second is for negative numbers, the third for zero.
    """
    numeric = [each for each in sections[:3] if not each.has("text")] or list(sections[:1])
    if any(each.condition for each in numeric):
        for place, each in enumerate(numeric):
            if each.condition is None or _holds(each.condition, value):
                hides_sign = place > 0 and each.condition is None and len(numeric) == 2
                return each, abs(value) if hides_sign else value
        return numeric[-1], value
    if value < 0 and len(numeric) > 1:
        return numeric[1], -value
    if value == 0 and len(numeric) > 2:
        return numeric[2], value
    return numeric[0], value


def _holds(condition: tuple[str, float], value: float) -> bool:
    sign, bound = condition
    return {
        "<": value < bound,
        "<=": value <= bound,
        ">": value > bound,
        ">=": value >= bound,
        "=": value == bound,
        "<>": value != bound,
    }[sign]


def _literals(section: _Section, text: str) -> str:
    """Write a section that has no digits: its words, and the value where it says so."""
    parts = []
    for kind, token in section.tokens:
        if kind in ("general", "text"):
            parts.append(text)
        elif kind in ("literal", "sign"):
            parts.append(token)
    return "".join(parts)


def _number(section: _Section, value: float, raw: str) -> str:
    tokens = section.tokens
    signs = [token for kind, token in tokens if kind == "sign"]
    if "/" in signs:
        return _fraction(section, value)
    digits = [place for place, (kind, _) in enumerate(tokens) if kind == "digit"]
    exponent = next((place for place, (kind, _) in enumerate(tokens) if kind == "exponent"), None)
    point = next((p for p, token in enumerate(tokens) if token == ("sign", ".")), len(tokens))
    end = len(tokens) if exponent is None else exponent
    whole = [place for place in digits if place < min(point, end)]
    decimals = [place for place in digits if point < place < end]
    number = abs(Decimal(raw or f"{value:.15g}")) * 100 ** signs.count("%")
    last = whole[-1] if whole else -1
    commas = {p for p, token in enumerate(tokens[:end]) if token == ("sign", ",")}
    if exponent is None:
        number /= 1000 ** len([p for p in commas if p > max([last, *decimals])])
        power = 0
    else:
        power = _power(number, max(len(whole), 1))
        number = number.scaleb(-power)
    number = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    left, _, right = f"{number:f}".partition(".")
    shown_digits = _whole_digits(tokens, whole, left, any(p < last for p in commas))
    shown_digits |= _decimal_digits(tokens, decimals, right)
    if exponent is not None:
        places = [place for place in digits if place > exponent]
        shown_digits |= _whole_digits(tokens, places, str(abs(power)), False)
    parts = ["-"] if value < 0 and number else []
    for place, (kind, token) in enumerate(tokens):
        if place in shown_digits:
            parts.append(shown_digits[place])
        elif kind == "exponent":
            parts.append("E" + ("-" if power < 0 else "+" if token[1] == "+" else ""))
        elif kind == "literal" or (kind == "sign" and place not in commas):
            # A point that nothing follows is left out where its digits were.
            is_bare = place == point and decimals and not any(shown_digits[p] for p in decimals)
            parts.append("" if is_bare else token)
    return "".join(parts)


def _power(number: Decimal, step: int) -> int:
    """Return the power of ten of a scientific number, a multiple of its digits before the point."""
    return number.adjusted() // step * step if step > 1 and number else number.adjusted()


def _whole_digits(
    tokens: tuple[tuple[str, str], ...], places: list[int], digits: str, grouped: bool
) -> dict[int, str]:
    """Give digits to the places before the point, from the right; the first takes all the rest."""
    digits = digits.lstrip("0")
    found: dict[int, str] = {}
    count = 0
    for place in reversed(places):
        taken = digits if place == places[0] else digits[-1:]
        digits = digits[: len(digits) - len(taken)]
        if not taken:
            taken = {"0": "0", "?": " "}.get(tokens[place][1], "")
        text = ""
        for digit in reversed(taken):
            comma = "," if grouped and count and count % 3 == 0 and digit != " " else ""
            text = digit + comma + text
            count += 1
        found[place] = text
    return found


def _decimal_digits(
    tokens: tuple[tuple[str, str], ...], places: list[int], digits: str
) -> dict[int, str]:
    found: dict[int, str] = {}
    digits = digits.ljust(len(places), "0")
    for index, place in enumerate(places):
        has_zero = any(tokens[later][1] == "0" for later in places[index:])
        is_needed = has_zero or bool(digits[index:].strip("0"))
        found[place] = digits[index] if is_needed else ""
    return found


def _fraction(section: _Section, value: float) -> str:
    """Write a number as a fraction, with the whole number before it where the format has one."""
    code = "".join(token for _, token in section.tokens)
    top, _, bottom = code.partition("/")
    match = re.match(r"\s*(\d+|[?#0]+)", bottom)
    if match is None:
        raise ValueError("no fraction")
    has_whole = len(re.findall(r"[?#0]+", top)) > 1
    number = Fraction(abs(Decimal(f"{value:.15g}")))
    whole = int(number) if has_whole else 0
    rest = number - whole
    if match[1].isdigit() and int(match[1]):
        parts = int(match[1])
        count = int(rest * parts + Fraction(1, 2))
    else:
        rest = rest.limit_denominator(10 ** min(len(match[1]), 9) - 1)
        count, parts = rest.numerator, rest.denominator
    if has_whole and count == parts:
        whole, count = whole + 1, 0
    written = f"{count}/{parts}" if count or not has_whole else ""
    shown_whole = str(whole) if whole or not written else ""
    return ("-" if value < 0 else "") + f"{shown_whole} {written}".strip()


def _date(section: _Section, value: float, from_1904: bool) -> str:
    if not 0 <= value < _LAST_SERIAL and not section.has("elapsed"):
        raise ValueError("no date")
    unit = _smallest_unit(section)
    seconds = Fraction(Decimal(f"{value:.15g}")) * 86400
    seconds = Fraction(int(seconds / unit + Fraction(1, 2))) * unit
    epoch = _EPOCH_1904 if from_1904 else _EPOCH
    # The day before the first is shown as 0 January 1900.
    is_zero = not from_1904 and 0 <= value < 1
    days = (2 if is_zero else 1) if not from_1904 and value < _LEAP_DAY else 0
    microseconds = int(seconds % 86400 * 1_000_000)
    moment = epoch + timedelta(int(seconds // 86400) + days, microseconds=microseconds)
    half = section.has("noon")
    parts = []
    for kind, token in section.tokens:
        if kind == "date":
            is_day = is_zero and token in ("d", "dd")
            parts.append(
                "0" * len(token) if is_day else _date_part(token, moment, half, section.names)
            )
        elif kind == "elapsed":
            count = int(seconds // {"h": 3600, "m": 60, "s": 1}[token[0]])
            parts.append(str(count).zfill(len(token)))
        elif kind == "noon":
            parts.append(("AM" if moment.hour < 12 else "PM")[: 1 if len(token) == 3 else 2])
        elif kind in ("literal", "sign", "digit"):
            parts.append(token)
    return "".join(parts)


def _smallest_unit(section: _Section) -> Fraction:
    """Return the seconds that the last shown place stands for; times are rounded to it."""
    shown_parts = "".join(token for kind, token in section.tokens if kind in ("date", "elapsed"))
    decimals = re.search(r"\.(0+)", shown_parts)
    if decimals:
        return Fraction(1, 10 ** min(len(decimals[1]), 6))
    return Fraction(1)


def _date_part(token: str, moment: datetime, half: bool, names: DateNames) -> str:
    letter, size = token[0], len(token)
    if letter == "y":
        return f"{moment.year % 100:02}" if size <= 2 else str(moment.year)
    if letter == "m":
        if size <= 2:
            return str(moment.month).zfill(size)
        name = (names.short_months if size == 3 else names.months)[moment.month - 1]
        return name[0] if size == 5 else name
    if letter == "d":
        if size <= 2:
            return str(moment.day).zfill(size)
        return (names.short_days if size == 3 else names.days)[moment.weekday()]
    if letter == ".":
        return f".{moment.microsecond:06}"[:size]
    numbers = {"h": moment.hour, "n": moment.minute, "s": moment.second}
    if letter not in numbers:
        return str(moment.year)  # years of other calendars
    number = (moment.hour % 12 or 12) if letter == "h" and half else numbers[letter]
    return str(number).zfill(min(size, 2))
