"""What the formats that are ZIP archives of XML have in common: limits, encryption, safe XML."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lxml import etree

from pgblend.cli.ingest.document import ParseError

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# What an archive may unpack to: files of words are far below it, bombs far above.
MAX_UNPACKED_BYTES = 1 << 30
MAX_RATIO = 200
_RATIO_FROM_BYTES = 64 << 20
_MAX_MEMBERS = 50_000


class BrokenArchiveError(ParseError):
    """An archive whose directory cannot be read."""


@contextmanager
def open_archive(data: bytes) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive after checking what it would unpack to; ParseError where it is none."""
    if data.startswith(OLE_MAGIC):
        raise ParseError("it is encrypted with a password, or of a format from before 2007")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check(archive, len(data))
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        message = f"its ZIP archive is broken: {error or type(error).__name__}"
        raise BrokenArchiveError(message) from None


def check_archive(data: bytes) -> None:
    """Raise ParseError unless a library may be let loose on this ZIP archive."""
    with open_archive(data):
        pass


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


def local_name(element: Any) -> str:
    """Return an element's name without its namespace; empty for what is no element."""
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _check(archive: zipfile.ZipFile, packed: int) -> None:
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
    if any(member.flag_bits & 1 for member in members):
        raise ParseError("it is encrypted and needs a password")
