"""ZIP archives: the files in them, one after another."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from pgblend.cli.documents.document import Attached, Contents, storable_text
from pgblend.cli.documents.office_file import open_archive, read_member
from pgblend.cli.documents.source_file import leftover

# What macOS puts beside each file.
_RESOURCES = "__MACOSX"


def contents(data: bytes) -> Contents:
    """Return the files of an archive; hidden ones and leftovers are passed over, as in folders."""
    return Contents(files=_files(data))


def _files(data: bytes) -> Iterator[Attached]:
    with open_archive(data) as archive:
        for member in archive.infolist():
            parts = PurePosixPath(member.filename.replace("\\", "/")).parts
            is_hidden = any(part.startswith(".") or part == _RESOURCES for part in parts)
            is_passed_over = is_hidden or leftover(parts[-1] if parts else "")
            if not member.is_dir() and not is_passed_over:
                name = "/".join(part for part in parts if part != "/")
                yield Attached(storable_text(name), read_member(archive, member.filename))
