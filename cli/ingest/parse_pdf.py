"""PDF by page, with the outline as headings."""

import re
from collections.abc import Callable, Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.ingest.dates import moment_of
from pgblend.cli.ingest.document import (
    Document,
    Heading,
    LeftOut,
    ParseError,
    Picture,
    storable_text,
    storable_value,
)
from pgblend.cli.ingest.pdf_page import ATTACHED, SAVE_IT, joined, read_page
from pgblend.cli.ingest.pdf_running import Line, Running, without_running
from pgblend.cli.ingest.pdf_xfa import xfa_lines
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.text_tables import find_tables
from pgblend.cli.ingest.title import stated_title

_MAX_OUTLINE = 10_000
# Of 72 dots an inch: 400 dots show the smallest print.
_MOST_SCALE = 400 / 72
_UNREADABLE = "damaged, and cannot be read"
_PRINT_ANEW = "print the file to PDF anew"
_FORM = "an XFA form that cannot be read"
_OPEN_IT = "open it in Adobe Acrobat and print it to PDF"
# A form that is all XFA has a page that asks to wait: so short it is no text.
_LONGEST_NOTICE = 1500


def parse_pdf(data: bytes) -> Document:
    """Read a PDF's pages; those without text (scans) become pictures to read."""
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise ParseError(_reason(str(error))) from None
    try:
        return _read(pdf, data)
    finally:
        pdf.close()


def _read(pdf: pdfium.PdfDocument, data: bytes) -> Document:
    left_out: list[LeftOut] = []
    form_lines = _form(pdf, left_out)
    pages: list[list[Line]] = []
    scans: set[int] = set()
    for index in range(len(pdf)):
        try:
            page = read_page(pdf, index, left_out)
        except pdfium.PdfiumError:
            left_out.append(LeftOut(f"page {index + 1}", _UNREADABLE, _PRINT_ANEW))
            pages.append([])
            continue
        pages.append(page.lines)
        if page.is_scan or not page.lines:
            scans.add(index)
    if form_lines:
        if sum(len(text) for page in pages for text, _ in page) <= _LONGEST_NOTICE:
            pages, scans = [[] for _ in pages], set()
        pages[0] += [(text, 0.5) for text in form_lines]
    texts, running = without_running(pages)
    del pages
    builder = TextBuilder()
    starts: list[int] = []
    scanned: list[Picture] = []
    for index, lines in enumerate(texts):
        builder.start_page(index + 1)
        starts.append(builder.add(joined(lines)))
        if index in scans:
            picture = _page_picture(data, index)
            scanned.append(Picture(builder.length, picture, index + 1))
    text = builder.text()
    info = pdf.get_metadata_dict()
    left_out += [LeftOut(name, ATTACHED, SAVE_IT) for name in _attached(pdf)]
    return Document(
        title=stated_title(info.get("Title", "")),
        text=text,
        metadata=_metadata(info, len(pdf), running),
        headings=tuple(_outline(pdf, text, starts)),
        tables=find_tables(text),
        places=tuple(builder.places),
        pictures=tuple(scanned),
        left_out=tuple(dict.fromkeys(left_out)),
    )


def _form(pdf: pdfium.PdfDocument, left_out: list[LeftOut]) -> list[str]:
    """Prepare for reading forms; return the lines of one that has no pages of its own."""
    kind = pdf.get_formtype()
    if kind != raw.FORMTYPE_XFA_FULL:
        if kind != raw.FORMTYPE_NONE:
            pdf.init_forms()
        return []
    try:
        lines = xfa_lines(pdf)
    except ParseError as error:
        left_out.append(LeftOut("the form", f"{_FORM}: {error}", _OPEN_IT))
        return []
    if not lines:
        left_out.append(LeftOut("the form", _FORM, _OPEN_IT))
    return lines


def _attached(pdf: pdfium.PdfDocument) -> Iterator[str]:
    for number in range(min(pdf.count_attachments(), _MAX_OUTLINE)):
        try:
            yield pdf.get_attachment(number).get_name()
        except pdfium.PdfiumError:
            yield f"attachment {number + 1}"


def _metadata(info: dict[str, str], pages: int, running: Running) -> dict[str, object]:
    moments = (moment_of(info.get(name, "")) for name in ("CreationDate", "ModDate"))
    created, modified = (moment.isoformat() if moment else "" for moment in moments)
    stated = {
        "author": info.get("Author", ""),
        "created": created,
        "modified": modified,
        "headers": list(running.heads),
        "footers": list(running.feet),
    }
    kept = {name: storable_value(value) for name, value in stated.items() if value}
    return kept | {"pages": pages}


def _page_picture(data: bytes, index: int) -> Callable[[int], bytes]:
    """Return what draws a page, with its longer side as long as asked for."""

    def load(side: int) -> bytes:
        from pgblend.cli.ingest.picture import encode  # Pillow takes its time

        pdf = pdfium.PdfDocument(data)
        try:
            page = pdf[index]
            scale = min(side / max(*page.get_size(), 1), _MOST_SCALE)
            return encode(page.render(scale=scale).to_pil(), side)
        except pdfium.PdfiumError as error:
            raise ParseError(f"the page cannot be drawn: {error}") from None
        finally:
            pdf.close()

    return load


def _outline(pdf: pdfium.PdfDocument, text: str, starts: list[int]) -> Iterator[Heading]:
    """Yield the bookmarks in order, each where its title stands on its page, else at its top."""
    position = 0
    for count, bookmark in enumerate(pdf.get_toc(max_depth=6)):
        title = " ".join(bookmark.get_title().split())
        destination = bookmark.get_dest()
        index = destination.get_index() if destination else None
        if count >= _MAX_OUTLINE:
            return
        if not title or index is None or not 0 <= index < len(starts):
            continue
        end = starts[index + 1] if index + 1 < len(starts) else len(text)
        pattern = r"\s+".join(map(re.escape, title.split()))
        match = re.compile(pattern, re.IGNORECASE).search(text, max(position, starts[index]), end)
        offset = match.start() if match else starts[index]
        if offset >= position:
            yield Heading(offset, bookmark.level + 1, storable_text(title))
            position = offset


def _reason(message: str) -> str:
    if "password" in message.lower():
        return "it is encrypted and needs a password"
    return "it is no PDF, or broken beyond repair"
