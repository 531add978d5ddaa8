"""PPTX by slide: titles as headings, text, tables and speaker's notes."""

import io
from contextlib import suppress
from typing import Any

from lxml import etree
from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE
from pptx.exc import PythonPptxError
from pptx.shapes.base import BaseShape

from pgblend.cli.ingest.document import Document, ParseError
from pgblend.cli.ingest.office_file import check_archive
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.text_builder import TextBuilder, cell_text, row_text
from pgblend.cli.ingest.title import stated_title

# Of a picture that is linked or malformed: the slide's text stays.
_NO_PICTURE = (PythonPptxError, KeyError, ValueError, AttributeError)
_VERTICAL_TAB = "\v"  # python-pptx's line end within a paragraph


def parse_slides(data: bytes) -> Document:
    """Read a PPTX; a chunk's pages are slides."""
    check_archive(data)
    builder = TextBuilder()
    try:
        presentation = Presentation(io.BytesIO(data))
        for number, slide in enumerate(presentation.slides, start=1):
            builder.start_page(number)
            _read_slide(builder, slide)
        title = presentation.core_properties.title or ""
    except (PythonPptxError, KeyError, ValueError, AttributeError, etree.XMLSyntaxError) as error:
        raise ParseError(f"no readable PPTX: {error or type(error).__name__}") from None
    text = builder.text()
    return Document(
        title=stated_title(title),
        text=text,
        headings=tuple(builder.headings),
        tables=with_captions(builder.tables, text, builder.headings),
        places=tuple(builder.places),
        pictures=tuple(builder.pictures),
    )


def _read_slide(builder: TextBuilder, slide: Any) -> None:
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        builder.add_heading(title.text_frame.text.replace(_VERTICAL_TAB, " "), 1)
    for shape in sorted(slide.shapes, key=_reading_order):
        if title is None or shape.shape_id != title.shape_id:
            _read_shape(builder, shape)
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        builder.add(slide.notes_slide.notes_text_frame.text.replace(_VERTICAL_TAB, "\n"))


def _read_shape(builder: TextBuilder, shape: Any) -> None:
    if hasattr(shape, "shapes"):
        for child in shape.shapes:
            _read_shape(builder, child)
    elif shape.shape_type == MSO_SHAPE_TYPE.PICTURE:
        with suppress(*_NO_PICTURE):
            builder.add_picture(shape.image.blob)
    elif shape.has_text_frame:
        builder.add(shape.text_frame.text.replace(_VERTICAL_TAB, "\n").strip())
    elif getattr(shape, "has_table", False):
        _read_table(builder, shape.table)


def _read_table(builder: TextBuilder, table: Any) -> None:
    rows = TableRows()
    gap = "\n\n"
    for row in table.rows:
        cells = [cell_text(cell.text) for cell in row.cells]
        if any(cells):
            rows.add(builder.add(row_text(cells), gap), cells)
            gap = "\n"
    builder.add_table(rows)


def _reading_order(shape: BaseShape) -> tuple[int, int]:
    return shape.top or 0, shape.left or 0
