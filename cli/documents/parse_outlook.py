"""Outlook's .msg: the properties of a mail in an OLE file, turned into a mail as others are."""

import io
import struct
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_string, policy
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import format_datetime

import olefile

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Contents, Document, LeftOut, ParseError, storable_text
from pgblend.cli.documents.mail_containers import rtf_body
from pgblend.cli.documents.parse_mail import chosen_texts, mail_contents, mail_document, shown_text

# Property tags of [MS-OXPROPS]; 001F is UTF-16 text, 001E text of a code page, 0102 bytes.
_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER_NAME, _SENDER_ADDRESS, _TO, _CC = "0C1A", "0C1F", "0E04", "0E03"
_SENDER_SMTP, _ADDRESS_SMTP, _ADDRESS = "5D01", "39FE", "3003"
_HEADERS, _MESSAGE_ID = "007D", "1035"
_LONG_NAME, _SHORT_NAME, _DISPLAY_NAME, _FILE, _PATH = "3707", "3704", "3001", "3701", "370D"
# When it was sent, else when it came, else when it was made.
_TIMES = (0x0039, 0x0E06, 0x3007)
_CODE_PAGES = (0x3FFD, 0x3FDE)
_INTERNET_CODE_PAGE, _RECIPIENT_TYPE = 0x3FDE, 0x0C15
_TIME_TYPE, _NUMBER_TYPE = 0x0040, 0x0003
_PROPERTIES = "__properties_version1.0"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_LONGEST = 1000
_MOST_DEPTH = 10


def parse_outlook(data: bytes) -> Document:
    """Read a .msg file."""
    message, left_out = _read(data)
    document = mail_document(message)
    return replace(document, left_out=(*document.left_out, *left_out))


def contents(data: bytes) -> Contents:
    """Return the files that are attached to a .msg file; mails within it are as .eml."""
    return mail_contents(_read(data)[0])


def _read(data: bytes) -> tuple[EmailMessage, list[LeftOut]]:
    """Turn a .msg into a mail, and say what of it cannot be read."""
    left_out: list[LeftOut] = []
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            return _Storage(file, "", left_out).mail(), left_out
    except (OSError, ValueError, IndexError, AttributeError, TypeError, struct.error) as error:
        what = "it is damaged" if isinstance(error, ValueError) else str(error)
        raise ParseError(f"no readable Outlook message: {what}") from None


class _Storage:
    """A message within an OLE file: the file itself, or a message attached to another."""

    def __init__(
        self, file: olefile.OleFileIO, path: str, left_out: list[LeftOut], depth: int = 0
    ) -> None:
        self._file = file
        self._path = path
        self._left_out = left_out
        self._depth = depth
        self._numbers = self._fixed()
        pages = [self._numbers.get(name, 0) for name in _CODE_PAGES]
        self._encoding = _encoding(next(filter(None, pages), 0))

    def mail(self) -> EmailMessage:
        """Return the mail, with what is attached."""
        message = EmailMessage()
        for name, value in self._headers():
            with suppress(MessageError, ValueError, IndexError, TypeError, AttributeError):
                message[name] = " ".join(value.split())[:_LONGEST]
        message.set_content(self._body())
        for path in self._below("__attach_version1.0_#"):
            self._attach(message, path)
        return message

    def _headers(self) -> list[tuple[str, str]]:
        sent = message_from_string(self._text(_HEADERS), policy=policy.default)
        address = self._text(_SENDER_SMTP) or self._text(_SENDER_ADDRESS)
        people: dict[int, list[str]] = {1: [], 2: []}
        for path in self._below("__recip_version1.0_#"):
            one = _Storage(self._file, path, self._left_out, self._depth)
            found_address = one._text(_ADDRESS_SMTP) or one._text(_ADDRESS)
            people.setdefault(one._numbers.get(_RECIPIENT_TYPE, 1), []).append(
                _person(one._text(_DISPLAY_NAME), found_address)
            )
        found = {
            "Subject": self._text(_SUBJECT),
            "From": _person(self._text(_SENDER_NAME), address),
            "To": ", ".join(people[1]) or self._text(_TO).replace(";", ","),
            "Cc": ", ".join(people[2]) or self._text(_CC).replace(";", ","),
            "Message-ID": self._text(_MESSAGE_ID).strip() or str(sent.get("Message-ID", "")),
            "Date": str(sent.get("Date", "")) or self._time(),
        }
        return [(key, value) for key, value in found.items() if value.strip()]

    def _time(self) -> str:
        for name in _TIMES:
            with suppress(OverflowError, ValueError):
                if ticks := self._numbers.get(name):
                    return format_datetime(_EPOCH + timedelta(microseconds=ticks // 10))
        return ""

    def _body(self) -> str:
        """Return the text in the form that says all: plain, HTML, or compressed RTF."""
        plain, rich = self._text(_BODY), ""
        if html := self._bytes(f"{_HTML}0102"):
            page = self._numbers.get(_INTERNET_CODE_PAGE, 0)
            try:
                source = html.decode(_encoding(page) if page else "utf-8").rstrip("\x00")
            except UnicodeDecodeError:
                source = decode(html.rstrip(b"\x00"), html=True)
            rich = shown_text(source, "text/html")
        elif html_text := self._text(_HTML):
            rich = shown_text(html_text, "text/html")
        elif not plain.strip() and (rtf := self._bytes(f"{_RTF}0102")):
            try:
                rich = shown_text(*rtf_body(rtf))
            except ParseError as error:
                mend = "save the mail as HTML"
                self._left_out.append(LeftOut("the body", str(error), mend))
        return "\n\n".join(chosen_texts(storable_text(plain), storable_text(rich)))

    def _attach(self, message: EmailMessage, path: str) -> None:
        one = _Storage(self._file, path, self._left_out, self._depth)
        name = one._text(_LONG_NAME) or one._text(_SHORT_NAME) or one._text(_DISPLAY_NAME)
        inner = f"{path}__substg1.0_{_FILE}000D/"
        if self._file.exists(f"{inner}{_PROPERTIES}") and self._depth < _MOST_DEPTH:
            try:
                mail = _Storage(self._file, inner, self._left_out, self._depth + 1).mail()
            except ParseError as error:
                self._left_out.append(LeftOut(name or "a mail", str(error), "save it decrypted"))
            else:
                message.add_attachment(mail)
        elif data := one._bytes(f"{_FILE}0102"):
            message.add_attachment(data, "application", "octet-stream", filename=name or "file")
        elif self._file.exists(inner.rstrip("/")):
            reason = "it is an object of another program within the mail"
            self._left_out.append(LeftOut(name or "an object", reason, "save it as a file"))
        elif where := one._text(_PATH):
            self._left_out.append(LeftOut(where, "it was not sent along", "save it beside it"))

    def _below(self, prefix: str) -> list[str]:
        """Return the paths of the storages that begin so, in order."""
        depth = self._path.count("/")
        found = {
            "/".join(names[: depth + 1]) + "/"
            for names in self._file.listdir()
            if len(names) > depth + 1
            and "/".join(names[:depth]) == self._path.rstrip("/")
            and names[depth].startswith(prefix)
        }
        return sorted(found)

    def _fixed(self) -> dict[int, int]:
        """Return the properties that are times or numbers, by their ids."""
        data = self._stream(_PROPERTIES)
        # Before the entries: of the file itself, of a mail within, of a file or recipient.
        is_mail = not self._path or self._path.endswith(f"{_FILE}000D/")
        start = (24 if self._path else 32) if is_mail else 8
        found = {}
        for place in range(start, len(data) - 15, 16):
            kind, name, _, value = struct.unpack_from("<HHIQ", data, place)
            if kind in (_TIME_TYPE, _NUMBER_TYPE):
                found[name] = value if kind == _TIME_TYPE else value & 0xFFFFFFFF
        return found

    def _text(self, tag: str) -> str:
        """Return a property as text; empty where there is none."""
        if data := self._bytes(f"{tag}001F"):
            return storable_text(data.decode("utf-16-le", errors="replace").rstrip("\x00"))
        data = self._bytes(f"{tag}001E")
        return storable_text(data.decode(self._encoding, errors="replace").rstrip("\x00"))

    def _bytes(self, tag: str) -> bytes:
        return self._stream(f"__substg1.0_{tag}")

    def _stream(self, name: str) -> bytes:
        if self._file.exists(self._path + name):
            with suppress(OSError), self._file.openstream(self._path + name) as stream:
                data: bytes = stream.read()
                return data
        return b""


def _person(name: str, address: str) -> str:
    """Write whom a mail is from or to; an address of Exchange's own is none for others."""
    if "@" not in address:
        return name or address
    said = name.replace("\\", "").replace('"', "").strip()
    return f'"{said}" <{address}>' if said and said != address else address


def _encoding(page: int) -> str:
    """Return the codec of a code page of Windows."""
    name = {0: "cp1252", 65001: "utf-8", 28591: "latin-1", 20127: "cp1252", 936: "gbk"}.get(page)
    name = name or (f"iso-8859-{page - 28590}" if 28591 < page < 28606 else f"cp{page}")
    try:
        b"".decode(name)
    except LookupError:
        return "cp1252"
    return name
