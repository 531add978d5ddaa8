"""The package that files of Office are: parts and what they refer to, also of damaged ones."""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, NamedTuple

from pgblend.cli.ingest.document import LeftOut, ParseError, storable_text
from pgblend.cli.ingest.office_file import (
    BrokenArchiveError,
    local_name,
    open_archive,
    parse_xml,
)
from pgblend.cli.ingest.salvage_archive import salvaged

# The namespaces of the strict variant, and what everybody else writes.
_STRICT = b"http://purl.oclc.org/ooxml/"
_TRANSITIONAL = {
    b"officeDocument/relationships": b"officeDocument/2006/relationships",
    b"officeDocument/extendedProperties": b"officeDocument/2006/extended-properties",
    b"wordprocessingml/main": b"wordprocessingml/2006/main",
    b"spreadsheetml/main": b"spreadsheetml/2006/main",
    b"presentationml/main": b"presentationml/2006/main",
    b"drawingml/": b"drawingml/2006/",
}
_NO_PART = (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_SAVE_ANEW = "open it in its program and save it anew"


class Relation(NamedTuple):
    """What a part refers to: another part, of a kind that is the last word of its type."""

    part: str
    kind: str


class Package:
    """Parts by name, whatever case and slashes the names are written with.

    `left_out` are the parts that could not be read, or not to their ends.
    """

    def __init__(self, archive: zipfile.ZipFile, data: bytes) -> None:
        self._archive = archive
        self._data = data
        self._names = {_folded(name): name for name in archive.namelist()}
        self._relations: dict[str, dict[str, Relation]] = {}
        self._salvaged: dict[str, bytes] | None = None
        self.left_out: list[LeftOut] = []

    def main(self, fallback: str) -> str:
        """Return the part that is the document; `fallback` where nothing names it."""
        names = [each.part for each in self.related("", "officeDocument")]
        found = next((name for name in [*names, fallback] if self.has(name)), None)
        if found is None:
            raise ParseError(f"its archive lacks {fallback!r}")
        return found

    def has(self, part: str) -> bool:
        """Tell whether there is such a part."""
        return _folded(part) in self._names

    def open(self, part: str) -> Any:
        """Open a part that is there, to be read piece by piece."""
        return self._archive.open(self._names[_folded(part)])

    def read(self, part: str) -> bytes | None:
        """Return a part's bytes; None where it is missing or damaged, which is told."""
        name = self._names.get(_folded(part))
        if name is None:
            self.leave_out(part, "missing in the file")
            return None
        try:
            return self._archive.read(name)
        except _NO_PART as error:
            self.leave_out(part, f"damaged, read as far as it is whole: {error}")
            if self._salvaged is None:
                self._salvaged = salvaged(self._data)
            return self._salvaged.get(name)

    def xml(self, part: str) -> Any:
        """Return a part's root; None where it is missing or no XML at all.

        Of XML with an error what can be made out is read, and that is told.
        """
        data = self.read(part)
        if data is None:
            return None
        data = transitional(data)
        try:
            return parse_xml(data)
        except ParseError as error:
            root = parse_xml(data, recover=True)
            self.leave_out(part, f"damaged, read as far as it can be made out: {error}")
            return root

    def relations(self, part: str) -> dict[str, Relation]:
        """Return what a part refers to within the package, by id."""
        if part not in self._relations:
            self._relations[part] = dict(self._read_relations(part))
        return self._relations[part]

    def related(self, part: str, *kinds: str) -> Iterator[Relation]:
        """Yield what a part refers to of some kinds, where it is there."""
        for relation in self.relations(part).values():
            if relation.kind in kinds and self.has(relation.part):
                yield relation

    def properties(self) -> dict[str, str]:
        """Return title, author and time of change, as far as the file states them."""
        found: dict[str, str] = {}
        for relation in self.related("", "core-properties"):
            root = self.xml(relation.part)
            for item in () if root is None else root:
                found.setdefault(local_name(item), " ".join((item.text or "").split()))
        stated = {
            "title": found.get("title", ""),
            "author": found.get("creator", ""),
            "modified": _iso_time(found.get("modified", "")),
        }
        return {name: storable_text(text) for name, text in stated.items() if text}

    def _read_relations(self, part: str) -> Iterator[tuple[str, Relation]]:
        folder, name = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        if not self.has(path):
            return
        root = self.xml(path)
        for item in () if root is None else root:
            if local_name(item) == "Relationship" and item.get("TargetMode") != "External":
                target = posixpath.join("/", folder, item.get("Target", "").replace("\\", "/"))
                kind = item.get("Type", "").rpartition("/")[2]
                yield item.get("Id", ""), Relation(posixpath.normpath(target).lstrip("/"), kind)

    def leave_out(self, part: str, reason: str, mend: str = _SAVE_ANEW) -> None:
        """Note a part that is not read, or not all of it."""
        told = LeftOut(storable_text(part), reason, mend)
        if told not in self.left_out:
            self.left_out.append(told)


@contextmanager
def open_package(data: bytes, fallback: str) -> Iterator[Package]:
    """Open a file of Office; of an archive without its end, the whole parts are read.

    `fallback` is the part without which nothing can be read.
    """
    try:
        with open_archive(data):
            pass
    except BrokenArchiveError as error:
        parts = salvaged(data)
        if fallback not in parts:
            raise
        rest = io.BytesIO()
        with zipfile.ZipFile(rest, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
        with open_archive(rest.getvalue()) as archive:
            package = Package(archive, data)
            package.leave_out("the archive's end", str(error))
            yield package
    else:
        with open_archive(data) as archive:
            yield Package(archive, data)


def transitional(data: bytes) -> bytes:
    """Return XML with the namespaces that everybody writes in the place of the strict ones."""
    if _STRICT in data:
        for strict, usual in _TRANSITIONAL.items():
            data = data.replace(_STRICT + strict, b"http://schemas.openxmlformats.org/" + usual)
    return data


def _folded(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _iso_time(text: str) -> str:
    with suppress(ValueError):
        return datetime.fromisoformat(text).isoformat()
    return ""
