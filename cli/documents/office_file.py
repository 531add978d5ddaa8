"""What the formats that are ZIP archives of XML have in common: limits, encryption, safe XML."""

import io
import posixpath
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from lxml import etree

from pgblend.cli.documents.dates import moment_of
from pgblend.cli.documents.document import LeftOut, ParseError, storable_text

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What an archive may unpack to: files of words are far below it, bombs far above.
MAX_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 200
_RATIO_FROM_BYTES = 64 << 20
_MAX_MEMBERS = 50_000


class BrokenArchiveError(ParseError):
    """An archive whose directory cannot be read."""


@contextmanager
def open_archive(data: bytes, some_locked: bool = False) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive after checking what it would unpack to; ParseError where it is none.

    One whose files need a password is refused, with `some_locked` where all of them do.
    """
    if data.startswith(OLE_MAGIC):
        raise ParseError("it is encrypted with a password, or of a format from before 2007")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            places = [member.header_offset for member in archive.infolist()]
            if data.startswith(_SIGNATURE) and places and min(places):
                # Cut off, so that the directory found is that of an archive within it.
                raise zipfile.BadZipFile("its end is missing")
            _check(archive, len(data), all if some_locked else any)
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        message = f"its ZIP archive is broken: {error or type(error).__name__}"
        raise BrokenArchiveError(message) from None


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a file of an archive; never more than its directory says."""
    try:
        return archive.read(name)
    except KeyError:
        raise ParseError(f"its archive lacks {name!r}") from None
    except RuntimeError as error:  # zipfile's word for "encrypted"
        raise ParseError(f"it is encrypted: {error}") from None


def parse_xml(data: bytes, recover: bool = False) -> Any:
    """Parse XML to its root without entities, network or boundless depth.

    With `recover` faults are passed over; None where nothing is left then.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        recover=recover,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if not recover:
            raise ParseError(f"not valid XML: {error.msg}") from None
        root = None
    if root is None:
        return None
    declared: Any = root.getroottree().docinfo.internalDTD
    if declared is not None and list(declared.iterentities()):
        raise ParseError("its XML declares entities of its own, which can be bombs: not read")
    return root


def damaged_xml(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """Parse XML to its root as far as it can be made out; a fault comes beside it."""
    try:
        return parse_xml(data), ()
    except ParseError as error:
        root = parse_xml(data, recover=True)
        if root is None:
            raise
        return root, (f"damaged, read as far as it can be made out: {error}",)


def local_name(element: Any) -> str:
    """Return an element's name without its namespace; empty for what is no element."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _check(
    archive: zipfile.ZipFile, packed: int, quantified: Callable[[Iterable[int]], bool]
) -> None:
    members = archive.infolist()
    unpacked = sum(member.file_size for member in members)
    if len(members) > _MAX_MEMBERS:
        raise ParseError(f"a ZIP archive of {len(members):,} files, more than {_MAX_MEMBERS:,}")
    if unpacked > MAX_UNPACKED_BYTES or (
        unpacked > _RATIO_FROM_BYTES and unpacked > MAX_RATIO * packed
    ):
        raise ParseError(
            f"a ZIP bomb: {packed:,} bytes that unpack to {unpacked >> 20:,} MB, more than "
            f"{MAX_UNPACKED_BYTES >> 20:,} MB or {MAX_RATIO} times its size"
        )
    if members and quantified(
        member.flag_bits & LOCKED for member in members if not member.is_dir()
    ):
        raise ParseError("it is encrypted and needs a password")


# What can still be read of a ZIP archive that is cut off, or whose checksums do not match.

_SIGNATURE = b"PK\x03\x04"
_HEADER = struct.Struct("<4sHHHHHIIIHH")
_STORED, _DEFLATED = 0, 8
LOCKED = 1
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
        if not flags & LOCKED and method == _DEFLATED:
            content = _inflated(data, begin, room)
        elif not flags & LOCKED and method == _STORED:
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


# The package that files of Office are: parts and what they refer to, also of damaged ones.

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
DAMAGED = (
    *(KeyError, zipfile.BadZipFile, zlib.error),
    *(EOFError, NotImplementedError, RuntimeError),
)
# Documents of python-docx and python-pptx keep the times of their templates.
_OF_TEMPLATES = (
    datetime(2013, 12, 23, 23, 15, tzinfo=UTC),
    datetime(2013, 1, 27, 9, 14, 16, tzinfo=UTC),
    datetime(2013, 1, 27, 9, 15, 58, tzinfo=UTC),
)
_BY_LIBRARY = re.compile(r"generated (?:by|using) python-\w+")
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
        except DAMAGED as error:
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
        """Return what the file states of itself, and when it was changed, or else made."""
        found: dict[str, str] = {}
        for relation in self.related("", "core-properties"):
            root = self.xml(relation.part)
            for item in () if root is None else root:
                found.setdefault(local_name(item), " ".join((item.text or "").split()))
        stated = {
            "title": found.get("title", ""),
            "author": found.get("creator", ""),
            "subject": found.get("subject", ""),
            "keywords": found.get("keywords", ""),
            "description": _BY_LIBRARY.sub("", found.get("description", "")),
        }
        moments = {name: moment_of(found.get(name)) for name in ("modified", "created")}
        for name, moment in moments.items():
            if moment and moment not in _OF_TEMPLATES:
                stated[name] = moment.isoformat()
                break
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
    with open_whole(data, fallback) as (archive, left_out):
        package = Package(archive, data)
        package.left_out += left_out
        yield package


@contextmanager
def open_whole(
    data: bytes, fallback: str | tuple[str, ...], mend: str = _SAVE_ANEW
) -> Iterator[tuple[zipfile.ZipFile, list[LeftOut]]]:
    """Open an archive, of one without its end what is whole, which is told.

    BrokenArchiveError where no part whose name ends with `fallback` is left.
    """
    try:
        with open_archive(data):
            pass
    except BrokenArchiveError as error:
        parts = salvaged(data)
        if not any(name.endswith(fallback) for name in parts):
            raise
        rest = io.BytesIO()
        with zipfile.ZipFile(rest, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
        with open_archive(rest.getvalue()) as archive:
            yield archive, [LeftOut("the archive's end", str(error), mend)]
    else:
        with open_archive(data) as archive:
            yield archive, []


def transitional(data: bytes) -> bytes:
    """Return XML with the namespaces that everybody writes in the place of the strict ones."""
    if _STRICT in data:
        for strict, usual in _TRANSITIONAL.items():
            data = data.replace(_STRICT + strict, b"http://schemas.openxmlformats.org/" + usual)
    return data


def _folded(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
