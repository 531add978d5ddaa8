"""What can still be read of a ZIP archive that is cut off, or whose checksums do not match."""

import struct
import zlib

from pgblend.cli.ingest.office_file import MAX_RATIO, MAX_UNPACKED_BYTES

_SIGNATURE = b"PK\x03\x04"
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1
_UTF8 = 1 << 11
_SMALLEST_LIMIT = 64 << 20


def salvaged(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive by the headers before each, as far as they unpack.

    All together are no larger than an archive of this size may be.
    """
    room = min(MAX_UNPACKED_BYTES, max(_SMALLEST_LIMIT, MAX_RATIO * len(data)))
    found: dict[str, bytes] = {}
    start = data.find(_SIGNATURE)
    while 0 <= start <= len(data) - _HEADER.size and room > 0:
        _, _, flags, method, *_, packed, size, name_size, extra_size = _HEADER.unpack_from(
            data, start
        )
        name_end = start + _HEADER.size + name_size
        begin = name_end + extra_size
        name = data[start + _HEADER.size : name_end].decode(
            "utf-8" if flags & _UTF8 else "cp437", "replace"
        )
        content = b""
        if not flags & _ENCRYPTED and method == _DEFLATED:
            content = _inflated(data, begin, room)
        elif not flags & _ENCRYPTED and method == _STORED:
            content = data[begin : begin + min(size, room)]
        if content and not name.endswith("/"):
            found[name] = content
            room -= len(content)
        start = data.find(_SIGNATURE, max(begin + packed, start + 4))
    return found


def _inflated(data: bytes, begin: int, room: int) -> bytes:
    """Inflate what begins here, up to its end or the first fault."""
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    pieces: list[bytes] = []
    for place in range(begin, len(data), 1 << 16):
        try:
            piece = inflater.decompress(data[place : place + (1 << 16)], room)
        except zlib.error:
            break
        pieces.append(piece)
        room -= len(piece)
        if inflater.eof or inflater.unconsumed_tail or room <= 0:
            break
    return b"".join(pieces)
