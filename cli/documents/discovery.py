"""Which files to ingest, under which key each is stored, and who may read it."""

import grp
import os
import re
import stat
import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pathspec import PathSpec

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.document import storable_text
from pgblend.cli.documents.ingest_report import SourceProblem
from pgblend.cli.documents.source_file import (
    EVERYBODY,
    NOWHERE,
    Readers,
    SourceFile,
    export_files,
    is_dangling,
    is_slack_export,
    leads_out,
    leftover,
    link_problem,
    open_file,
    readable,
    real_paths,
)

TAKEN = "{} and {} would both be stored as {!r}"
USE_ROOT = "give their common folder with --root, so that keys hold the whole path below it"
_GUESSED = "its name is not UTF-8: stored as {!r}, which is a guess"
_SAME = "its name is not UTF-8, or another's is not: both would be {!r}, so rename one"
# What browsers and Word call the folder of a saved page's parts, after the page's own name.
_PARTS = re.compile(
    r"(.+)(?:[_.-]files?|[_-](?:dateien|fichiers|archivos|arquivos|bestanden|filer))", re.I | re.S
)
_PAGES = (".html", ".htm", ".xhtml", ".HTML", ".HTM")


# Who may read a file: the nearest that names readers counts.

POSIX = "posix"
SIDECAR = ".readers"
_MOST_BYTES = 1 << 16
_ACCESS_LIST = "system.posix_acl_access"
# What acl(5) has of an entry: its kind, its rights, and whose they are.
_ENTRY = struct.Struct("<HHI")
_OWNING_GROUP, _GROUP, _MASK = 4, 8, 16


class ReaderRules:
    """Tells who may read each file of a run; the nearest that names readers counts.

    That is FILE.readers. Then come the `.readers` of the folder and of those above it, up to the
    base of keys. Last come the run's own `names`, or with `source` POSIX the rights of the file and
    its folders.
    """

    def __init__(
        self, names: Sequence[str], source: str | None, roots: Sequence[Path] | None
    ) -> None:
        if names and source:
            raise UserError(
                f"--readers {names[0]} and --readers-from {source} both say who may read",
                hint="give one of them",
            )
        self._names = tuple(names) or None
        self._source = source
        self._roots = roots
        self._folders: dict[Path, Readers | None] = {}

    def readers_of(self, path: Path, base: Path) -> Readers | None:
        """Return who may read a file below a base; None where nobody says so."""
        beside = self._read(path.with_name(path.name + SIDECAR), base)
        if beside is None:
            beside = self._of_folder(path.parent, base)
        if beside is not None:
            return beside
        return _by_rights(path, base) if self._source == POSIX else self._names

    def _of_folder(self, folder: Path, base: Path) -> Readers | None:
        if folder not in self._folders:
            found = self._read(folder / SIDECAR, base)
            if found is None and folder != base and folder.is_relative_to(base):
                found = self._of_folder(folder.parent, base)
            self._folders[folder] = found
        return self._folders[folder]

    def _read(self, path: Path, base: Path) -> Readers | None:
        """Read names from a file, a line each; blank lines and those that begin with # are none."""
        if not os.path.lexists(path):
            return None
        roots = None if self._roots is None else [*self._roots, *real_paths([base])]
        try:
            with open_file(path, roots) as stream:
                data = stream.read(_MOST_BYTES + 1)
        except OSError as error:
            raise UserError(
                f"{path}: who may read is not known: {error.strerror}",
                hint="make it a file that can be read, or take it away",
            ) from error
        try:
            lines = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
        except UnicodeDecodeError:
            lines = []
        if len(data) > _MOST_BYTES or (data and not lines):
            raise UserError(
                f"{path}: expected names of roles and groups in UTF-8, a line each",
                hint=f"at most {_MOST_BYTES >> 10} KB",
            )
        return tuple(line for line in lines if line and not line.startswith("#"))


def is_sidecar(path: Path) -> bool:
    """Whether a file names the readers of the one beside it."""
    return path.suffix == SIDECAR and path.with_suffix("").exists()


def _by_rights(path: Path, base: Path) -> Readers:
    """Return the groups that may read a file, and pass through its folders up to the base.

    (EVERYBODY,) where all accounts may. The rights of single accounts count for nothing: an account
    is no role.
    """
    groups = _groups(path, stat.S_IROTH)
    for folder in path.parents:
        passing = _groups(folder, stat.S_IXOTH)
        groups = groups & passing if groups and passing else passing if groups is None else groups
        if folder == base:
            break
    if groups is None:
        return (EVERYBODY,)
    return tuple(sorted(f"group:{name}" for name in groups))


def _groups(path: Path, right: int) -> frozenset[str] | None:
    """Return the groups that have a right of others (S_IROTH, S_IXOTH); None where all have it."""
    status = path.stat()
    if status.st_mode & right:
        return None
    entries = _access_list(path)
    mask = next((rights for kind, rights, _ in entries if kind == _MASK), 7)
    if not entries:
        entries = [(_OWNING_GROUP, status.st_mode >> 3 & 7, 0)]
    return frozenset(
        _name(status.st_gid if kind == _OWNING_GROUP else whose)
        for kind, rights, whose in entries
        if kind in (_OWNING_GROUP, _GROUP) and rights & mask & right
    )


def _access_list(path: Path) -> list[tuple[int, int, int]]:
    """Return the entries of a file's access list; [] where it has none but its mode."""
    if not hasattr(os, "getxattr"):
        return []
    try:
        data = os.getxattr(path, _ACCESS_LIST)
    except OSError:  # none, or a file system without them
        return []
    return list(_ENTRY.iter_unpack(data[4:]))


def _name(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)


# Files by their keys.


def discover(
    paths: Sequence[Path],
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
    rules: ReaderRules | None = None,
) -> tuple[list[SourceFile], list[SourceProblem]]:
    """List the files under `paths` in a stable order, and what of them cannot be read.

    The source key is the path below `root`. Without one it is the path below the named folder, or
    the named file's own name. Hidden files and folders are left out unless named. What programs
    leave beside files (lock files, editors' copies) is passed over, as are files that name the
    readers of others. The patterns are those of .gitignore and hold for what is found in folders.
    Links that lead out of all `paths` are left out and reported, unless `follow_links`. `rules`
    tell who may read the documents.
    """
    included = PathSpec.from_lines("gitignore", include) if include else None
    excluded = PathSpec.from_lines("gitignore", exclude)
    files: dict[str, SourceFile] = {}
    problems: list[SourceProblem] = []
    roots = real_paths(paths)
    rules = rules or ReaderRules((), None, None if follow_links else roots)
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
            readers = rules.readers_of(file.path, base)
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
