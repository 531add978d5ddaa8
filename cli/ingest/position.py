"""What a parsing process is at: a note that its run reads when it waits for long, or after a death.

A message for each document would wake the run each time.
"""

import os
import struct
from dataclasses import dataclass

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
