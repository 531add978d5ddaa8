"""ZIP archives: the files in them, one after another."""

import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from zipfile import ZipInfo

from pgblend.cli.documents.discovery import leftover
from pgblend.cli.documents.document import Attached, Contents, LeftOut, storable_text
from pgblend.cli.documents.office_file import (
    DAMAGED,
    LOCKED,
    BrokenArchiveError,
    open_archive,
    salvaged,
)

# What macOS puts beside each file.
_RESOURCES = "__MACOSX"


def contents(data: bytes) -> Contents:
    """Return the files of an archive; hidden ones and leftovers are passed over, as in folders.

    Those that are damaged or need a password are told, once the others were read.
    """
    left_out: list[LeftOut] = []
    return Contents(files=_files(data, left_out), left_out=left_out)


def _files(data: bytes, left_out: list[LeftOut]) -> Iterator[Attached]:
    for member, modified_at, read in _members(data, left_out):
        parts = PurePosixPath(member.replace("\\", "/")).parts
        is_hidden = any(part.startswith(".") or part == _RESOURCES for part in parts)
        if is_hidden or leftover(parts[-1] if parts else ""):
            continue
        name = storable_text("/".join(part for part in parts if part != "/"))
        try:
            yield Attached(name, read(), modified_at)
        except DAMAGED as error:
            left_out.append(LeftOut(name, f"it cannot be unpacked: {error}", "unpack it by hand"))


Member = tuple[str, datetime | None, Callable[[], bytes]]  # name, time, reader


def _members(data: bytes, left_out: list[LeftOut]) -> Iterator[Member]:
    """Yield each file; of an archive without its end those that are whole."""
    try:
        with open_archive(data, some_locked=True) as archive:
            for member in archive.infolist():
                if member.flag_bits & LOCKED:
                    name = storable_text(member.filename)
                    left_out.append(LeftOut(name, "it needs a password", "unpack it"))
                elif not member.is_dir():
                    yield member.filename, _modified_at(member), partial(archive.read, member)
    except BrokenArchiveError as error:
        found = salvaged(data)
        if not found:
            raise
        left_out.append(LeftOut("the archive's end", str(error), "get the archive anew"))
        for name, content in found.items():
            yield name, None, partial(bytes, content)


_UNIX_TIME = 0x5455  # an extra field: a byte of flags, then seconds since 1970 if its bit 1 is set
_NO_TIME = 1980  # where the clock of an archive begins


def _modified_at(member: ZipInfo) -> datetime | None:
    """Return when a file was changed last, by the local clock if the archive names no zone."""
    extra = member.extra
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        if kind == _UNIX_TIME and 5 <= size <= len(extra) - 4 and extra[4] & 1:
            return datetime.fromtimestamp(struct.unpack_from("<i", extra, 5)[0], UTC)
        extra = extra[4 + size :]
    try:
        local = datetime(*member.date_time)
    except ValueError:  # an archive may say any numbers
        return None
    return local.astimezone(UTC) if local.year > _NO_TIME else None
