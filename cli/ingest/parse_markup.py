"""ODT, XML, RTF and notebooks: formats whose text needs little work."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from striprtf.striprtf import rtf_to_text

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, ParseError
from pgblend.cli.ingest.find_links import find_links
from pgblend.cli.ingest.office_file import local_name, open_archive, parse_xml, read_member
from pgblend.cli.ingest.parse_markdown import parse_markdown
from pgblend.cli.ingest.records import load_json
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.text_builder import TextBuilder, cell_text, row_text
from pgblend.cli.ingest.title import stated_title

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_IMAGE = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}image"
_ROW = f"{_TABLE}table-row"
_BLOCKS = (f"{_TEXT}h", f"{_TEXT}p", _ROW)
_HREF = "{http://www.w3.org/1999/xlink}href"


def parse_odt(data: bytes) -> Document:
    """Read an OpenDocument text: headings, paragraphs, tables."""
    with open_archive(data) as archive:
        if b"encryption-data" in read_member(archive, "META-INF/manifest.xml"):
            raise ParseError("it is encrypted and needs a password")
        root = parse_xml(read_member(archive, "content.xml"))
        builder = TextBuilder()
        tables: dict[Any, tuple[TableRows, int]] = {}
        for element in root.iter(*_BLOCKS, _IMAGE):
            if element.tag == _IMAGE:
                name = element.get(_HREF, "")
                if builder.asks_first(name):
                    with suppress(ParseError):  # linked, or lost
                        builder.add_picture(read_member(archive, name))
            elif next(element.iterancestors(*_BLOCKS), None) is None:
                if element.tag == _ROW:
                    _add_row(builder, element, tables)
                else:
                    _add_block(builder, element)
    for rows, end in tables.values():
        builder.tables += filter(None, [rows.table(end)])
    text = builder.text()
    return Document(
        text=text,
        headings=tuple(builder.headings),
        tables=with_captions(builder.tables, text, builder.headings),
        pictures=tuple(builder.pictures),
    )


def _add_row(builder: TextBuilder, row: Any, tables: dict[Any, tuple[TableRows, int]]) -> None:
    """Add a table's row, and note it in its table, which then ends after it."""
    cells = [cell_text(_joined(cell)) for cell in row.iterchildren(f"{_TABLE}table-cell")]
    offset = builder.add(row_text(cells), "\n")
    is_header = local_name(row.getparent()) == "table-header-rows"
    table = next(row.iterancestors(f"{_TABLE}table"), row.getparent())
    rows, _ = tables.get(table) or (TableRows(), 0)
    if any(cells):
        rows.add(offset, cells, is_header)
    tables[table] = rows, builder.length


def _add_block(builder: TextBuilder, element: Any) -> None:
    """Add a heading or paragraph with all within it: notes, frames."""
    if element.tag == f"{_TEXT}h":
        level = element.get(f"{_TEXT}outline-level", "1")
        builder.add_heading(_joined(element), int(level) if level.isdecimal() else 1)
    else:
        builder.add(_joined(element).strip("\n"))


def parse_xml_text(data: bytes) -> Document:
    """Read the text of any XML, the text of each element on a line; a title element names it."""
    root = parse_xml(data)
    lines = []
    title = ""
    for element in root.iter():
        if local_name(element) == "title" and not title:
            title = stated_title(element.text or "")
        for text in (element.text if local_name(element) else "", element.tail):
            if text and text.strip():
                lines.append(text.strip())
    return Document(title=title, text="\n".join(lines))


def parse_rtf(data: bytes) -> Document:
    """Read an RTF's text."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ParseError("no RTF: it does not begin with {\\rtf")
    try:
        text = rtf_to_text(data.decode("latin-1"), errors="replace")
    except (ValueError, LookupError, IndexError, TypeError, AttributeError) as error:
        raise ParseError(f"no readable RTF: {error}") from None
    return Document(text=text.replace("\r\n", "\n").replace("\r", "\n").strip())


def parse_notebook(data: bytes) -> Document:
    """Read a Jupyter notebook as Markdown, its code in fences; results are left out."""
    notebook = load_json(decode(data))
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ParseError("no notebook: it has no cells")
    parts = []
    for cell in cells:
        source = _source(cell)
        if source.strip():
            is_code = isinstance(cell, dict) and cell.get("cell_type") == "code"
            parts.append(f"```\n{source}\n```" if is_code else source)
    document = parse_markdown("\n\n".join(parts))
    return replace(document, links=find_links(document.text))


def _source(cell: Any) -> str:
    source = cell.get("source") if isinstance(cell, dict) else ""
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")


def _joined(element: Any) -> str:
    """Return the text below an OpenDocument element with its spaces and line ends."""
    parts = [element.text or ""]
    for child in element:
        name = local_name(child)
        if name == "s":
            count = child.get(f"{_TEXT}c", "1")
            parts.append(" " * min(int(count), 100) if count.isdecimal() else " ")
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        elif name in ("p", "h"):
            parts.append(f"\n{_joined(child)}\n")
        elif name != "annotation":
            parts.append(_joined(child))
        parts.append(child.tail or "")
    return "".join(parts)
