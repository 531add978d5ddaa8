"""Mail: one message of a file, with its headers, its text and what is attached to it."""

import base64
import binascii
import email
import email.policy
import mimetypes
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.errors import MessageError
from email.message import EmailMessage
from email.message import Message as RawPart
from email.utils import getaddresses
from pathlib import PurePath

from striprtf.striprtf import rtf_to_text

from pgblend.cli.documents.dates import moment_of
from pgblend.cli.documents.decode import DoubtfulEncoding, decode
from pgblend.cli.documents.document import (
    Attached,
    Contents,
    Document,
    LeftOut,
    Message,
    ParseError,
    storable_text,
)
from pgblend.cli.documents.mail_containers import is_encrypted, is_tnef, read_tnef, signed_mail
from pgblend.cli.documents.parse_html import parse_page

# The parts of a mail, in their order: what is its text, what is attached, what cannot be read.

_SMIME = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime"))
_SIGNATURES = frozenset(
    ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
)
_ASK_ANEW = "ask the sender for a mail in HTML"
_TNEF = frozenset(("application/ms-tnef", "application/vnd.ms-tnef"))
# What is shown where it stands; other texts (calendars, tables) are files.
_PAGES = frozenset(("text/html", "text/x-amp-html", "text/watch-html"))
_SHOWN = _PAGES | frozenset(
    ("text/plain", "text/enriched", "text/richtext", "text/rtf", "text/markdown")
)
_SHOWN |= {"text/rfc822-headers"}
# What servers and programs say about a mail, as fields.
_REPORTS = frozenset(
    f"message/{what}"
    for name in ("delivery-status", "disposition-notification", "headers")
    for what in (name, f"global-{name}")
) | {"message/feedback-report", "message/tracking-status"}
# What macOS keeps beside a file.
_BESIDE_FILES = "application/applefile"
_INVITATION = "invitation.ics"
_LONGEST_NAME = 200
_MOST_DEPTH = 50
# A plain part that has fewer of the words of the HTML part says less than that.
_COVERED = 0.85
# An HTML part that lacks so many words of the plain one, and those of an advice, is no copy.
_LACKED = 1 / 3
_LEAST_OWN_WORDS = 40
_WORD = re.compile(r"\w{4,}")
_ADDRESS = re.compile(r"https?://\S+")
# What stands before the lines of a signature.
_SIGNATURE = "-- "
_UUENCODED = re.compile(r"^begin [0-7]{3,4} (.+)\n((?:[ -`]{1,62}\n)*?)[ `]?\n?end[ \t]*$", re.M)
_PGP = re.compile(r"-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----", re.DOTALL)
# Line by line, and no line of the text is a mark: so each is looked at once.
_PGP_SIGNED = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----\n(?:(?!-----BEGIN PGP )[^\n]+\n)*\n"
    r"((?:(?!-----BEGIN PGP )[^\n]*\n)*)"
    r"-----BEGIN PGP SIGNATURE-----.*?(?:^-----END PGP SIGNATURE-----|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ENRICHED = re.compile(r"<<|<param>.*?</param>|</?[\w-]+>", re.DOTALL | re.IGNORECASE)


@dataclass
class MailParts:
    """What a mail consists of; `texts` and `attached` are in order."""

    texts: list[str] = field(default_factory=list)
    attached: list[Attached] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the body."""
        return "\n\n".join(filter(None, (text.strip() for text in self.texts)))

    def add_text(self, text: str) -> None:
        """Add a text; files and ciphers within it are no words of it."""
        text = storable_text(text).replace("\r\n", "\n").replace("\r", "\n")
        if "-----BEGIN PGP MESSAGE-----" in text:
            text, count = _PGP.subn("", text)
            if count:
                self.leave_out("the body", "it is encrypted (PGP)", "save the mail decrypted")
        if "-----BEGIN PGP SIGNED" in text:
            text = _PGP_SIGNED.sub(lambda match: re.sub("(?m)^- ", "", match.group(1)), text)
        if "\nend" in text and "begin " in text:
            text = _UUENCODED.sub(self._take_uuencoded, text)
        if text.strip():
            self.texts.append(text.strip("\n"))

    def attach(self, name: str, data: bytes, kind: str = "application/octet-stream") -> None:
        """Add a file under a name that no other has, and that tells its format."""
        name = " ".join(storable_text(PurePath(name.replace("\\", "/")).name).split())
        name = name[-_LONGEST_NAME:] or f"attachment-{len(self.attached) + 1}"
        path = PurePath(name)
        if not path.suffix or path.suffix == ".dat":
            name += mimetypes.guess_extension(kind) or ""
        taken = {each.name for each in self.attached}
        stem, suffix, number = PurePath(name).stem, PurePath(name).suffix, 1
        while name in taken:
            number += 1
            name = f"{stem} ({number}){suffix}"
        self.attached.append(Attached(name, data))

    def leave_out(self, part: str, reason: str, mend: str) -> None:
        """Note what cannot be read."""
        self.left_out.append(LeftOut(storable_text(part), reason, mend))

    def _take_uuencoded(self, match: re.Match[str]) -> str:
        try:
            lines = match.group(2).splitlines()
            data = b"".join(binascii.a2b_uu(line) for line in lines)
        except binascii.Error:
            return match.group()
        self.attach(match.group(1), data)
        return ""


def mail_parts(message: RawPart) -> MailParts:
    """Return the parts of a mail; an invitation that is also attached as a file comes once."""
    parts = MailParts()
    _add(parts, message, 0)
    named = {each.data.strip() for each in parts.attached if each.name != _INVITATION}
    parts.attached = [
        each
        for each in parts.attached
        if each.name != _INVITATION or each.data.strip() not in named
    ]
    return parts


def _add(parts: MailParts, part: RawPart, depth: int) -> None:
    kind = part.get_content_type()
    if depth > _MOST_DEPTH:
        parts.leave_out("a part", f"parts nest deeper than {_MOST_DEPTH} levels", "save it alone")
    elif kind == "multipart/encrypted" or is_enveloped(part):
        parts.leave_out("the body", "it is encrypted", "save the mail decrypted")
    elif _is_smime(part):
        _add_signed(parts, part, depth)
    elif kind == "multipart/alternative":
        _add_alternatives(parts, part, depth)
    elif part.get_content_maintype() == "message":
        _add_message(parts, part, kind)
    elif part.is_multipart():
        for child in _children(part):
            _add(parts, child, depth + 1)
    else:
        _add_leaf(parts, part, kind)


def _add_message(parts: MailParts, part: RawPart, kind: str) -> None:
    """Add a part that is a mail, or says something about one."""
    if kind in _REPORTS:
        parts.add_text("\n\n".join(_fields(each) for each in _children(part)))
    elif kind == "message/external-body":
        address = part.get_param("url") or part.get_param("name") or "elsewhere"
        parts.leave_out(str(address), "it was not sent along", "save it beside the mail")
    elif kind == "message/partial":
        parts.leave_out("the body", "it was sent in several mails", "save the whole mail")
    else:
        _attach_mail(parts, part)


def _add_leaf(parts: MailParts, part: RawPart, kind: str) -> None:
    """Add what holds no parts: a text that is shown in its place, or a file."""
    name = file_name(part)
    if kind in _SIGNATURES or kind == _BESIDE_FILES:
        return
    if _is_shown(part, kind, name):
        parts.add_text(part_text(part))
        return
    data = part_bytes(part)
    if kind in _TNEF or name.lower() == "winmail.dat" or is_tnef(data):
        _add_tnef(parts, data)
    elif data:
        parts.attach(name or _name_by_type(part, kind), data, kind)


def _is_shown(part: RawPart, kind: str, name: str) -> bool:
    """Whether a part is a text in its place; broken ones without a boundary are as well."""
    is_file = bool(name) or part.get_content_disposition() == "attachment"
    return (kind in _SHOWN and not is_file) or kind.startswith("multipart/")


def _add_alternatives(parts: MailParts, part: RawPart, depth: int) -> None:
    """Add the plain one of several texts, unless it has too few words of the HTML one."""
    found: list[tuple[bool, MailParts]] = []
    for child in _children(part):
        one = MailParts()
        _add(one, child, depth + 1)
        is_html = any(each.get_content_type() in _PAGES for each in child.walk())
        found.append((is_html, one))
    plain = next((one for is_html, one in found if not is_html and one.texts), None)
    rich = next((one for is_html, one in reversed(found) if is_html and one.texts), None)
    for text in chosen_texts(plain.text if plain else "", rich.text if rich else ""):
        parts.texts.append(text)
    for _, one in found:
        for attached in one.attached:
            parts.attach(attached.name, attached.data)
        parts.left_out += [each for each in one.left_out if each not in parts.left_out]


def chosen_texts(plain: str, rich: str) -> list[str]:
    """Choose of two texts that ought to say the same: what says all, both if neither does."""
    if not plain or not rich:
        return [text for text in (plain, rich) if text]
    plain_words, rich_words = _words(plain), _words(rich)
    shared = len(plain_words & rich_words)
    if shared >= _COVERED * len(rich_words):
        return [plain]
    own = len(plain_words) - shared
    is_needed = own >= max(_LEAST_OWN_WORDS, _LACKED * len(plain_words))
    return [plain, rich] if is_needed else [rich]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_ADDRESS.sub(" ", text).casefold()))


def _add_signed(parts: MailParts, part: RawPart, depth: int) -> None:
    try:
        inner = signed_mail(part_bytes(part))
    except ParseError as error:
        parts.leave_out("the signed body", str(error), "save the mail without its signature")
        return
    _add(parts, inner, depth + 1)


def _add_tnef(parts: MailParts, data: bytes) -> None:
    """Add what Outlook put into a winmail.dat; the mail around it may have the text already."""
    try:
        inner = read_tnef(data)
    except ParseError as error:
        parts.leave_out("winmail.dat", str(error), _ASK_ANEW)
        return
    if inner.is_cut:
        parts.leave_out("winmail.dat", "damaged: it is read as far as it is whole", _ASK_ANEW)
    rich = "\n\n".join(shown_text(text, kind) for text, kind in inner.texts)
    for text in chosen_texts(parts.text, rich):
        if text != parts.text:
            parts.add_text(text)
    for name, file in inner.files:
        parts.attach(name, file)


def _attach_mail(parts: MailParts, part: RawPart) -> None:
    """Add a mail within the mail, under its subject; a part of headers alone is one as well."""
    children = _children(part)
    data = children[0].as_bytes() if children else part_bytes(part)
    if children and str(part.get("Content-Transfer-Encoding", "")).strip().casefold() == "base64":
        with suppress(ParseError, ValueError):  # a standard forbids it, and programs do it
            inner = read_mail(base64.b64decode(data))
            children, data = [inner], inner.as_bytes()
    subject = str(children[0].get("Subject", "")) if children else ""
    name = file_name(part) or re.sub(r"[/\\:]+", " ", subject).strip()[: _LONGEST_NAME - 4]
    if not name.lower().endswith(".eml"):
        name = f"{name or 'mail'}.eml"
    if data.strip():
        parts.attach(name, data)


def _children(part: RawPart) -> list[RawPart]:
    """Return the parts of a part that has some."""
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, RawPart)] if part.is_multipart() else []


def _fields(message: RawPart) -> str:
    return "\n".join(f"{name}: {' '.join(str(value).split())}" for name, value in message.items())


def is_enveloped(part: RawPart) -> bool:
    """Whether a part is encrypted by S/MIME, and not signed."""
    return _is_smime(part) and is_encrypted(part_bytes(part))


def _is_smime(part: RawPart) -> bool:
    """Whether a part is a container of S/MIME; gateways give it no type but its name."""
    return part.get_content_type() in _SMIME or file_name(part).lower().endswith(".p7m")


def file_name(part: RawPart) -> str:
    """Return the name of a file that a part is; empty where it says none."""
    with suppress(ValueError, LookupError, TypeError, AttributeError, IndexError):
        return storable_text(str(part.get_filename() or ""))
    return ""


def _name_by_type(part: RawPart, kind: str) -> str:
    if kind == "text/calendar":
        return _INVITATION
    return f"{part.get_content_maintype()}{mimetypes.guess_extension(kind) or ''}"


def part_text(part: RawPart) -> str:
    """Return the text of a part as it is shown."""
    text = shown_text(decoded(part), part.get_content_type())
    if _parameter(part, "format") == "flowed":
        return unflowed(text, joins=_parameter(part, "delsp") == "yes")
    return text


def _parameter(part: RawPart, name: str) -> str:
    with suppress(ValueError, LookupError, TypeError, AttributeError):
        return str(part.get_param(name) or "").casefold()
    return ""


def unflowed(text: str, joins: bool) -> str:
    """Put lines together that a mail program broke (RFC 3676): those that end with a space.

    Where the program says that it `joins`, the space is its own.
    """
    lines: list[str] = []
    open_depth = -1
    for line in text.replace("\r\n", "\n").split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")
        if depth == open_depth and content != _SIGNATURE:
            lines[-1] += content
        else:
            lines.append(f"{'>' * depth} {content}" if depth else content)
        is_open = content.endswith(" ") and content != _SIGNATURE
        open_depth = depth if is_open else -1
        if is_open and joins:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


def shown_text(text: str, kind: str) -> str:
    """Return a text without the marks of its kind."""
    if kind in _PAGES:
        return parse_page(text, is_mail=True).text
    if kind == "text/rtf":
        return str(rtf_to_text(text, errors="replace"))
    if kind in ("text/enriched", "text/richtext"):
        return _ENRICHED.sub(lambda match: "<" if match.group() == "<<" else "", text)
    return text


def decoded(part: RawPart) -> str:
    """Decode a part by its charset; one that is missing, unknown or wrong is guessed."""
    charset = str(part.get_content_charset() or "")
    is_html = part.get_content_type() == "text/html"
    data = part_bytes(part)
    try:
        return decode(data, html=is_html, declared=charset)
    except ParseError as error:
        warnings.warn(str(error), DoubtfulEncoding, stacklevel=2)
        return data.decode("utf-8", "replace")


def part_bytes(part: RawPart) -> bytes:
    """Return the bytes of a part, its transfer encoding undone as far as it goes."""
    with suppress(LookupError, ValueError, KeyError, AttributeError, AssertionError):
        payload = part.get_payload(decode=True)
        return payload if isinstance(payload, bytes) else b""
    return b""


_MOST_NAMES = 100
# Addresses, dates and ids are short; what is longer is no header worth keeping.
_LONGEST_HEADER = 1000
# Apple's .emlx: the mail's length on a line of its own before it, and a property list behind it.
_EMLX = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n")


def parse_mail(data: bytes) -> Document:
    """Read an .eml file."""
    return mail_document(read_mail(data))


def contents(data: bytes) -> Contents:
    """Return the files that are attached to a mail."""
    return mail_contents(read_mail(data))


def mail_contents(message: EmailMessage) -> Contents:
    """Return the files of a mail; each knows whose they are."""
    about = {
        "mail": header(message, "Subject"),
        "from": header(message, "From"),
        "date": mail_time(message),
    }
    files = mail_parts(message).attached
    return Contents({key: value for key, value in about.items() if value}, files)


def mail_document(message: EmailMessage) -> Document:
    """Return the document of a mail; what is attached to it are others."""
    parts = mail_parts(message)
    return Document(
        title=header(message, "Subject"),
        text=parts.text,
        metadata=mail_metadata(message) | {"attachments": attachment_names(parts)},
        messages=(to_message(message, parts, header(message, "Message-ID")),),
        left_out=tuple(parts.left_out),
    )


def read_mail(data: bytes) -> EmailMessage:
    """Parse a message; whatever it lacks is missing, not an error."""
    unicode_marks = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
    if data.startswith(unicode_marks):
        data = decode(data).encode()
    if match := _EMLX.match(data):
        data = data[match.end() :][: int(match.group(1))]
    message = email.message_from_bytes(data.lstrip(b"\r\n"), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    if not message.keys():
        raise ParseError("no mail: it has no headers")
    if _is_encrypted(message):
        raise ParseError("it is encrypted: save it decrypted")
    return message


def to_message(
    message: EmailMessage, parts: MailParts, message_id: str, context: str = ""
) -> Message:
    """Turn a mail into a message for grouping."""
    people = ", ".join(filter(None, (header(message, "From"), header(message, "To"))))
    return Message(
        id=message_id,
        author=mail_author(message),
        time=mail_time(message),
        text="\n\n".join(filter(None, (header(message, "Subject"), parts.text))),
        context=context or message_id,
        metadata={"mailAddresses": mail_addresses(people)},
    )


def mail_metadata(message: EmailMessage) -> dict[str, object]:
    """Return what the headers say, without what is missing."""
    found = {
        "from": header(message, "From"),
        "to": header(message, "To"),
        "cc": header(message, "Cc"),
        "date": mail_time(message),
        "messageId": header(message, "Message-ID"),
    }
    return {key: value for key, value in found.items() if value}


def header(message: EmailMessage, name: str) -> str:
    """Return a header's value, decoded as far as it can be; empty where there is none."""
    try:
        value = str(message.get(name, ""))
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError):
        value = _raw_header(message, name)
    if "\ufffd" in value:  # letters that no one encoded
        with suppress(ParseError, UnicodeError):
            value = decode(_raw_header(message, name).encode("utf-8", "surrogateescape"))
    return storable_text(" ".join(value.split())[:_LONGEST_HEADER])


def _raw_header(message: EmailMessage, name: str) -> str:
    raw = (str(value) for key, value in message.raw_items() if key.lower() == name.lower())
    return next(raw, "")


def mail_author(message: EmailMessage) -> str:
    """Return the sender's name, else the address."""
    names = getaddresses([header(message, "From") or header(message, "Sender")])
    return next((name or address for name, address in names if name or address), "")


def mail_addresses(people: str) -> list[str]:
    """Return the addresses out of headers."""
    return sorted({address for _, address in getaddresses([people]) if "@" in address})


def mail_time(message: EmailMessage) -> str:
    """Return when a mail was sent, in UTC, or first received or sent on; empty where it says none.

    A sender's clock may be wrong, or have been reset: the first server's time then counts. The
    "From " line of a mailbox comes last: it may be that of an export.
    """
    received = [str(value).rpartition(";")[2] for value in message.get_all("Received", ())]
    later = (header(message, name) for name in ("Resent-Date", "Delivery-Date"))
    told = *reversed(received), *later
    first = next(filter(None, map(moment_of, told)), None)
    sent = moment_of(_raw_header(message, "Date"))  # the library drops +01:00 and halves of days
    if sent and first and _is_wrong(sent, first):
        sent = None
    moment = sent or first or moment_of(" ".join((message.get_unixfrom() or "").split()[2:]))
    return moment.isoformat() if moment else ""


# Zones differ by a day at most, and servers try for some days to deliver. What is older may have
# been moved from another mailbox, unless there was no mail yet. Clocks are reset to 1970 or 1980.
_AHEAD, _LATE = timedelta(days=1), timedelta(days=30)
_RESET = datetime(1990, 1, 1, tzinfo=UTC)


def _is_wrong(sent: datetime, received: datetime) -> bool:
    """Tell whether a mail's date is that of a clock that was ahead or reset."""
    return sent > received + _AHEAD or (sent < _RESET and sent < received - _LATE)


def attachment_names(parts: MailParts) -> list[str]:
    """Return the names of the files that are attached."""
    return [each.name for each in parts.attached][:_MOST_NAMES]


def _is_encrypted(message: EmailMessage) -> bool:
    """Whether a mail is encrypted by PGP or S/MIME; a signed one is not."""
    return message.get_content_type() == "multipart/encrypted" or is_enveloped(message)
