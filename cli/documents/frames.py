"""Messages between the run and its parsing processes, and files that wait on disk."""

import json
import os
import struct
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

# Documents between parser and database: in memory while they are small, else in a file.

_MEMORY_BYTES = 8 << 20


class Batch:
    """The prepared documents of one batch, by their place in `labels` and source `keys`."""

    def __init__(self, labels: list[str], keys: Sequence[str] = ()) -> None:
        self.labels, self.keys = labels, keys
        self.chunks: dict[int, int] = {}
        self.tokens = self.pictures = 0
        self.samples: list[tuple[str, int]] = []
        self._parts: list[tuple[int, int, int]] = []
        self._spool = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115

    def add(self, place: int, part: int, payload: bytes) -> None:
        """Add a part of a document, as rows for COPY."""
        self._parts.append((place, part, self._spool.write(payload)))

    def finish(self, place: int, chunks: int, tokens: int) -> None:
        """Say that a document is complete."""
        self.chunks[place] = chunks
        self.tokens += tokens

    def sample(self, pictures: int, chunk: tuple[str, int] | None) -> None:
        """Count the pictures of a document that is not stored, and keep a chunk with its tokens."""
        self.pictures += pictures
        self.samples += [chunk] if chunk else []

    def drop(self, place: int) -> None:
        """Give up a document of which parts are there."""
        self.chunks.pop(place, None)

    def parts(self, only: Collection[int] | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Yield (place, part, payload) of the complete documents, or of some of them."""
        self._spool.seek(0)
        for place, part, size in self._parts:
            payload = self._spool.read(size)
            if place in self.chunks and (only is None or place in only):
                yield place, part, payload

    def close(self) -> None:
        """Give back the memory or the file."""
        self._spool.close()


# What a parsing process is at: a note that its run reads when it waits for long, or after a death.
#
# A message for each document would wake the run each time.

_HEAD = struct.Struct(">IdI")
_LONGEST_LABEL = 10_000


@dataclass(frozen=True)
class Position:
    """The place of a file in its task, the seconds of the processor that what is read may take.

    `name` is the label in UTF-8; nobody but who needs it decodes it, since it may be read while it
    is written.
    """

    place: int
    seconds: float
    name: bytes

    @property
    def label(self) -> str:
        """What of the file is read."""
        return self.name.decode("utf-8", "surrogatepass")


def write_position(file: int, place: int, label: str, seconds: float) -> None:
    """Put a position in the place of the one before."""
    name = label[:_LONGEST_LABEL].encode("utf-8", "surrogatepass")
    os.pwrite(file, _HEAD.pack(place, seconds, len(name)) + name, 0)


def read_position(file: int) -> Position:
    """Return the last position."""
    data = os.pread(file, _HEAD.size + 4 * _LONGEST_LABEL, 0)
    place, seconds, length = _HEAD.unpack_from(data)
    return Position(place, seconds, data[_HEAD.size :][:length])


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
