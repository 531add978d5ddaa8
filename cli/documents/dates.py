"""The date of a text: what the text or its file says of itself, before the file's time."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime, parsedate_tz
from itertools import dropwhile, takewhile
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pgblend.cli.documents.date_names import month_number
from pgblend.cli.documents.document import Document

# Metadata that tell a document's date, the first that there is. Those are of mail and front matter,
# then a document's own properties. Written small, without hyphens and blanks.
_KEYS = (
    *("date", "datum", "dato", "dátum", "fecha", "data", "tarih", "päivämäärä", "дата", "日期"),
    *("日付", "날짜", "ημερομηνία", "תאריך", "تاريخ", "التاريخ", "published", "publishedat"),
    *("publishedon", "datepublished", "pubdate", "publishdate", "publicationdate", "issued"),
    *("issuedate", "issuedatetime", "invoicedate", "rechnungsdatum", "documentdate"),
    *("posted", "postedat"),
    *("veröffentlicht", "veröffentlichtam", "publié", "timestamp", "stand"),
    *("modified", "modifiedat", "updated", "updatedat", "lastmod", "lastmodified", "lastupdated"),
    *("lastmodifiedat", "lastupdatedat", "lastupdate", "lastedited", "lasteditedtime"),
    *("lasteditedat", "modifiedon", "updatedon", "datemodified", "dateupdated", "moddate"),
    *("revdate", "modificationdate", "geändert", "geändertam", "aktualisiert", "更新日"),
    *("aktualisiertam", "mtime", "lastbuilddate"),
    *("created", "createdat", "createdon", "createdtime", "createdutc", "creationdate"),
    *("datecreated", "erstellt", "erstelltam", "作成日", "ctime", "meta", "metadata"),
)
# What programs write where they know no time: no clock of a document showed it.
_LEAST_YEAR = 1000


def own_date(document: Document) -> datetime | None:
    """Return a document's own date, of messages that of the last one; None where it has none."""
    times = list(_known(message.time for message in document.messages))
    if times:
        return max(times)
    return told_date(document.metadata)


def told_date(metadata: Mapping[str, Any]) -> datetime | None:
    """Return the first date that metadata tell, in the order of _KEYS; None for none."""
    by_key = {_plain(str(key)): key for key in metadata}
    told = ((key, metadata[by_key[key]]) for key in _KEYS if key in by_key)
    return next(_known(one for key, value in told for one in _each(key, value)), None)


def is_date_key(name: str) -> bool:
    """Whether a field of this name tells a document's date."""
    return _plain(name) in _KEYS


_LINE = re.compile(r"([^\W\d_][\w /-]{0,40}?)\s*:(?:\s+(.*))?$")
_MARKS = re.compile(r"\*\*|__|^[-*+]\s+")
_UNDERLINE = re.compile(r"=+")
_HEAD_CHARACTERS = 4000


def stated_dates(text: str) -> dict[str, str]:
    """Return the dates below a title, as exports and minutes have them: Created: March 16, 2024.

    Each line of that block must name what it states, in bold or a list too: prose states nothing.
    """
    lines = [line.strip() for line in text[:_HEAD_CHARACTERS].strip().split("\n")]
    if lines[0].startswith("# "):
        del lines[0]
    elif len(lines) > 1 and _UNDERLINE.fullmatch(lines[1]):
        del lines[:2]
    block = takewhile(bool, dropwhile(lambda line: not line, lines))
    found = [_LINE.match(_MARKS.sub("", line)) for line in block]
    if None in found:
        return {}
    stated = {line[1]: line[2] or "" for line in found if line}
    return {key: value for key, value in stated.items() if told_date({key: value})}


# How the names of daily notes, posts and minutes begin: 2024-03-16-post.md, 20240316_notes.docx.
_NAMED = re.compile(r"((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")


def named_date(name: str) -> datetime | None:
    """Return the day that a file's name begins with, in UTC; None where it begins otherwise."""
    found = _NAMED.match(name)
    try:
        year, _, month, day = found.groups() if found else ("", "", "", "")
        return datetime(int(year), int(month), int(day), tzinfo=UTC)
    except ValueError:
        return None


def _plain(key: str) -> str:
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFC", key.lower()))


def _each(key: str, value: Any) -> Iterable[Any]:
    """Return the dates of a list, or the first of a mapping such as {date: …, author: …}.

    The Italian, Polish and Portuguese word for a date is that for any data in English.
    """
    if key == "data":
        return [value] if isinstance(value, str) else []
    if isinstance(value, dict):
        return [told_date({key: one for key, one in value.items() if not isinstance(one, dict)})]
    return value if isinstance(value, list | tuple) else [value]


def _known(values: Iterable[Any]) -> Iterator[datetime]:
    return (moment for moment in map(moment_of, values) if moment is not None)


def moment_of(value: Any) -> datetime | None:
    """Return the moment that a value tells; None for what tells none, or not which day it is.

    It is of ISO 8601, mail, PDF, EXIF or Org, or a day as people write it in some twenty languages.
    Or it is seconds or milliseconds since 1970. In UTC without a zone. Of 3/4/2024 nobody knows the
    month.
    """
    text = " ".join(str(value).split()) if value else ""
    if not re.search(r"\d", text) or len(text) > 100:
        return None
    for read in _READERS:
        try:
            moment = read(text)
            if moment is not None and moment.year >= _LEAST_YEAR:
                moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                return moment.astimezone(UTC)
        except (OverflowError, TypeError, ValueError):
            continue
    return None


_OFFSET = re.compile(r"([+-])(\d\d):?'?(\d\d)?")


def _zone(name: str) -> tzinfo:
    """Return the zone of an offset or a name of the time zone database; UTC for other ones."""
    if found := _OFFSET.match(name):
        shift = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return timezone(shift if found[1] == "+" else -shift) if shift < timedelta(days=1) else UTC
    try:
        return ZoneInfo(name) if name.isascii() and name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def _seconds(text: str) -> datetime | None:
    """Read seconds or milliseconds since 1970."""
    found = re.fullmatch(r"(\d{10})(\d{3})?(\.\d+)?", text)
    return datetime.fromtimestamp(int(found[1]), UTC) if found else None


# As PDF has it, D:20260131120000+01'00'; the same figures without its mark.
_COMPACT = re.compile(
    r"(?:D:|(?=(?:19|20)\d{6}(?:\d{6})?$))"
    r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?([+-]\d\d(?:'?\d\d)?)?"
)


def _compact(text: str) -> datetime | None:
    found = _COMPACT.match(text)
    if not found:
        return None
    month, day = int(found[2] or 1), int(found[3] or 1)
    hour, minute, second = (int(found[place] or 0) for place in (4, 5, 6))
    return datetime(int(found[1]), month, day, hour, minute, second, tzinfo=_zone(found[7] or ""))


# As Org has it: <2026-01-31 Sat 12:00>.
_OF_ORG = re.compile(r"[<\[](\d{4}-\d\d-\d\d)(?: [^\W\d_]+\.?)?(?: (\d\d:\d\d))?")


def _iso(text: str) -> datetime | None:
    if of_org := _OF_ORG.match(text):
        text = " ".join(filter(None, of_org.groups()))
    if not re.match(r"\d{4}-\d\d-\d\d|(19|20)\d{6}T|\d{4}-W\d\d-\d", text):
        return None
    return datetime.fromisoformat(re.sub(r"\s(?=([+-]\d\d(:?\d\d)?|Z)$)", "", text))


_HALF_DAY = re.compile(r"\d\s?[ap]\.?m\b", re.IGNORECASE)


def _mail(text: str) -> datetime | None:
    # A bare year or number is no date of a mail; it knows no halves of a day and no +01:00.
    if not re.search(r"[A-Za-z]{3}", text) or _HALF_DAY.search(text):
        return None
    plain = re.sub(r"(?:GMT|UTC)?([+-]\d\d):?(\d\d)(?= \(|$)", r"\1\2", text)
    return parsedate_to_datetime(plain) if parsedate_tz(plain) else None


# A day as people write it, at the start of a text. What comes after it is a time of that day.
_ORDINAL = r"(?P<day>\d{1,2})(?:\.|st|nd|rd|th|er|º)?"
_MONTH = r"(?P<month>[^\W\d_]+)\.?"
_WRITTEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})([-/.:])\s?(?P<month>\d{1,2})\2\s?(?P<day>\d{1,2})(?!\d)",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4}|\d{2}(?!\d))(?!\d)",
        r"(?P<either>\d{1,2})([-/])(?P<other>\d{1,2})\2(?P<year>\d{4})(?!\d)",
        rf"{_ORDINAL}\s(?:de\s|of\s)?{_MONTH},?\s(?:de\s)?(?P<year>\d{{4}})(?!\d)",
        rf"(?P<day>\d{{1,2}})-{_MONTH}-(?P<year>\d{{4}}|\d{{2}})(?!\d)",
        rf"{_MONTH}\s{_ORDINAL},?\s(?P<year>\d{{4}})(?!\d)",
        rf"(?P<year>\d{{4}})[.-]?\s?{_MONTH}[\s-](?P<day>\d{{1,2}})(?!\d)",
        r"(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월]\s?(?P<day>\d{1,2})\s?[日일]",
    )
)
_BEFORE_DAY = re.compile(
    r"^(?:[^\W\d_]+(?:-feira)?[\s,.]+)?(?:(?:den|dem|le|el|the)\s)?(?=\d|[^\W\d_]+\.?\s\d)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"[^\d-]*?(?P<hour>\d{1,2})[:h](?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"\s?(?P<half>[ap]\.?m\b)?\s?(?:GMT|UTC)?(?P<zone>[+-]\d\d:?\d\d|[A-Za-z]+(?:/\w+)?)?",
    re.IGNORECASE,
)
_LATE_CENTURY = 69  # as two figures: this year and later are of the last century, as for mails


def _written(text: str) -> datetime | None:
    """Read a day that a text begins with, such as April 3rd, 2012 or 3.4.2012, and its time."""
    for words in (text, _BEFORE_DAY.sub("", text)):
        for pattern in _WRITTEN:
            if (found := pattern.match(words)) and (day := _day(found)):
                return _at_time(day, words[found.end() :])
    return None


def _day(found: re.Match[str]) -> datetime | None:
    parts = found.groupdict()
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 1900 if year >= _LATE_CENTURY else 2000
    if "either" in parts:
        month, day = sorted((int(parts["either"]), int(parts["other"])))
        return datetime(year, month, day) if day > 12 or day == month else None
    named = parts["month"]
    number = int(named) if named.isdigit() else month_number(named)
    return datetime(year, number, int(parts["day"])) if number else None


def _at_time(day: datetime, rest: str) -> datetime:
    found = _TIME.match(rest)
    if not found:
        return day
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + 12 * found["half"].lower().startswith("p")
    try:
        moment = day.replace(
            hour=hour, minute=int(found["minute"]), second=min(int(found["second"] or 0), 59)
        )
    except ValueError:  # no time of a day
        return day
    return moment.replace(tzinfo=_zone(found["zone"] or ""))


_READERS: tuple[Callable[[str], datetime | None], ...] = (_seconds, _compact, _iso, _mail, _written)
