"""Outlook's .msg: the properties of a mail in an OLE file."""

import io
from contextlib import suppress
from email import message_from_string, policy
from email.message import EmailMessage

import olefile

from pgblend.cli.ingest.document import Document, Message, ParseError, storable_text
from pgblend.cli.ingest.parse_html import parse_html
from pgblend.cli.ingest.parse_mail import mail_addresses, mail_time

# Property tags of [MS-OXPROPS]; 001F is UTF-16 text, 001E text of a code page, 0102 bytes.
_SUBJECT, _BODY, _HTML = "0037", "1000", "1013"
_SENDER_NAME, _SENDER_ADDRESS, _TO = "0C1A", "0C1F", "0E04"
_HEADERS, _MESSAGE_ID, _CLASS = "007D", "1035", "001A"
_LONGEST = 1000


def parse_outlook(data: bytes) -> Document:
    """Read a .msg file."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            values = {
                tag: _text(file, tag)
                for tag in (
                    _SUBJECT,
                    _BODY,
                    _HTML,
                    _SENDER_NAME,
                    _SENDER_ADDRESS,
                    _TO,
                    _HEADERS,
                    _MESSAGE_ID,
                    _CLASS,
                )
            }
    except (OSError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise ParseError(f"no readable Outlook message: {error}") from None
    if "smime" in values[_CLASS].lower() and "signed" not in values[_CLASS].lower():
        raise ParseError("it is encrypted (S/MIME)")
    headers = message_from_string(values[_HEADERS], policy=policy.default)
    assert isinstance(headers, EmailMessage)
    body = values[_BODY] or parse_html(values[_HTML])[0]
    author = values[_SENDER_NAME] or values[_SENDER_ADDRESS]
    message_id = values[_MESSAGE_ID].strip()[:_LONGEST]
    when = mail_time(headers)
    subject = " ".join(values[_SUBJECT].split())[:_LONGEST]
    found = {"from": author, "to": values[_TO][:_LONGEST], "date": when, "messageId": message_id}
    people = f"{values[_SENDER_ADDRESS]}, {values[_TO].replace(';', ',')}"
    text = body.replace("\r\n", "\n").replace("\r", "\n").strip()
    message = Message(
        id=message_id,
        author=author,
        time=when,
        text="\n\n".join(filter(None, (subject, text))),
        context=message_id,
        metadata={"mailAddresses": mail_addresses(people)},
    )
    return Document(
        title=subject,
        text=text,
        metadata={key: value for key, value in found.items() if value},
        messages=(message,),
    )


def _text(file: olefile.OleFileIO, tag: str) -> str:
    """Return a property as text; empty where there is none."""
    for kind, encoding in (("001F", "utf-16-le"), ("001E", "cp1252"), ("0102", "utf-8")):
        name = f"__substg1.0_{tag}{kind}"
        if file.exists(name):
            with suppress(OSError), file.openstream(name) as stream:
                text: str = stream.read().decode(encoding, errors="replace")
                return storable_text(text.rstrip("\x00"))
    return ""
