"""Files on their way into a collection: which these are, under which keys, and links among them."""

import errno
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes, urlsplit

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.document import storable_text
from pgblend.cli.documents.ingest_report import SourceProblem

SIDECAR = ".readers"  # a file beside another, whose readers it names
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


def is_sidecar(path: Path) -> bool:
    """Whether a file names the readers of the one beside it."""
    return path.suffix == SIDECAR and path.with_suffix("").exists()


# Which files are ingested, under which keys.

TAKEN = "{} and {} would both be stored as {!r}"
USE_ROOT = "give their common folder with --root, so that keys hold the whole path below it"
_GUESSED = "its name is not UTF-8: stored as {!r}, which is a guess"
_SAME = "its name is not UTF-8, or another's is not: both would be {!r}, so rename one"
# What browsers and Word call the folder of a saved page's parts, after the page's own name.
_PARTS = re.compile(
    r"(.+)(?:[_.-]files?|[_-](?:dateien|fichiers|archivos|arquivos|bestanden|filer))", re.I | re.S
)
_PAGES = (".html", ".htm", ".xhtml", ".HTML", ".HTM")


def discover(
    paths: Sequence[Path],
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
    readers_of: Callable[[Path, Path], tuple[str, ...] | None] | None = None,
) -> tuple[list[SourceFile], list[SourceProblem]]:
    """List the files under `paths` in a stable order, and what of them cannot be read.

    The source key is the path below `root`. Without one it is the path below the named folder, or
    the named file's own name. Hidden files and folders are left out unless named. What programs
    leave beside files (lock files, editors' copies) is passed over, as are files that name the
    readers of others. The patterns are those of .gitignore and hold for what is found in folders.
    Links that lead out of all `paths` are left out and reported, unless `follow_links`.
    `readers_of` tells who may read the document of a path below a base.
    """
    from pathspec import PathSpec  # a process that only reads files matches none

    included = PathSpec.from_lines("gitignore", include) if include else None
    excluded = PathSpec.from_lines("gitignore", exclude)
    files: dict[str, SourceFile] = {}
    problems: list[SourceProblem] = []
    roots = real_paths(paths)
    for given in paths:
        explicit = not given.is_dir()
        if explicit and not os.path.exists(given):
            missing = NOWHERE if given.is_symlink() else "no such file or folder"
            raise UserError(f"{given}: {missing}", hint="check the path")
        base = _absolute(root or (given.parent if explicit else given))
        for path in [given] if explicit else _walk(given, roots, follow_links, problems):
            if not explicit:
                relative = path.relative_to(given).as_posix()
                if excluded.match_file(relative) or (
                    included and not included.match_file(relative)
                ):
                    continue
                if problem := link_problem(path, roots, follow_links):
                    problems.append(_warning(path, problem))
                    continue
            # A shell's * names them as well.
            if is_sidecar(path):
                continue
            if what := leftover(path.name):
                problems.append(SourceProblem("skipped", readable(_absolute(path)), what))
                continue
            export, left_out = export_files(path, follow_links) if path.is_dir() else ([], {})
            problems.extend(_warning(link, problem) for link, problem in left_out.items())
            file = _source_file(_absolute(path), base, explicit, export)
            readers = readers_of(file.path, base) if readers_of else None
            _add(files, replace(file, readers=readers), problems)
    return list(files.values()), problems


def _walk(
    folder: Path, roots: Sequence[Path], follow_links: bool, problems: list[SourceProblem]
) -> Iterator[Path]:
    """Yield files, Slack exports, and links that are left out, by name and deep.

    Pipes, sockets and devices are yielded too, so that the report names them.

    A link to a folder within the roots is passed over: its files are found where they are.
    """

    def fail(error: OSError) -> None:
        reason = f"cannot be read: {error.strerror}"
        problems.append(SourceProblem("failed", readable(error.filename), reason))

    walked = set(real_paths([folder]))
    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=follow_links):
        if is_slack_export(names):  # read as a whole
            folders.clear()
            yield Path(parent)
            continue
        visible = [Path(parent, name) for name in sorted(folders) if not name.startswith(".")]
        for path, page in saved_parts(visible, names):
            visible.remove(path)
            what = f"what a browser saved beside {page}"
            problems.append(SourceProblem("skipped", readable(path), what))
        links = [path for path in visible if path.is_symlink()]
        if not follow_links:
            yield from (path for path in links if leads_out(path, roots))
        entered = [path for path in visible if path not in links or leads_out(path, roots)]
        folders[:] = [path.name for path in entered if _is_new(path, walked, follow_links)]
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and (os.path.exists(path) or is_dangling(path)):
                yield path


def _is_new(folder: Path, walked: set[Path], follow_links: bool) -> bool:
    """Whether a folder is yet to be walked; where links are followed, there are many ways to it."""
    if not follow_links:
        return True
    (real,) = real_paths([folder])
    is_new = real not in walked
    walked.add(real)
    return is_new


def _warning(path: Path, message: str) -> SourceProblem:
    return SourceProblem("warning", readable(_absolute(path)), message)


def _source_file(path: Path, base: Path, explicit: bool, export: Sequence[Path]) -> SourceFile:
    if not path.is_relative_to(base):
        raise UserError(f"{path} is not below --root {base}", hint="name a folder that holds it")
    status = path.stat()
    key = storable_text(readable(path.relative_to(base) if path != base else path.name))
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    size += sum(file.stat().st_size for file in export)
    return SourceFile(path, key, explicit, size, status.st_mtime)


def _add(files: dict[str, SourceFile], file: SourceFile, problems: list[SourceProblem]) -> None:
    """Add a file once; two files under one key would overwrite each other."""
    other = files.setdefault(file.source_key, file)
    is_guess = file.label != str(file.path)
    if other is file:
        if is_guess:
            problems.append(SourceProblem("warning", file.label, _GUESSED.format(file.source_key)))
    elif other.path != file.path and (is_guess or other.label != str(other.path)):
        problems.append(SourceProblem("failed", file.label, _SAME.format(file.source_key)))
    elif other.path != file.path:
        raise UserError(TAKEN.format(other.path, file.path, file.source_key), hint=USE_ROOT)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def saved_parts(folders: Sequence[Path], names: Collection[str]) -> list[tuple[Path, str]]:
    """Return the folders that hold scripts, styles and pictures of a page beside them, with it."""
    found = []
    for folder in folders:
        if match := _PARTS.fullmatch(folder.name):
            pages = (match[1] + suffix for suffix in _PAGES)
            found += [(folder, page) for page in pages if page in names][:1]
    return found
