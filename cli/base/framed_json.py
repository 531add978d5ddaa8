"""Messages between pgblend and the processes that it starts: a JSON object, and bytes with it.

Nothing that comes is unpickled: who speaks may have read a hostile file.
"""

import json
import struct
from typing import IO, Any

_LENGTHS = struct.Struct(">II")
# json.dumps would make an encoder each time.
encode_json = json.JSONEncoder(ensure_ascii=False).encode


def write_frame(
    stream: IO[bytes], message: dict[str, Any], payload: bytes = b"", flush: bool = True
) -> None:
    """Write one message, and with it bytes that nobody but the last reader looks into."""
    data = encode_json(message).encode("utf-8", "surrogatepass")
    stream.write(_LENGTHS.pack(len(data), len(payload)) + data + payload)
    if flush:
        stream.flush()


def read_frame(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream, also in the middle of a message.

    Bytes that came with it are its "payload".
    """
    head = stream.read(_LENGTHS.size)
    if len(head) < _LENGTHS.size:
        return None
    length, payload_length = _LENGTHS.unpack(head)
    data = stream.read(length + payload_length)
    return _message(data, length) if len(data) == length + payload_length else None


class FrameBuffer:
    """Puts messages together from what has come of them."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Add what came next."""
        self._data += data

    def take(self) -> dict[str, Any] | None:
        """Return the first message and let it go; None where not all of it is there."""
        if len(self._data) < _LENGTHS.size:
            return None
        length, payload_length = _LENGTHS.unpack_from(self._data)
        end = _LENGTHS.size + length + payload_length
        if len(self._data) < end:
            return None
        data = bytes(self._data[_LENGTHS.size : end])
        del self._data[:end]
        return _message(data, length)


def _message(data: bytes, length: int) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(data[:length])
    if len(data) > length:
        message["payload"] = data[length:]
    return message
