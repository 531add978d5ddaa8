"""A file on its way into a collection."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

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
# What browsers and Word call the folder of a saved page's parts, after the page's own name.
_PARTS = re.compile(
    r"(.+)(?:[_.-]files?|[_-](?:dateien|fichiers|archivos|arquivos|bestanden|filer))", re.I | re.S
)
_PAGES = (".html", ".htm", ".xhtml", ".HTML", ".HTM")


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


def saved_parts(folders: Sequence[Path], names: Collection[str]) -> list[tuple[Path, str]]:
    """Return the folders that hold scripts, styles and pictures of a page beside them, with it."""
    found = []
    for folder in folders:
        if match := _PARTS.fullmatch(folder.name):
            pages = (match[1] + suffix for suffix in _PAGES)
            found += [(folder, page) for page in pages if page in names][:1]
    return found


def is_slack_export(names: Collection[str]) -> bool:
    """Whether files of these names, side by side, are a Slack export."""
    return USERS_FILE in names and CHANNELS_FILE in names
