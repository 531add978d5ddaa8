"""DOCX: headings, lists, tables and notes, by the pages that the file records."""

import io
import re
from collections.abc import Mapping
from typing import Any

import docx
from docx.opc.exceptions import OpcError
from lxml import etree

from pgblend.cli.ingest.document import Document, ParseError, storable_text, storable_value
from pgblend.cli.ingest.office_file import check_archive, local_name, parse_xml
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.text_builder import TextBuilder, cell_text, row_text
from pgblend.cli.ingest.title import stated_title, top_heading

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BLIP = "{http://schemas.openxmlformats.org/drawingml/2006/main}blip"
_EMBED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_NOTES = ("/footnotes", "/endnotes", "/comments")
_HEADING_NAME = re.compile(r"heading ([1-9])$", re.IGNORECASE)
# Left out: fallbacks repeat what stands beside them, deletions are no text any more.
_SKIPPED = frozenset(("pPr", "rPr", "Fallback", "del", "moveFrom", "instrText", "sectPr"))
_PAGE_BREAK = "\f"


def parse_docx(data: bytes) -> Document:
    """Read a DOCX; pages are those of its last layout, none where the file does not tell."""
    check_archive(data)
    try:
        file = docx.Document(io.BytesIO(data))
        body = file.element.body
    except (OpcError, KeyError, ValueError, AttributeError, etree.XMLSyntaxError) as error:
        raise ParseError(f"no readable DOCX: {error or type(error).__name__}") from None
    reader = _Reader(_heading_levels(file.styles.element), file.part.related_parts)
    reader.read_blocks(body)
    for relation in file.part.rels.values():
        if relation.reltype.endswith(_NOTES) and not relation.is_external:
            reader.read_blocks(parse_xml(relation.target_part.blob), paged=False)
    properties = file.core_properties
    metadata = {"author": properties.author, "modified": properties.modified}
    text = reader.builder.text()
    return Document(
        title=reader.title
        or top_heading(reader.builder.headings)
        or stated_title(properties.title or ""),
        text=text,
        metadata=storable_value({key: value for key, value in metadata.items() if value}),
        headings=tuple(reader.builder.headings),
        tables=with_captions(reader.builder.tables, text, reader.builder.headings),
        pictures=tuple(reader.builder.pictures),
        places=tuple(reader.builder.places) if reader.page > 1 or _has_one_page(file) else (),
    )


class _Reader:
    """Writes the paragraphs and tables of a DOCX in order."""

    def __init__(self, levels: dict[str, int], parts: Mapping[str, Any]) -> None:
        self._parts = parts
        self.builder = TextBuilder()
        self.title = ""
        self.page = 1
        self._levels = levels
        self._text_on_page = False
        self.builder.start_page(1)

    def read_blocks(self, parent: Any, paged: bool = True) -> None:
        """Read the blocks below an element; those in content controls as well."""
        for block in parent:
            name = local_name(block)
            if name == "p":
                self._read_paragraph(block, paged)
            elif name == "tbl":
                self._read_table(block)
            elif name not in _SKIPPED and len(block):
                self.read_blocks(block, paged)

    def _read_paragraph(self, paragraph: Any, paged: bool) -> None:
        properties = paragraph.find(f"{_W}pPr")
        level, is_title = self._level(properties)
        pieces = _text_of(paragraph).split(_PAGE_BREAK)
        in_list = properties is not None and properties.find(f"{_W}numPr") is not None
        if level:
            self._write(" ".join(pieces), level)
            self._turn_pages(len(pieces) - 1 if paged else 0, bool(pieces[-1].strip()))
        else:
            for number, piece in enumerate(pieces):
                if number and paged:
                    self._turn_pages(1, False)
                text = f"- {piece.strip()}" if in_list and piece.strip() else piece
                self._write(text, 0)
        self._read_pictures(paragraph)
        if is_title and not self.title:
            self.title = storable_text(" ".join(" ".join(pieces).split()))
        if paged and properties is not None and _ends_section(properties):
            self._turn_pages(1, False)

    def _read_table(self, table: Any) -> None:
        first = True
        rows = TableRows()
        for row in table.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table:
                continue  # a row of a table within a cell: its text is the cell's
            cells = [_text_of(cell) for cell in row.iterchildren(f"{_W}tc")]
            self._turn_pages(min(sum(cell.count(_PAGE_BREAK) for cell in cells), 1), False)
            line = row_text([cell_text(cell.replace(_PAGE_BREAK, " ")) for cell in cells])
            if line.strip():
                offset = self.builder.add(line, "\n\n" if first else "\n")
                is_header = row.find(f"{_W}trPr/{_W}tblHeader") is not None
                rows.add(offset, cells, is_header)
                self._text_on_page, first = True, False
            self._read_pictures(row)
        self.builder.add_table(rows)

    def _read_pictures(self, element: Any) -> None:
        for blip in element.iter(_BLIP):
            part = self._parts.get(blip.get(_EMBED, ""))
            if part is not None:
                self.builder.add_picture(part.blob)

    def _write(self, text: str, level: int) -> None:
        if not text.strip():
            return
        if level:
            self.builder.add_heading(text, level)
        else:
            self.builder.add(text.strip())
        self._text_on_page = True

    def _turn_pages(self, count: int, text_follows: bool) -> None:
        """Begin new pages; a break right after another is the same one, recorded twice."""
        if count and self._text_on_page:
            self.page += 1
            self.builder.start_page(self.page)
            self._text_on_page = text_follows

    def _level(self, properties: Any) -> tuple[int, bool]:
        """Tell a paragraph's heading level, 0 for none, and whether it is the title."""
        if properties is None:
            return 0, False
        outline = properties.find(f"{_W}outlineLvl")
        if outline is not None:
            return _outline_level(outline), False
        style = properties.find(f"{_W}pStyle")
        level = self._levels.get(style.get(f"{_W}val", ""), 0) if style is not None else 0
        return abs(level), level < 0


def _heading_levels(styles: Any) -> dict[str, int]:
    """Map the ids of heading styles to their level, and that of the title to -1."""
    levels: dict[str, int] = {}
    bases: dict[str, str] = {}
    for style in styles.iter(f"{_W}style"):
        style_id = style.get(f"{_W}styleId", "")
        name = style.find(f"{_W}name")
        match = _HEADING_NAME.match(name.get(f"{_W}val", "")) if name is not None else None
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        based_on = style.find(f"{_W}basedOn")
        if match:
            levels[style_id] = int(match.group(1))
        elif name is not None and name.get(f"{_W}val", "").lower() == "title":
            levels[style_id] = -1
        elif outline is not None:
            levels[style_id] = _outline_level(outline)
        elif based_on is not None:
            bases[style_id] = based_on.get(f"{_W}val", "")
    for style_id, base in bases.items():
        seen = {style_id}
        while base in bases and base not in seen:
            seen.add(base)
            base = bases[base]
        if base in levels:
            levels[style_id] = levels[base]
    return levels


def _outline_level(element: Any) -> int:
    """Return a heading level from 1; level 10 of the file (9) is body text."""
    value = element.get(f"{_W}val", "9")
    return int(value) + 1 if value in "012345678" and value else 0


def _ends_section(properties: Any) -> bool:
    """Whether a paragraph ends a section whose successor begins on a new page."""
    section = properties.find(f"{_W}sectPr")
    if section is None:
        return False
    kind = section.find(f"{_W}type")
    return kind is None or kind.get(f"{_W}val") != "continuous"


def _text_of(element: Any) -> str:
    """Return the text below an element, with a form feed for each page break."""
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts)


def _collect(element: Any, parts: list[str]) -> None:
    for child in element:
        name = local_name(child)
        if name in _SKIPPED or not name:
            continue
        if name == "t":
            parts.append(child.text or "")
        elif name == "tab":
            parts.append("\t")
        elif name == "lastRenderedPageBreak":
            parts.append(_PAGE_BREAK)
        elif name in ("br", "cr"):
            parts.append(_PAGE_BREAK if child.get(f"{_W}type") == "page" else "\n")
        elif name == "noBreakHyphen":
            parts.append("-")
        else:
            _collect(child, parts)
            if name in ("p", "tc"):
                parts.append("\n")


def _has_one_page(file: Any) -> bool:
    """Whether the file says that it has a single page."""
    for relation in file.part.package.rels.values():
        if relation.reltype.endswith("/extended-properties") and not relation.is_external:
            root = parse_xml(relation.target_part.blob)
            return any(local_name(item) == "Pages" and item.text == "1" for item in root)
    return False
