"""Mails as programs write them: TNEF, S/MIME, HTML in RTF."""

import struct
from email.message import EmailMessage
from email.policy import SMTP

_LEVEL_MESSAGE, _LEVEL_FILE = 1, 2
_TNEF = struct.pack("<IH", 0x223E9F78, 1)


def mail(
    subject: str, text: str = "", sender: str = "Ann Berg <ann@kontor.example>"
) -> EmailMessage:
    """Return a mail with the usual headers."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = sender, "Bo <bo@kontor.example>", subject
    message["Date"] = "Mon, 04 May 2026 10:00:00 +0200"
    message["Message-ID"] = f"<{abs(hash(subject))}@kontor.example>"
    if text:
        message.set_content(text)
    return message


def tnef(html: str, files: dict[str, bytes]) -> bytes:
    """Write a winmail.dat: a body as MAPI's PR_HTML, and files."""
    body = html.encode()
    padded = body + bytes(-len(body) % 4)
    properties = struct.pack("<IHHII", 1, 0x0102, 0x1013, 1, len(body)) + padded
    out = _TNEF + _attribute(_LEVEL_MESSAGE, 0x00069003, properties)
    for name, data in files.items():
        out += _attribute(_LEVEL_FILE, 0x00069002, bytes(14))
        out += _attribute(_LEVEL_FILE, 0x00018010, name.encode() + b"\0")
        out += _attribute(_LEVEL_FILE, 0x0006800F, data)
    return out


def tnef_of_text(text: str, encoding: str, code_page: bytes) -> bytes:
    """Write a winmail.dat whose body is text of a code page."""
    said = _attribute(_LEVEL_MESSAGE, 0x00069007, code_page)
    return _TNEF + said + _attribute(_LEVEL_MESSAGE, 0x0002800C, text.encode(encoding) + b"\0")


def _attribute(level: int, name: int, data: bytes) -> bytes:
    return (
        struct.pack("<BII", level, name, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)
    )


def enveloped_data() -> bytes:
    """Write the beginning of an enveloped-data of S/MIME: what is encrypted."""
    return _der(0x30, _der(0x06, bytes.fromhex("2a864886f70d010703")) + _der(0xA0, bytes(40)))


def signed_data(message: bytes) -> bytes:
    """Write a signed-data of S/MIME around a mail, without signers, its text in pieces (BER)."""
    kinds = {"signed": "2a864886f70d010702", "data": "2a864886f70d010701"}
    object_ids = {name: _der(0x06, bytes.fromhex(code)) for name, code in kinds.items()}
    half = len(message) // 2
    pieces = _der(0x04, message[:half]) + _der(0x04, message[half:])
    octets = b"\x24\x80" + pieces + b"\0\0"
    capsule = b"\x30\x80" + object_ids["data"] + b"\xa0\x80" + octets + b"\0\0\0\0"
    signed = b"\x30\x80" + _der(0x02, b"\1") + _der(0x31, b"") + capsule + _der(0x31, b"") + b"\0\0"
    return b"\x30\x80" + object_ids["signed"] + b"\xa0\x80" + signed + b"\0\0\0\0"


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    return bytes((tag, 0x82)) + size.to_bytes(2) + content
