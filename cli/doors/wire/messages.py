"""Messages of PostgreSQL's protocol 3: their frames, and the few that the door reads or writes.

A message is kept as the bytes that it came as. That is one byte of kind, its length in four, its
body. (PostgreSQL documentation, Frontend/Backend Protocol, Message Formats.)
"""

import struct
from collections.abc import Mapping
from typing import Final

LONGEST: Final = 1 << 30  # PostgreSQL takes and sends none that is longer
_LONGEST_START = 10_000  # MAX_STARTUP_PACKET_LENGTH
_HEAD = 5
_LENGTH = struct.Struct("!i")
# A connection's first message has no kind, but one of these numbers or the protocol's version.
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102

QUERY: Final = b"Q"
PARSE: Final = b"P"
BIND: Final = b"B"
DESCRIBE: Final = b"D"
EXECUTE: Final = b"E"
CALL: Final = b"F"  # of a function by its number
CLOSE: Final = b"C"
SYNC: Final = b"S"
FLUSH: Final = b"H"
TERMINATE: Final = b"X"
COPY_PARTS = frozenset((b"d", b"c", b"f"))

AUTHENTICATION: Final = b"R"
PROCESS: Final = b"K"  # and its secret, for requests to cancel
READY: Final = b"Z"
COLUMNS: Final = b"T"
ROW: Final = b"D"
COPIED: Final = b"d"  # a row of COPY … TO STDOUT
PARSED: Final = b"1"
CLOSED: Final = b"3"
COMPLETE: Final = b"C"
ERROR: Final = b"E"
NOTICE: Final = b"N"
NOTIFICATION: Final = b"A"
PARAMETER: Final = b"S"
COPIES = frozenset((b"G", b"W"))  # CopyInResponse and CopyBothResponse: the client sends next

IDLE: Final = b"I"
IN_TRANSACTION: Final = b"T"
FAILED: Final = b"E"
_SASL = 10  # the kind of AuthenticationSASL


class BrokenProtocolError(Exception):
    """What came is no message of PostgreSQL's protocol."""


def take_messages(buffer: bytearray) -> list[bytes]:
    """Remove all whole messages from a buffer and return them."""
    found, at, size = [], 0, len(buffer)
    while size - at >= _HEAD:
        (length,) = _LENGTH.unpack_from(buffer, at + 1)
        if not 4 <= length <= LONGEST:
            raise BrokenProtocolError(f"a message says that it has {length} bytes")
        end = at + 1 + length
        if end > size:
            break
        found.append(bytes(buffer[at:end]))
        at = end
    del buffer[:at]
    return found


def state_after(answer: bytearray) -> bytes | None:
    """Return the state that a session is ready in, where an answer is whole, else None."""
    at, last, size = 0, 0, len(answer)
    while size - at >= _HEAD:
        last = at
        at += 1 + _LENGTH.unpack_from(answer, at + 1)[0]
    return bytes(answer[-1:]) if at == size and answer[last] == READY[0] else None


def take_start(buffer: bytearray) -> tuple[int, bytes] | None:
    """Remove a connection's first message; return its number and bytes, None until it is whole."""
    if len(buffer) < 8:
        return None
    length, number = struct.unpack_from("!ii", buffer)
    if not 8 <= length <= _LONGEST_START:
        raise BrokenProtocolError(f"a first message says that it has {length} bytes")
    if len(buffer) < length:
        return None
    message = bytes(buffer[:length])
    del buffer[:length]
    return number, message


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Return a message of a kind."""
    return kind + _LENGTH.pack(len(body) + 4) + body


def text(value: str) -> bytes:
    """Return a text as messages have it."""
    return value.encode() + b"\0"


def query(statement: str) -> bytes:
    """Return the message that runs statements of SQL."""
    return message(QUERY, text(statement))


def texts_of(body: bytes, most: int) -> list[bytes]:
    """Return the first texts of a message's body."""
    return body.split(b"\0", most)[:most]


def fields_of(error: bytes) -> dict[str, str]:
    """Return the fields of an error or a notice, by their letters: C is its SQLSTATE."""
    parts = error[_HEAD:].split(b"\0")
    return {part[:1].decode(): part[1:].decode("utf-8", "replace") for part in parts if part}


def error(fields: Mapping[str, str], kind: bytes = ERROR) -> bytes:
    """Return an error with these fields."""
    return message(
        kind, b"".join(key.encode() + text(value) for key, value in fields.items()) + b"\0"
    )


def refusal(problem: str) -> bytes:
    """Return an error of the door's own."""
    fields = {"S": "ERROR", "V": "ERROR", "C": "PB017", "M": f"the door could not go on: {problem}"}
    return error(fields)


def fatal(sqlstate: str, problem: str, hint: str = "") -> bytes:
    """Return an error that ends a connection."""
    fields = {"S": "FATAL", "V": "FATAL", "C": sqlstate, "M": problem}
    return error(fields | ({"H": hint} if hint else {}))


def ready(state: bytes) -> bytes:
    """Return the message that a session waits for the next statement."""
    return message(READY, state)


def without_binding(authentication: bytes) -> bytes:
    """Return a request for a password by SASL without the mechanisms that bind to a channel.

    They prove that both ends see one TLS channel; here are two, one on each side of the door.
    """
    (method,) = struct.unpack_from("!i", authentication, _HEAD)
    if method != _SASL:
        return authentication
    names = [name for name in authentication[_HEAD + 4 :].split(b"\0") if name]
    kept = [name for name in names if not name.endswith(b"-PLUS")]
    listed = b"".join(name + b"\0" for name in kept) + b"\0"
    return message(AUTHENTICATION, struct.pack("!i", method) + listed)
