"""What mails are packed in: TNEF ([MS-OXTNEF]), S/MIME, the texts of Outlook."""

import email
import email.policy
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import Message

import compressed_rtf
from striprtf.striprtf import rtf_to_text

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import ParseError

# Outlook's body as RTF: compressed, and often HTML or plain text in its clothes ([MS-OXRTFEX]).

_HEAD = 1000
_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\([a-zA-Z]+)(-?\d+)? ?|\\([^a-zA-Z])|([{}])|([^\\{}\r\n]+)|[\r\n]+"
)
_CODE_PAGE = re.compile(rb"\\ansicpg(\d+)")
_LETTERS = {b"par": "\n", b"line": "\n", b"tab": "\t", b"lquote": "\u2018", b"rquote": "\u2019"}
_LETTERS |= {b"ldblquote": "\u201c", b"rdblquote": "\u201d", b"bullet": "\u2022"}
_LETTERS |= {b"endash": "\u2013", b"emdash": "\u2014"}
_ESCAPED = {b"~": "\u00a0", b"_": "\u00ad"}
_IGNORED = frozenset((b"fonttbl", b"colortbl", b"stylesheet", b"info", b"pntext", b"pict"))


def rtf_body(data: bytes) -> tuple[str, str]:
    """Return the text of a compressed RTF body and its kind: text/html or text/plain."""
    try:
        rtf: bytes = compressed_rtf.decompress(data)
    except Exception as error:  # the library raises bare ones
        raise ParseError(f"its compressed RTF is damaged: {error}") from None
    if b"\\fromhtml" in rtf[:_HEAD]:
        return html_of_rtf(rtf), "text/html"
    return str(rtf_to_text(rtf.decode("latin-1"), errors="replace")), "text/plain"


def html_of_rtf(rtf: bytes) -> str:
    r"""Take HTML out of its RTF: tags are in {\*\htmltag}, what is for RTF alone in \htmlrtf."""
    reader = _HtmlReader(rtf)
    for match in _TOKEN.finditer(rtf):
        reader.take(match)
    return reader.html()


@dataclass(frozen=True)
class _Group:
    """A group's state: whether it is left out, a tag, how many letters stand for another."""

    left_out: bool = False
    is_tag: bool = False
    stand_in: int = 1


class _HtmlReader:
    """Takes the tokens of an RTF one after another."""

    def __init__(self, rtf: bytes) -> None:
        page = _CODE_PAGE.search(rtf[:_HEAD])
        self._encoding = _known_encoding(f"cp{page.group(1).decode()}" if page else "cp1252")
        self._out: list[str] = []
        self._bytes = bytearray()
        self._groups: list[_Group] = []
        self._group = _Group()
        self._is_for_rtf = False
        self._is_destination = False
        self._skip = 0

    def take(self, match: re.Match[bytes]) -> None:
        """Take a token."""
        code, word, number, escaped, brace, text = match.groups()
        if brace == b"{":
            self._groups.append(self._group)
            self._is_destination = False
        elif brace == b"}":
            self._group = self._groups.pop() if self._groups else _Group()
        elif escaped == b"*":
            self._is_destination = True
        elif word is not None:
            self._take_word(word, number)
        elif self._is_shown():
            self._take_letters(code, escaped, text)

    def html(self) -> str:
        """Return what was taken; halves of a letter beyond 16 bits come together."""
        self._flush()
        joined = "".join(self._out)
        return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _is_shown(self) -> bool:
        return not self._group.left_out and (self._group.is_tag or not self._is_for_rtf)

    def _take_word(self, word: bytes, number: bytes | None) -> None:
        if word == b"htmltag":
            self._group = replace(self._group, is_tag=True)
        elif word == b"htmlrtf":
            self._is_for_rtf = number != b"0"
        elif self._is_destination or word in _IGNORED:
            self._group = replace(self._group, left_out=True)
        elif word == b"uc":
            self._group = replace(self._group, stand_in=int(number or 1))
        elif self._is_shown():
            if word == b"u" and number:
                self._add(chr(int(number) % 0x10000))
                self._skip = self._group.stand_in
            elif word in _LETTERS:
                self._add(_LETTERS[word])
        self._is_destination = False

    def _take_letters(self, code: bytes | None, escaped: bytes | None, text: bytes | None) -> None:
        if code is not None:
            if not self._skip:
                self._bytes += bytes.fromhex(code.decode())
            self._skip = max(self._skip - 1, 0)
        elif escaped is not None:
            self._add(_ESCAPED.get(escaped, escaped.decode("latin-1")))
        elif text is not None:
            self._bytes += text[self._skip :]
            self._skip = max(self._skip - len(text), 0)

    def _add(self, text: str) -> None:
        self._flush()
        self._out.append(text)

    def _flush(self) -> None:
        """Decode together what came byte by byte: letters of two bytes."""
        self._out.append(self._bytes.decode(self._encoding, errors="replace"))
        self._bytes.clear()


def _known_encoding(name: str) -> str:
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name


# S/MIME: the mail within what is signed as a whole (application/pkcs7-mime, signed-data).

_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_DATA = bytes.fromhex("2a864886f70d010701")
# Enveloped, encrypted and authenticated data.
_ENCRYPTED = tuple(
    bytes.fromhex(each)
    for each in ("2a864886f70d010703", "2a864886f70d010706", "2a864886f70d0109100117")
)
_KIND_WITHIN = 64
_MAIL_HEADER = re.compile(rb"[A-Za-z-]{1,50}:")
_SEQUENCE, _OCTETS, _CONSTRUCTED_OCTETS = 0x30, 0x04, 0x24
_MOST_DEPTH = 20


def is_encrypted(data: bytes) -> bool:
    """Whether an S/MIME container says at its start that it is an encrypted one."""
    return any(kind in data[:_KIND_WITHIN] for kind in _ENCRYPTED)


def signed_mail(data: bytes) -> Message:
    """Return the mail that a signed-data holds; ParseError where it is something else.

    The signature is not checked: this reads what is said, not who said it. Outlook keeps a mail
    with a signature beside it as it is.
    """
    if _MAIL_HEADER.match(data):
        return email.message_from_bytes(data, policy=email.policy.default)
    try:
        (_, _, body), *_ = _values(data)
        (_, _, kind), (_, _, content), *_ = _values(body)
        if kind != _SIGNED_DATA:
            raise ParseError("its S/MIME container is not a signed one")
        (_, _, signed), *_ = _values(content)
        capsule = next(
            body
            for tag, _, body in _values(signed)
            if tag == _SEQUENCE and body[2 : 2 + len(_DATA)] == _DATA
        )
        (_, (_, _, content)) = list(_values(capsule))[:2]
        (tag, _, octets), *_ = _values(content)
        text = _joined(tag, octets, 0)
    except (IndexError, ValueError, StopIteration, RecursionError):
        raise ParseError("its S/MIME container is damaged") from None
    return email.message_from_bytes(text, policy=email.policy.default)


def _joined(tag: int, body: bytes, depth: int) -> bytes:
    """Return the bytes of an octet string, which may come in pieces."""
    if tag == _OCTETS:
        return body
    if tag != _CONSTRUCTED_OCTETS or depth > _MOST_DEPTH:
        raise ValueError
    return b"".join(_joined(tag, inner, depth + 1) for tag, _, inner in _values(body))


def _values(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield tag, end and content of the values one after another (BER)."""
    place = 0
    while place < len(data):
        tag, content, end = _value(data, place, 0)
        if tag == 0:
            return
        yield tag, end, content
        place = end


def _value(data: bytes, place: int, depth: int) -> tuple[int, bytes, int]:
    """Return tag, content and end of the value at a place."""
    if depth > _MOST_DEPTH:
        raise ValueError
    tag, length = data[place], data[place + 1]
    start = place + 2
    if length == 0x80:  # as long as its values are, until an empty one
        end = start
        while data[end] or data[end + 1]:
            end = _value(data, end, depth + 1)[2]
        return tag, data[start:end], end + 2
    if length > 0x80:
        size = length - 0x80
        length = int.from_bytes(data[start : start + size])
        start += size
    if start + length > len(data):
        raise ValueError
    return tag, data[start : start + length], start + length


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
# So many bytes of an attribute stand around its value.
_AROUND = 11
# An object that begins so is a mail: the id of its interface, then a TNEF of its own.
_MAIL = bytes.fromhex("0703020000000000c000000000000046")


@dataclass
class Tnef:
    """What a winmail.dat holds: texts with their kinds, and files by name.

    Of a damaged one, `is_cut`, what comes before the damage.
    """

    texts: list[tuple[str, str]] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    is_cut: bool = False


def is_tnef(data: bytes) -> bool:
    """Whether data begin as a winmail.dat, whatever its name is."""
    return len(data) >= 6 and struct.unpack_from("<I", data)[0] == _SIGNATURE


def read_tnef(data: bytes) -> Tnef:
    """Read a winmail.dat; ParseError for what is none."""
    if not is_tnef(data):
        raise ParseError("no TNEF: it does not begin as one does")
    reader = _ContainerReader()
    end = 6
    for name, value in _attributes(data):
        reader.take(name, value)
        end += _AROUND + len(value)
    found = reader.close()
    found.is_cut |= any(data[end:])
    return found


class _ContainerReader:
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
        return Tnef(found.texts + others.texts, found.files + others.files, others.is_cut)

    def _take_of_file(self, key: int, given: bytes | str) -> None:
        if isinstance(given, str):
            self._names[key] = given
        elif key == _OBJECT and given.startswith(_MAIL):
            inner = read_tnef(given[len(_MAIL) :])
            self._forwarded.texts += inner.texts
            self._forwarded.files += inner.files
            self._forwarded.is_cut |= inner.is_cut
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
    while place + _AROUND <= len(data):
        name, _, length = struct.unpack_from("<HHI", data, place + 1)
        value = data[place + 9 : place + 9 + length]
        if len(value) < length:
            return
        yield name, value
        place += _AROUND + length


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
