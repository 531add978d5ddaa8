"""ZIP archives: the files in them, one after another."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath

from pgblend.cli.documents.document import Attached, Contents, LeftOut, storable_text
from pgblend.cli.documents.office_file import (
    DAMAGED,
    LOCKED,
    BrokenArchiveError,
    open_archive,
    salvaged,
)
from pgblend.cli.documents.source_file import leftover

# What macOS puts beside each file.
_RESOURCES = "__MACOSX"


def contents(data: bytes) -> Contents:
    """Return the files of an archive; hidden ones and leftovers are passed over, as in folders.

    Those that are damaged or need a password are told, once the others were read.
    """
    left_out: list[LeftOut] = []
    return Contents(files=_files(data, left_out), left_out=left_out)


def _files(data: bytes, left_out: list[LeftOut]) -> Iterator[Attached]:
    for member, read in _members(data, left_out):
        parts = PurePosixPath(member.replace("\\", "/")).parts
        is_hidden = any(part.startswith(".") or part == _RESOURCES for part in parts)
        if is_hidden or leftover(parts[-1] if parts else ""):
            continue
        name = storable_text("/".join(part for part in parts if part != "/"))
        try:
            yield Attached(name, read())
        except DAMAGED as error:
            left_out.append(LeftOut(name, f"it cannot be unpacked: {error}", "unpack it by hand"))


def _members(data: bytes, left_out: list[LeftOut]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield name and reader of each file; of an archive without its end those that are whole."""
    try:
        with open_archive(data, some_locked=True) as archive:
            for member in archive.infolist():
                if member.flag_bits & LOCKED:
                    name = storable_text(member.filename)
                    left_out.append(LeftOut(name, "it needs a password", "unpack it"))
                elif not member.is_dir():
                    yield member.filename, partial(archive.read, member)
    except BrokenArchiveError as error:
        found = salvaged(data)
        if not found:
            raise
        left_out.append(LeftOut("the archive's end", str(error), "get the archive anew"))
        for name, content in found.items():
            yield name, partial(bytes, content)
