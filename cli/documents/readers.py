"""Who may read a file's document: what the files beside it name, else what the run is given."""

import grp
import os
import stat
import struct
from collections.abc import Sequence
from pathlib import Path

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.discovery import SIDECAR, open_file, real_paths
from pgblend.cli.documents.document import ParseError

# Names as grant_document takes them; no names are nobody but who may write to the collection.
Readers = tuple[str, ...]
EVERYBODY = "*"
POSIX = "posix"
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
