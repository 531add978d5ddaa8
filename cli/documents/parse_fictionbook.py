"""FictionBook: chapters, verses and notes of a book that is one XML (.fb2)."""

import base64
import binascii
from contextlib import suppress
from typing import Any

from pgblend.cli.documents.document import Document, stated_title, storable_text
from pgblend.cli.documents.formula import raised
from pgblend.cli.documents.office_file import damaged_xml, local_name
from pgblend.cli.documents.text_builder import TableRows, TextBuilder, cell_text, row_text

_LINKED = "{http://www.w3.org/1999/xlink}href"
_LINES = frozenset(("p", "v", "subtitle", "text-author", "date"))
# What is told of a book, and where its description has it.
_METADATA = {
    "genre": "title-info/genre",
    "date": "title-info/date",
    "language": "title-info/lang",
    "publisher": "publish-info/publisher",
    "identifier": "publish-info/isbn",
    "keywords": "title-info/keywords",
    "translator": "title-info/translator",
    "author": "title-info/author",
}
_PEOPLE = frozenset(("author", "translator"))
_NAMES = ("first-name", "middle-name", "last-name")
_DEEPEST_HEADING = 6


def parse_fictionbook(data: bytes) -> Document:
    """Read the bodies of a book in their order: the text, then its notes."""
    root, faults = damaged_xml(data)
    pictures = {each.get("id", ""): each for each in root.iterchildren("{*}binary")}
    about = next(root.iterchildren("{*}description"), None)
    for above in root.iter("{*}sup"):
        above.text = raised(above.text or "")
    builder = TextBuilder()
    for body in root.iterchildren("{*}body"):
        _add_section(builder, body, 1, pictures)
    return Document(
        title="" if about is None else stated_title(_words(_find(about, "title-info/book-title"))),
        text=builder.text(),
        metadata={} if about is None else _metadata(about),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        pictures=tuple(builder.pictures),
        warnings=faults,
    )


def _add_section(builder: TextBuilder, section: Any, level: int, pictures: dict[str, Any]) -> None:
    """Add what stands in a part of the book; chapters within it are a level deeper."""
    for child in section:
        name = local_name(child)
        if name == "title":
            builder.add_heading(_words(child), min(level, _DEEPEST_HEADING))
        elif name == "section":
            _add_section(builder, child, level + 1, pictures)
        elif name == "table":
            _add_table(builder, child)
        elif name in _LINES:
            builder.add(_words(child), "\n" if name == "v" else "\n\n")
            _add_pictures(builder, child, pictures)
        elif name == "image":
            _add_picture(builder, child, pictures)
        else:  # verses, quotations, mottos
            _add_section(builder, child, level + 1, pictures)


def _add_table(builder: TextBuilder, table: Any) -> None:
    rows, gap = TableRows(), "\n\n"
    for row in table.iter("{*}tr"):
        cells = [_words(cell) for cell in row]
        is_header = all(local_name(cell) == "th" for cell in row)
        rows.add(builder.add(row_text(list(cells)), gap), cells, is_header)
        gap = "\n"
    builder.add_table(rows)


def _add_pictures(builder: TextBuilder, element: Any, pictures: dict[str, Any]) -> None:
    for image in element.iter("{*}image"):
        _add_picture(builder, image, pictures)


def _add_picture(builder: TextBuilder, image: Any, pictures: dict[str, Any]) -> None:
    found = pictures.get(image.get(_LINKED, "").lstrip("#"))
    builder.add(cell_text(image.get("alt", "") or image.get("title", "")))
    if found is not None:
        with suppress(binascii.Error, ValueError):
            builder.add_picture(base64.b64decode("".join(found.itertext())))


def _metadata(about: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, path in _METADATA.items():
        parent, _, name = path.partition("/")
        nodes = about.findall(f"{{*}}{parent}/{{*}}{name}")
        texts = [_person(node) if key in _PEOPLE else _words(node) for node in nodes]
        if texts := list(filter(None, texts)):
            found[key] = texts if len(texts) > 1 else texts[0]
    if annotation := _words(_find(about, "title-info/annotation")):
        found["description"] = annotation
    return found


def _person(node: Any) -> str:
    names = (_words(node.find(f"{{*}}{name}")) for name in _NAMES)
    return " ".join(filter(None, names)) or _words(node.find("{*}nickname"))


def _find(about: Any, path: str) -> Any:
    return about.find("/".join(f"{{*}}{name}" for name in path.split("/")))


def _words(element: Any) -> str:
    """Return an element's text in one line; paragraphs within it are parted."""
    if element is None:
        return ""
    lines = [each for each in element.iter() if local_name(each) in _LINES] or [element]
    return storable_text(" ".join(cell_text("".join(each.itertext())) for each in lines).strip())
