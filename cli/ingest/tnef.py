"""TNEF: the winmail.dat in which Outlook sends texts and files to others ([MS-OXTNEF])."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import ParseError
from pgblend.cli.ingest.outlook_text import rtf_body

_SIGNATURE = 0x223E9F78
_BODY, _MESSAGE_PROPERTIES, _CODE_PAGES = 0x800C, 0x9003, 0x9007
_NEW_FILE, _FILE_TITLE, _FILE_DATA, _FILE_PROPERTIES = 0x9002, 0x8010, 0x800F, 0x9005
# MAPI's properties: texts, and the names and bytes of files.
_TEXT, _RTF, _HTML = 0x1000, 0x1009, 0x1013
_LONG_NAME, _SHORT_NAME, _OBJECT = 0x3707, 0x3704, 0x3701
_FIXED = {0x0002: 4, 0x0003: 4, 0x0004: 4, 0x000A: 4, 0x000B: 4}
_FIXED |= {0x0005: 8, 0x0006: 8, 0x0007: 8, 0x0014: 8, 0x0040: 8, 0x0048: 16}
_SINGLE_TEXTS = (0x001E, 0x001F, 0x000D, 0x0102)
_MANY = 0x1000
# An object that begins so is a mail: the id of its interface, then a TNEF of its own.
_MAIL = bytes.fromhex("0703020000000000c000000000000046")


@dataclass
class Tnef:
    """What a winmail.dat holds: texts with their kinds, and files by name."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)


def read_tnef(data: bytes) -> Tnef:
    """Read a winmail.dat; ParseError for what is none. Of a damaged one, what comes before."""
    if len(data) < 6 or struct.unpack_from("<I", data)[0] != _SIGNATURE:
        raise ParseError("no TNEF: it does not begin as one does")
    reader = _Reader()
    for name, value in _attributes(data):
        reader.take(name, value)
    return reader.close()


class _Reader:
    """Takes the attributes of a TNEF one after another."""

    def __init__(self) -> None:
        self._encoding = "cp1252"
        self._found, self._forwarded = Tnef(), Tnef()
        self._plain = ""
        self._properties: dict[int, bytes | str] = {}
        self._names: dict[int, str] = {}
        self._file: bytes | None = None

    def take(self, name: int, value: bytes) -> None:
        """Take an attribute: of the message, or of the file that came last."""
        if name == _CODE_PAGES and len(value) >= 4:
            self._encoding = _code_page(struct.unpack_from("<I", value)[0])
        elif name == _BODY:
            self._plain = value.rstrip(b"\x00").decode(self._encoding, "replace")
        elif name == _MESSAGE_PROPERTIES:
            self._properties = dict(_properties(value, self._encoding))
        elif name == _NEW_FILE:
            self._close_file()
        elif name == _FILE_TITLE:
            title = value.rstrip(b"\x00").decode(self._encoding, "replace")
            self._names[_FILE_TITLE] = title
        elif name == _FILE_DATA:
            self._file = value
        elif name == _FILE_PROPERTIES:
            for key, given in _properties(value, self._encoding):
                self._take_of_file(key, given)

    def close(self) -> Tnef:
        """Return what was found, mails within it last."""
        self._close_file()
        _add_texts(self._found, self._plain, self._properties)
        found, others = self._found, self._forwarded
        return Tnef(found.texts + others.texts, found.files + others.files)

    def _take_of_file(self, key: int, given: bytes | str) -> None:
        if isinstance(given, str):
            self._names[key] = given
        elif key == _OBJECT and given.startswith(_MAIL):
            inner = read_tnef(given[len(_MAIL) :])
            self._forwarded.texts += inner.texts
            self._forwarded.files += inner.files
        elif key == _OBJECT and self._file is None:
            self._file = given

    def _close_file(self) -> None:
        if self._file is not None:
            said = (self._names.get(key, "") for key in (_LONG_NAME, _FILE_TITLE, _SHORT_NAME))
            self._found.files.append((next(filter(None, said), "attachment"), self._file))
        self._names.clear()
        self._file = None


def _add_texts(found: Tnef, plain: str, properties: dict[int, bytes | str]) -> None:
    """Add the body once, in the form that says most."""
    text, html, rtf = (properties.get(key) for key in (_TEXT, _HTML, _RTF))
    if isinstance(html, bytes) and html.strip(b"\x00 "):
        found.texts.append((decode(html.rstrip(b"\x00"), html=True), "text/html"))
    elif isinstance(rtf, bytes) and rtf:
        found.texts.append(rtf_body(rtf))
    elif plain or text:
        found.texts.append((plain or str(text), "text/plain"))


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes after signature and key: level, id with type, length, bytes, sum."""
    place = 6
    while place + 9 <= len(data):
        name, _, length = struct.unpack_from("<HHI", data, place + 1)
        value = data[place + 9 : place + 9 + length]
        if len(value) < length:
            return
        yield name, value
        place += 9 + length + 2


def _properties(data: bytes, encoding: str) -> Iterator[tuple[int, bytes | str]]:
    """Yield MAPI's properties that are texts or bytes; what is damaged ends it."""
    with suppress(struct.error):
        (count,) = struct.unpack_from("<I", data)
        place = 4
        for _ in range(min(count, len(data))):
            kind, name = struct.unpack_from("<HH", data, place)
            place += 4
            if name >= 0x8000:
                place = _after_name(data, place)
            values, place = _read_values(data, place, kind)
            for value in values[:1]:
                if kind & ~_MANY == 0x001F:
                    yield name, value.decode("utf-16-le", "replace").rstrip("\x00")
                elif kind & ~_MANY == 0x001E:
                    yield name, value.decode(encoding, "replace").rstrip("\x00")
                else:
                    yield name, value


def _after_name(data: bytes, place: int) -> int:
    """Pass over the name that a property of a program has: an id, and a number or a text."""
    (kind,) = struct.unpack_from("<I", data, place + 16)
    place += 20
    if kind == 0:
        return place + 4
    (length,) = struct.unpack_from("<I", data, place)
    return place + 4 + _padded(length)


def _read_values(data: bytes, place: int, kind: int) -> tuple[list[bytes], int]:
    single = kind & ~_MANY
    count = 1
    if kind & _MANY or single in _SINGLE_TEXTS:
        (count,) = struct.unpack_from("<I", data, place)
        place += 4
    values = []
    for _ in range(min(count, len(data))):
        if single in _SINGLE_TEXTS:
            (length,) = struct.unpack_from("<I", data, place)
            place += 4
            values.append(data[place : place + length])
            place += _padded(length)
        else:
            place += _FIXED.get(single, 4)
    return values, place


def _padded(length: int) -> int:
    return length + (-length) % 4


def _code_page(number: int) -> str:
    name = {65001: "utf-8", 932: "cp932", 936: "gbk", 0: "cp1252"}.get(number, f"cp{number}")
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name
