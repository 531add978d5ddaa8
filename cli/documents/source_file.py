"""A file on its way into a collection, and links, which may lead out of what was given."""

import errno
import os
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

from pgblend.cli.documents.document import ParseError

USERS_FILE, CHANNELS_FILE = "users.json", "channels.json"
# What programs put beside files, and no person wrote: a pattern of names, and what it is.
_LEFTOVERS = (
    (r"~\$.+", "a lock file of Word, Excel or PowerPoint"),
    (r"\.~lock\..+#", "a lock file of LibreOffice"),
    (r"~(wr[a-z]|df|ppt|mf)[0-9a-f]+\.(tmp|asd|wbk|do[ct]x?)", "a copy that Office works on"),
    (r"\.ds_store|\._.+|icon\r", "what macOS puts beside files"),
    (r"(eh)?thumbs\.db|desktop\.ini", "what Windows puts beside files"),
    (r".+\.msf", "an index of Thunderbird's"),
    (r".+~|\.?#.+#|\.#.+|\..+\.sw[a-p]|\..+\.un~", "a copy by an editor"),
)


@dataclass(frozen=True)
class SourceFile:
    """A file to read; `explicit` when it was named itself, not found in a folder.

    `readers` may read its documents; None: nobody says who.
    """

    path: Path
    source_key: str
    explicit: bool
    size: int
    modified: float
    readers: tuple[str, ...] | None = None

    @property
    def label(self) -> str:
        """What reports call the file."""
        return readable(self.path)

    def modified_at(self) -> datetime:
        """Return when the file was changed last, in UTC."""
        return datetime.fromtimestamp(self.modified, UTC)


def readable(path: str | Path) -> str:
    """Return a path as text, each part that is not UTF-8 by a guess at its encoding."""
    text = os.fspath(path)
    if text.isascii():
        return text
    return "/".join(map(_readable_part, text.split("/")))


def _readable_part(name: str) -> str:
    data = os.fsencode(name)
    try:
        return data.decode()
    except UnicodeDecodeError:
        from pgblend.cli.documents.decode import guess_encoding  # its detector takes its time

        guess = guess_encoding(data)
        return data.decode(guess.encoding if guess else "latin-1", errors="replace")


def leftover(name: str) -> str:
    """Say what a file of this name is that a program left beside others; "" for all others."""
    found = (what for pattern, what in _LEFTOVERS if re.fullmatch(pattern, name, re.I | re.S))
    return next(found, "")


def is_slack_export(names: Collection[str]) -> bool:
    """Whether files of these names, side by side, are a Slack export."""
    return USERS_FILE in names and CHANNELS_FILE in names


# Symbolic links: what lies in a folder may lead out of it, also after it was looked at.

NOWHERE = "a link that leads nowhere, or where this account may not look"
_OUT = "a link out of what was given, so it is left out: --follow-links reads it"
_SWAPPED = "a link out of what was given took its place"
# Where there is O_PATH, a folder need not be readable to be passed through.
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What is no file any more, a pipe, is not waited for.
_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def real_paths(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without links; what is named is named, also by a link."""
    return [Path(os.path.realpath(path)) for path in paths]


def leads_out(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path, with its links followed, is below none of the roots (see real_paths)."""
    return not _is_below(Path(os.path.realpath(path)), roots)


def open_file(path: Path, roots: Sequence[Path] | None = None) -> BinaryIO:
    """Open a regular file for reading; OSError for what is none.

    With `roots` (see real_paths) also for one that is below none of them. Whoever may write there
    can put a link in the place of a file or folder at any time. None is followed while opening.
    """
    if roots is None:
        descriptor = os.open(path, _FILE_FLAGS)
    else:
        real = Path(os.path.realpath(path))
        if not _is_below(real, roots):
            raise OSError(errno.ELOOP, _SWAPPED, str(path))
        descriptor = _open_without_links(real)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(descriptor, "rb")


def file_of(uri: str) -> Path:
    """Return the path that a file:// URI names."""
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(uri).path)))


def other_file(uri: str | None, path: Path) -> Path | None:
    """Return the file that a URI names if it is there and another one than `path`."""
    if uri is None or not uri.startswith("file://"):
        return None
    other = file_of(uri)
    with suppress(OSError, ValueError):
        if other != path and os.path.exists(other) and not other.samefile(path):
            return other
    return None


def _open_without_links(real: Path) -> int:
    """Open a path whose links were followed, part by part; a part that is a link is an error."""
    folder = os.open(real.anchor, _FOLDER_FLAGS)
    try:
        for part in real.parts[1:-1]:
            inner = os.open(part, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(real.name, _FILE_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(errno.ELOOP, _SWAPPED, str(real)) from None
        raise
    finally:
        os.close(folder)


def _is_below(real: Path, roots: Sequence[Path]) -> bool:
    return any(real.is_relative_to(root) for root in roots)


def is_dangling(path: Path) -> bool:
    """Whether a path is a link to nothing, to itself, or to what cannot be looked at."""
    return path.is_symlink() and not os.path.exists(path)


def link_problem(path: Path, roots: Sequence[Path], follow_links: bool) -> str | None:
    """Say why a link is left out; None for one that may be read, and for what is no link."""
    if not path.is_symlink():
        return None
    if is_dangling(path):
        return NOWHERE
    return _OUT if not follow_links and leads_out(path, roots) else None


def export_files(folder: Path, follow_links: bool) -> tuple[list[Path], dict[Path, str]]:
    """Return the JSON files of an export's folder, and why links in it are left out."""
    files, roots = sorted(folder.rglob("*.json")), real_paths([folder])
    problems = {file: link_problem(file, roots, follow_links) for file in files}
    left_out = {file: problem for file, problem in problems.items() if problem}
    return [file for file in files if file not in left_out], left_out


# Names as grant_document takes them; no names are nobody but who may write to the collection.
Readers = tuple[str, ...]
EVERYBODY = "*"


def reader_names(value: object, place: str) -> Readers:
    """Return names from a list or a text with commas; ParseError, with the place, for others.

    A document is not for all because of a slip.
    """
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(n, str) and n.strip() for n in names):
        raise ParseError(
            f"{place} is {str(value)[:100]}: expected a list of names of roles and groups, [] for "
            "nobody, or '*' for all who may read the collection"
        )
    return tuple(name.strip() for name in names)
