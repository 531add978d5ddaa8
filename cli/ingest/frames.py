"""Messages between the run and its parsing processes: a length, then JSON."""

import json
import struct
from typing import IO, Any

_LENGTH = struct.Struct(">I")


def write_frame(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write one message and flush it."""
    data = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream, also in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        return None
    message: dict[str, Any] = json.loads(data)
    return message
