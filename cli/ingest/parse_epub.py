"""EPUB: the chapters of its spine, each read as HTML."""

import posixpath
import zipfile
from contextlib import suppress
from urllib.parse import unquote

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, Heading, ParseError, storable_text
from pgblend.cli.ingest.html_pictures import add_pictures
from pgblend.cli.ingest.office_file import local_name, open_archive, parse_xml, read_member
from pgblend.cli.ingest.parse_html import parse_page
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.title import stated_title

_CONTAINER = "META-INF/container.xml"


def parse_epub(data: bytes) -> Document:
    """Read an EPUB's chapters in their order; title and author are the book's."""
    with open_archive(data) as archive:
        roots = parse_xml(read_member(archive, _CONTAINER)).iter("{*}rootfile")
        path = next((root.get("full-path") for root in roots), None)
        if not path:
            raise ParseError("no readable EPUB: its container names no book")
        package = parse_xml(read_member(archive, path))
        files = {
            item.get("id"): posixpath.normpath(
                posixpath.join(posixpath.dirname(path), unquote(item.get("href", "")))
            )
            for item in package.iter("{*}item")
        }
        builder = TextBuilder()
        for reference in package.iter("{*}itemref"):
            name = files.get(reference.get("idref"))
            if name is not None:
                _read_chapter(builder, archive, name)
    about = {local_name(node): " ".join((node.text or "").split()) for node in package.iter("{*}*")}
    return Document(
        title=stated_title(about.get("title", "")),
        text=builder.text(),
        metadata={"author": storable_text(about["creator"])} if about.get("creator") else {},
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        pictures=tuple(builder.pictures),
    )


def _read_chapter(builder: TextBuilder, archive: zipfile.ZipFile, name: str) -> None:
    page = parse_page(decode(read_member(archive, name), html=True))
    start = builder.add(page.text)
    builder.headings.extend(
        Heading(start + heading.offset, heading.level, heading.text) for heading in page.headings
    )
    builder.tables.extend(table.moved(start) for table in page.tables)

    def read_file(path: str) -> bytes | None:
        with suppress(ParseError):
            return read_member(archive, posixpath.normpath(posixpath.join(folder, path)))
        return None

    folder = posixpath.dirname(name)
    add_pictures(builder, page, read_file, start, folder)
