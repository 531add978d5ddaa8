"""Mail: one message of a file, with its headers, its text and what is attached to it."""

import email
import email.policy
import re
from contextlib import suppress
from datetime import UTC
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime

from pgblend.cli.ingest.attached import Contents
from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, Message, ParseError, storable_text
from pgblend.cli.ingest.mail_parts import SMIME, MailParts, is_signed, mail_parts

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
    message = email.message_from_bytes(data, policy=email.policy.default)
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
    """Return when a mail was sent, in UTC; empty where it does not say so."""
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(header(message, "Date"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    return ""


def attachment_names(parts: MailParts) -> list[str]:
    """Return the names of the files that are attached."""
    return [each.name for each in parts.attached][:_MOST_NAMES]


def _is_encrypted(message: EmailMessage) -> bool:
    """Whether a mail is encrypted by PGP or S/MIME; a signed one is not."""
    kind = message.get_content_type()
    return kind == "multipart/encrypted" or (kind in SMIME and not is_signed(message))
