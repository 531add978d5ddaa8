"""Mail: one message of a file, with its headers, its readable part and the names of attachments."""

import email
import email.policy
from contextlib import suppress
from datetime import UTC
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, Message, ParseError, storable_text
from pgblend.cli.ingest.parse_html import parse_html

_SMIME = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime"))
_MOST_ATTACHMENTS = 100
# Addresses, dates and ids are short; what is longer is no header worth keeping.
_LONGEST_HEADER = 1000


def parse_mail(data: bytes) -> Document:
    """Read an .eml file."""
    message = read_mail(data)
    return Document(
        title=header(message, "Subject"),
        text=mail_text(message),
        metadata=mail_metadata(message) | {"attachments": attachment_names(message)},
        messages=(to_message(message, header(message, "Message-ID")),),
    )


def read_mail(data: bytes) -> EmailMessage:
    """Parse a message; whatever it lacks is missing, not an error."""
    unicode_marks = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
    if data.startswith(unicode_marks):
        data = decode(data).encode()
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    if not message.keys():
        raise ParseError("no mail: it has no headers")
    if _is_encrypted(message):
        raise ParseError("it is encrypted: save it decrypted")
    return message


def to_message(message: EmailMessage, message_id: str, context: str = "") -> Message:
    """Turn a mail into a message for grouping."""
    people = ", ".join(filter(None, (header(message, "From"), header(message, "To"))))
    return Message(
        id=message_id,
        author=mail_author(message),
        time=mail_time(message),
        text="\n\n".join(filter(None, (header(message, "Subject"), mail_text(message)))),
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
        raw = (str(value) for key, value in message.raw_items() if key.lower() == name.lower())
        value = next(raw, "")
    return storable_text(" ".join(value.split())[:_LONGEST_HEADER])


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


def mail_text(message: EmailMessage) -> str:
    """Return the body: the plain part, else the HTML part as text."""
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    text = _content(body)
    if body.get_content_type() == "text/html":
        text = parse_html(text)[0]
    return storable_text(text).replace("\r\n", "\n").replace("\r", "\n").strip()


def attachment_names(message: EmailMessage) -> list[str]:
    """Return the file names of what is attached."""
    names = []
    for part in message.walk():
        with suppress(ValueError, LookupError, TypeError, AttributeError, IndexError):
            name = part.get_filename()
            if name:
                names.append(storable_text(str(name))[:_LONGEST_HEADER])
    return names[:_MOST_ATTACHMENTS]


def _is_encrypted(message: EmailMessage) -> bool:
    """Whether a mail is encrypted by PGP or S/MIME; a signed one is not."""
    kind = message.get_content_type()
    return kind == "multipart/encrypted" or (
        kind in _SMIME and "signed" not in header(message, "Content-Type")
    )


def _content(part: object) -> str:
    """Decode a part; one of an unknown or wrong encoding as well as it goes."""
    assert isinstance(part, EmailMessage)
    with suppress(LookupError, ValueError, KeyError, AttributeError):
        return str(part.get_content())
    payload = part.get_payload(decode=True)
    return decode(payload, html=True) if isinstance(payload, bytes) else ""
