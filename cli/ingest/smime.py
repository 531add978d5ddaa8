"""S/MIME: the mail within what is signed as a whole (application/pkcs7-mime, signed-data)."""

import email
import email.policy
from collections.abc import Iterator
from email.message import Message

from pgblend.cli.ingest.document import ParseError

_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_DATA = bytes.fromhex("2a864886f70d010701")
_SEQUENCE, _OCTETS, _CONSTRUCTED_OCTETS = 0x30, 0x04, 0x24
_MOST_DEPTH = 20


def signed_mail(data: bytes) -> Message:
    """Return the mail that a signed-data holds; ParseError where it is something else.

    The signature is not checked: this reads what is said, not who said it.
    """
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
