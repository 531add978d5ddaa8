"""iCalendar: appointments, tasks and notes, each under its summary."""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from icalendar import Calendar, Component
from icalendar.prop import vBroken

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import (
    FILE_WITHIN,
    SAVE_IT,
    Document,
    LeftOut,
    ParseError,
    storable_text,
    storable_value,
)
from pgblend.cli.documents.text_builder import TextBuilder

_KINDS = frozenset(("VEVENT", "VTODO", "VJOURNAL"))
# What is written before what a person reads of an entry.
_FIELDS = (
    ("LOCATION", "Where"),
    ("ORGANIZER", "Organizer"),
    ("ATTENDEE", "Attendees"),
    ("CONTACT", "Contact"),
    ("STATUS", "Status"),
    ("CATEGORIES", "Categories"),
    ("RRULE", "Repeats"),
    ("RESOURCES", "Resources"),
    ("URL", "See"),
    ("ATTACH", "Attached"),
)
_PEOPLE = frozenset(("ORGANIZER", "ATTENDEE"))
_TEXTS = ("DESCRIPTION", "COMMENT")
_MARKS = re.compile(r"^(BEGIN|END):[ \t]*([\w-]+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_NOT_UNDERSTOOD = ("no line of iCalendar", "mend it in the calendar, and export that again")
_MAIL = re.compile(r"^mailto:", re.IGNORECASE)


def parse_calendar(data: bytes) -> Document:
    """Read an .ics file; the metadata are those of its only entry, or of the calendar."""
    try:
        calendars = Calendar.from_ical(_closed(decode(data)), multiple=True)
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise ParseError(f"no readable calendar: {error}") from None
    builder = TextBuilder()
    entries = [each for calendar in calendars for each in calendar.walk() if each.name in _KINDS]
    for entry in entries:
        builder.add_heading(_plain(entry.get("SUMMARY")) or "No subject", 1)
        for text in filter(None, (_about(entry), *(_plain(entry.get(key)) for key in _TEXTS))):
            builder.add(text)
    title = next((_plain(each.get("X-WR-CALNAME")) for each in calendars), "")
    metadata: dict[str, Any] = {"entries": len(entries)}
    if len(entries) == 1:
        title = _plain(entries[0].get("SUMMARY")) or title
        start = _day(entries[0].get("DTSTART"))
        found = {"date": start, "location": _plain(entries[0].get("LOCATION"))}
        metadata = {key: value for key, value in found.items() if value}
    return Document(
        title=title,
        text=builder.text(),
        metadata=storable_value(metadata),
        headings=tuple(builder.headings),
        left_out=(
            *(LeftOut(name, FILE_WITHIN, SAVE_IT) for name in _files(entries)),
            *(LeftOut(line, *_NOT_UNDERSTOOD) for line in _faults(entries)),
        ),
    )


def _closed(source: str) -> str:
    """Return a calendar that was cut off with the ends that it lacks: else none of it is read."""
    is_open: list[str] = []
    for mark, name in _MARKS.findall(source):
        if mark.upper() == "BEGIN":
            is_open.append(name)
        elif is_open:
            is_open.pop()
    return "\n".join([source.rstrip(), *(f"END:{name}" for name in reversed(is_open)), ""])


def _files(entries: list[Component]) -> Iterator[str]:
    """Yield the names of files that are within entries, as bytes."""
    for entry in entries:
        values = entry.get("ATTACH")
        for value in values if isinstance(values, list) else [values]:
            params = getattr(value, "params", {})
            if params.get("ENCODING") == "BASE64":
                name = params.get("FILENAME") or params.get("X-FILENAME") or "an attached file"
                yield storable_text(str(name))


def _faults(entries: list[Component]) -> Iterator[str]:
    """Yield what of entries cannot be read, nor stands as it is written in the text."""
    for entry in entries:
        summary = _plain(entry.get("SUMMARY")) or "No subject"
        if "RRULE" in entry and not entry["RRULE"]:
            yield f"RRULE of {summary}"
        for key, message in entry.errors:
            if not (key and entry.get(key)):
                yield storable_text(f"{key or 'a line'} of {summary} ({message})")


def _about(entry: Component) -> str:
    """Write when and where an entry is, and whose."""
    lines = [f"When: {when}"] if (when := _when(entry)) else []
    for key, name in _FIELDS:
        values = entry.get(key)
        values = values if isinstance(values, list) else [values]
        said = ", ".join(filter(None, map(_person if key in _PEOPLE else _plain, values)))
        if said:
            lines.append(f"{name}: {said}")
    return "\n".join(lines)


def _when(entry: Component) -> str:
    ends = [entry.get(key) for key in ("DTSTART", "DTEND", "DUE")]
    days = ((_day(end), end) for end in ends if end is not None)
    return " \u2013 ".join(_moment(day) if day else _plain(end) for day, end in days)


def _day(value: Any) -> date | None:
    """Return a moment or a day; None where what stands there is none."""
    day = None if isinstance(value, vBroken) else getattr(value, "dt", None)
    return day if isinstance(day, date) else None


def _moment(moment: date) -> str:
    if not isinstance(moment, datetime):
        return moment.isoformat()
    zone = getattr(moment.tzinfo, "key", None) or moment.tzname() or ""
    return f"{moment:%Y-%m-%d %H:%M} {zone}".strip()


def _person(value: Any) -> str:
    if value is None:
        return ""
    address = _MAIL.sub("", str(value))
    name = str(getattr(value, "params", {}).get("CN", ""))
    return storable_text(f"{name} <{address}>" if name and name != address else address)


def _plain(value: Any) -> str:
    """Return a value as text; what is sent along as bytes is none."""
    if value is None:
        return ""
    if isinstance(value, vBroken):
        return storable_text(str(value))
    if hasattr(value, "cats"):
        return ", ".join(map(str, value.cats))
    if getattr(value, "params", {}).get("ENCODING") == "BASE64":
        return ""
    to_ical = getattr(value, "to_ical", None)
    text = str(value) if isinstance(value, str) else (to_ical().decode() if to_ical else str(value))
    return storable_text(text.strip())
