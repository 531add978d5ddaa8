"""EPUB: the chapters of its spine, each read as HTML."""

import posixpath
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

from lxml import etree

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import (
    Document,
    ParseError,
    stated_title,
    storable_text,
)
from pgblend.cli.documents.html_pictures import PictureFiles, add_pictures
from pgblend.cli.documents.office_file import local_name, open_whole, parse_xml, read_member
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.text_builder import TextBuilder

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# What Dublin Core calls it, and what the metadata do; of several all are kept.
_METADATA = {
    "creator": "author",
    "contributor": "contributor",
    "publisher": "publisher",
    "date": "date",
    "language": "language",
    "identifier": "identifier",
    "subject": "tags",
    "description": "description",
    "rights": "rights",
    "source": "source",
    "relation": "relation",
    "coverage": "coverage",
}
_CHANGED = "dcterms:modified"  # which EPUB 3 asks of each book
_PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/xml"))
_PAGE_SUFFIXES = (".xhtml", ".html", ".htm")
_GET_ANEW = "get the book anew from where it comes from"


def parse_epub(data: bytes) -> Document:
    """Read an EPUB's chapters in their order; title and metadata are the book's."""
    with open_whole(data, _PAGE_SUFFIXES, _GET_ANEW) as (archive, left_out):
        builder = TextBuilder(left_out=list(left_out))
        path = _package_path(archive)
        package = _package(archive, path, builder)
        items = {item.get("id"): item for item in package.iter("{*}item")}
        encrypted = _encrypted(archive)
        for reference in _references(package, items):
            item = _page(items, reference)
            if item is None:
                builder.leave_out(
                    reference or "a chapter",
                    "the book's list of files lacks this chapter",
                    _GET_ANEW,
                )
                continue
            href = unquote(item.get("href", "").partition("#")[0])
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), href))
            if name in encrypted:
                builder.leave_out(name, "it is encrypted (DRM)", "get the book without DRM")
            elif item.get("media-type", "").startswith("image/") and not _is_drawing(item):
                with suppress(ParseError):
                    builder.add_picture(read_member(archive, name))
            else:
                _read_chapter(builder, archive, name)
    return Document(
        title=stated_title(_first(package, "title")),
        text=builder.text(),
        metadata=_metadata(package),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        pictures=tuple(builder.pictures),
        left_out=tuple(builder.left_out),
    )


def _package(archive: zipfile.ZipFile, path: str, builder: TextBuilder) -> Any:
    """Return the book's description; of a book without a sound one its pages, by their names."""
    described = None
    if path:
        data = read_member(archive, path)
        try:
            return parse_xml(data)
        except ParseError as error:
            described = parse_xml(data, recover=True)
            builder.leave_out(path, f"damaged: {error}", _GET_ANEW)
    else:
        builder.leave_out("the book's list of files", "missing in the file", _GET_ANEW)
    if described is None:
        described = etree.Element("package")
    known = {item.get("href") for item in described.iter("{*}item")}
    for number, name in enumerate(sorted(archive.namelist())):
        href = quote(posixpath.relpath(name, posixpath.dirname(path) or "."))
        if name.endswith(_PAGE_SUFFIXES) and href not in known:
            kind = "application/xhtml+xml"
            etree.SubElement(
                described, "item", {"id": f"found {number}", "href": href, "media-type": kind}
            )
    return described


def _package_path(archive: zipfile.ZipFile) -> str:
    """Return where the book is described: where the container says, else the first such file.

    "" where none is left of a damaged book that has pages.
    """
    with suppress(ParseError):
        roots = parse_xml(read_member(archive, _CONTAINER)).iter("{*}rootfile")
        named = next((root.get("full-path") for root in roots), None)
        if named in archive.namelist():
            return str(named)
    found = next((name for name in archive.namelist() if name.endswith(".opf")), None)
    if found is None and not any(name.endswith(_PAGE_SUFFIXES) for name in archive.namelist()):
        raise ParseError("no readable EPUB: its container names no book, and none is in it")
    return found or ""


def _references(package: Any, items: dict[str, Any]) -> Iterable[str]:
    """Return the ids of the chapters: in their order, then the pages that it forgets."""
    ordered = [each.get("idref") or "" for each in package.iter("{*}itemref")]
    stand_ins = {item.get("fallback") for item in items.values()}
    forgotten = (
        key
        for key, item in items.items()
        if item.get("media-type") in _PAGES
        and key not in stand_ins
        and "nav" not in item.get("properties", "").split()
    )
    return dict.fromkeys([*ordered, *forgotten])


def _page(items: dict[str, Any], reference: str) -> Any:
    """Return the item of a chapter; of one that few can show, what stands in for it."""
    item = items.get(reference)
    for _ in items:
        if item is None or item.get("media-type") in _PAGES or not item.get("fallback"):
            break
        item = items.get(item.get("fallback"))
    return item


def _is_drawing(item: Any) -> bool:
    """Whether a page is a drawing, which is read as one of HTML."""
    return bool(item.get("media-type") == "image/svg+xml")


def _encrypted(archive: zipfile.ZipFile) -> set[str]:
    """Return the names of the files that are encrypted."""
    if _ENCRYPTION not in archive.namelist():
        return set()
    references = parse_xml(read_member(archive, _ENCRYPTION)).iter("{*}CipherReference")
    return {unquote(reference.get("URI", "")) for reference in references}


def _metadata(package: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, key in _METADATA.items():
        values = _values(package, name)
        if name == "description":  # shops have it as a page
            values = [parse_page(value).text if "<" in value else value for value in values]
        if values:
            found[key] = values if name == "subject" or len(values) > 1 else values[0]
    changed = next(
        (meta.text for meta in package.iter("{*}meta") if meta.get("property") == _CHANGED), ""
    )
    if changed:
        found["modified"] = storable_text(changed.strip())
    if others := _values(package, "title")[1:]:
        found["subtitle"] = ": ".join(others)
    return found


def _first(package: Any, name: str) -> str:
    return next(iter(_values(package, name)), "")


def _values(package: Any, name: str) -> list[str]:
    nodes = (node for node in package.iter("{*}*") if local_name(node) == name)
    texts = (" ".join("".join(node.itertext()).split()) for node in nodes)
    return list(dict.fromkeys(storable_text(text) for text in texts if text))


def _read_chapter(builder: TextBuilder, archive: zipfile.ZipFile, name: str) -> None:
    try:
        page = parse_page(decode(read_member(archive, name), html=True))
    except ParseError as error:
        builder.leave_out(name, str(error), _GET_ANEW)
        return
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        builder.leave_out(name, f"this chapter is damaged: {error}", _GET_ANEW)
        return
    start = builder.add_read(page.text, page.headings, page.tables)

    def read_file(path: str) -> bytes | None:
        with suppress(ParseError):
            return read_member(archive, posixpath.normpath(posixpath.join(folder, path)))
        return None

    folder = posixpath.dirname(name)
    add_pictures(builder, page, PictureFiles(read_file, folder), start)
