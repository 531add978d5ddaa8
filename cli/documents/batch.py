"""What a run and its parsing processes share: batches on disk, and a note of what is read."""

import os
import struct
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

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
