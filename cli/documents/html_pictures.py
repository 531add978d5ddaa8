"""Pictures of a page of HTML: within it as data: URIs, or files beside it; never of the network."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.discovery import open_file, real_paths
from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.parse_html import HtmlPage, parse_page
from pgblend.cli.documents.text_builder import TextBuilder

# Larger ones are no pictures for a page; each is read as a whole.
_MOST_FILE_BYTES = 64 << 20
_DATA = "data:"

# Gives the bytes of a picture by its relative path, None where there is none.
ReadFile = Callable[[str], bytes | None]


class PictureFiles(NamedTuple):
    """Where a page's pictures lie.

    `folder` is the page's own where a document has several, so that each file is read once.
    With `named` the files have addresses as names, not paths. Files of a `lasting` source are read
    again when their turn comes, not kept until then.
    """

    read: ReadFile
    folder: str = ""
    lasting: bool = False
    named: bool = False


def add_pictures(builder: TextBuilder, page: HtmlPage, files: PictureFiles, start: int = 0) -> None:
    """Note a page's pictures; its text begins at `start` of the builder's."""
    for offset, source in page.images:
        if source[: len(_DATA)].lower() == _DATA:
            data, again = data_uri(source), None
        else:
            path = source if files.named else local_path(source)
            is_first = path and builder.asks_first(f"{files.folder}/{path}")
            data = files.read(path) if is_first else None
            again = partial(_read_again, files.read, path) if files.lasting else None
        if data:
            builder.add_picture(data, start + offset, again)


def data_uri(source: str) -> bytes | None:
    """Return the bytes of a data: URI; None where it is broken."""
    head, comma, body = source.partition(",")
    if not comma:
        return None
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body))
    except (binascii.Error, ValueError):
        return None


def local_path(source: str) -> str:
    """Return the relative path that an address names; empty where it leads elsewhere."""
    try:
        parts = urlsplit(source)
    except ValueError:
        return ""
    path = unquote(parts.path)
    return "" if parts.scheme or parts.netloc or path.startswith("/") else path


def files_in(folder: Path) -> ReadFile:
    """Read files of a page's folder and of those below it; a page names no other file."""

    roots = real_paths([folder])

    def read(path: str) -> bytes | None:
        try:
            with open_file(folder / path, roots) as stream:
                data = stream.read(_MOST_FILE_BYTES + 1)
        except (OSError, ValueError):
            return None
        return data if len(data) <= _MOST_FILE_BYTES else None

    return read


def no_file(path: str) -> bytes | None:
    """Know no files."""
    return None


def digest_of_files(source: bytes, folder: Path) -> str:
    """Return a digest of the files that a page of HTML shows; empty where there are none."""
    if b"<img" not in source.lower():
        return ""
    paths = {local_path(image) for _, image in parse_page(decode(source, html=True)).images}
    digests = list(_digests(sorted(paths), files_in(folder)))
    return hashlib.sha256(" ".join(digests).encode()).hexdigest() if digests else ""


def _digests(paths: Iterable[str], read_file: ReadFile) -> Iterator[str]:
    for path in paths:
        data = read_file(path) if path else None
        if data is not None:
            yield hashlib.sha256(data).hexdigest()


def _read_again(read_file: ReadFile, path: str) -> bytes:
    data = read_file(path)
    if data is None:
        raise ParseError("the picture was taken away meanwhile")
    return data
