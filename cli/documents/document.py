"""What parsers produce: a document with its text, headings, title, dates and origin."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from importlib import import_module
from typing import Any

_SLICE_CHARACTERS = 1 << 20
# What is said of files within files that stay unread.
FILE_WITHIN = "a file within the file, which is not read"
SAVE_IT = "save it as a file of its own"
NOT_SHOWN = "a reader does not see it"
# NUL and lone surrogates can come out of escapes, and PostgreSQL stores neither.
_UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class ParseError(Exception):
    """A file or record that cannot be read; the message is one line for the report."""


class UnsupportedFormatError(ParseError):
    """A file in a format that has no parser; `mend` is what people do to have it read."""

    def __init__(self, reason: str, mend: str = "") -> None:
        super().__init__(f"{reason}: {mend}" if mend else reason)
        self.reason = reason
        self.mend = mend or "save it in a format that is read, such as PDF or plain text"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in a document's text."""

    offset: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text from `offset` on stands in its source: on a page, or in a row of a sheet.

    What is said has `times`: from when to when, as 00:12:05. Pages and rows count from 1; the row
    of a sheet is the number that a spreadsheet shows.
    """

    offset: int
    page: int | None = None
    sheet: str | None = None
    row: int | None = None
    times: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table's row at `offset`; its label says what its figures are of, its group of several."""

    offset: int
    label: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table between two offsets of the text: what its rows are to be read with.

    `caption` and `header` are in the document's words, "" where there is none. The rows are in
    order, those of the header left out.
    """

    start: int
    end: int
    caption: str
    header: str
    rows: tuple[TableRow, ...]

    def moved(self, size: int, after: int = 0) -> "Table":
        """Return the table once so many characters were put in at `after`."""

        def shifted(place: int) -> int:
            return place + size * (place >= after)

        rows = tuple(replace(row, offset=shifted(row.offset)) for row in self.rows)
        return replace(self, start=shifted(self.start), end=shifted(self.end), rows=rows)


@dataclass(frozen=True, slots=True)
class Scope:
    """A function or class of source code, its comments included; its signature is its first line.

    Its depth counts those around it.
    """

    start: int
    end: int
    depth: int
    signature: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture whose text belongs at `offset`, on `page` where its source has pages.

    One that `is_page` is all that a page, or the whole source, consists of.

    `load` gives it as JPEG, with no side longer than so many pixels; ParseError where it is broken.
    """

    offset: int
    load: Callable[[int], bytes]
    page: int | None = None
    is_page: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """A link at `offset` of the text; `kind` and `type` are those of blend.add_links."""

    offset: int
    target: str
    kind: str
    type: str = "link"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of a source whose text its document lacks: why, and what people do to have it."""

    part: str
    reason: str
    mend: str


@dataclass(frozen=True)
class Message:
    """One message; `context` is what it belongs to: a channel, a thread, an issue.

    `time` is in ISO format. `metadata` holds keys of its kind, which its chunk collects.
    """

    id: str
    author: str
    time: str
    text: str
    url: str = ""
    context: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """The text of one source with what is known about it; offsets and lines refer to `text`.

    Parsers leave `source_key`, `uri` and `media_type` to their caller. `tables` are in order, none
    within another. Chunks begin anew at each of `breaks`; with `whole_lines` they begin and end
    where lines do. `kind` is the chunks' kind: doc or code; `scopes` are what code defines, in
    order. With `messages` these are what is
    chunked, and `text` is a sample of them for telling the language. `pictures` are still to be
    read. `left_out` are the parts that are not read, `warnings` say what else is doubtful.

    The text of a long sheet is not held whole: `further` reads the parts after the first, once,
    each with places of its own. A line end parts them.
    """

    source_key: str = ""
    title: str = ""
    text: str = ""
    uri: str = ""
    media_type: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    places: tuple[Place, ...] = ()
    breaks: tuple[int, ...] = ()
    kind: str = "doc"
    scopes: tuple[Scope, ...] = ()
    whole_lines: bool = False
    messages: tuple[Message, ...] = ()
    pictures: tuple[Picture, ...] = ()
    links: tuple[Link, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[str, ...] = ()
    further: Iterable["Document"] = ()


def storable_text(text: str) -> str:
    """Put U+FFFD in place of characters that PostgreSQL cannot store."""
    return text.translate(_UNSTORABLE) if "\x00" in text or not _is_unicode(text) else text


_TOO_LONG = 10**4300


def storable_value(value: Any) -> Any:
    """Make a parsed value fit for jsonb: dates as text, numbers that JSON lacks as null.

    Whole numbers of more than 4,300 digits, which no JSON is made of, are hexadecimal text.
    """
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): storable_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [storable_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) < _TOO_LONG else hex(value)
    if value is None:
        return value
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogates; slice by slice, so that no second one is in memory."""
    try:
        for start in range(0, len(text), _SLICE_CHARACTERS):
            text[start : start + _SLICE_CHARACTERS].encode()
    except UnicodeEncodeError:
        return False
    return True


# Files within files: what is attached to a mail, or lies in an archive.

EMAIL, OUTLOOK, ZIP = "message/rfc822", "application/vnd.ms-outlook", "application/zip"
# Mails within mails, archives within archives: deeper ones are named, not read.
MOST_DEPTH = 5
_READERS = {EMAIL: "parse_mail", OUTLOOK: "parse_outlook", ZIP: "archive"}


@dataclass(frozen=True)
class Attached:
    """A file within another one: its name, which no other there has, its bytes and its time."""

    name: str
    data: bytes
    modified_at: datetime | None = None


@dataclass(frozen=True)
class Contents:
    """The files within a mail or an archive, and what their metadata say of it.

    Once all were taken, `left_out` says which could not be unpacked.
    """

    about: dict[str, Any] = field(default_factory=dict)
    files: Iterable[Attached] = ()
    left_out: Sequence[LeftOut] = ()


def contents(media_type: str, data: bytes) -> Contents:
    """Return what is within a file; ParseError where it cannot be read."""
    module = _READERS.get(media_type)
    if module is None:
        return Contents()
    read: Callable[[bytes], Contents] = import_module(f"pgblend.cli.documents.{module}").contents
    return read(data)


# What a document is called: what its author called it, or nothing, and then its file's name.

_LETTER = re.compile(r"[^\W\d_]")
# What programs write where the author wrote nothing; with a number after it as well.
_EMPTY = re.compile(
    r"(untitled|\(anonymous\)|\(unspecified\)|title|(new |word |microsoft word )?document|dokument"
    r"|(powerpoint[ -])?(presentation|präsentation)|slide|folie)[ -]?\d*",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"^Microsoft (Word|PowerPoint|Excel) - "
    r"|\.(docx?|odt|rtf|pptx?|xlsx?|indd|dvi|tex|pdf|jpe?g|png|tiff?)$",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])?|\]\([^)]*\)|<!--.*?-->|<[^>]*>", re.DOTALL
)
_FURTHER = re.compile(r"^\[[^\]]+\]:.*$", re.MULTILINE)


def stated_title(title: str) -> str:
    """Return a title that metadata state; "" for a number, another file's name and the like."""
    words = storable_text(" ".join(title.split()))
    if not _LETTER.search(words) or _EMPTY.fullmatch(words) or _FILE_NAME.search(words):
        return ""
    return words


def top_heading(headings: Sequence[Heading], text: str | None = None) -> str:
    """Return the heading that names a document: its first and its only one of level 1; else "".

    With the Markdown `text`, no word may stand above it; pictures and markup may.
    """
    if not headings or [heading.level for heading in headings].count(1) != 1:
        return ""
    first = headings[0]
    above = _FURTHER.sub("", _MARKUP.sub("", text[: first.offset])) if text else ""
    return first.text if first.level == 1 and not re.search(r"\w", above) else ""
