"""PDF by page, with the outline as headings."""

import re
from collections.abc import Callable, Iterator

import pypdfium2 as pdfium

from pgblend.cli.ingest.document import Document, Heading, ParseError, Picture, storable_text
from pgblend.cli.ingest.text_builder import TextBuilder
from pgblend.cli.ingest.text_tables import find_tables
from pgblend.cli.ingest.title import stated_title

# PDFium's mark for a hyphen at a line's end, after which it joined the word.
_LINE_HYPHEN = re.compile("[\ufffe\x02](.?)", re.DOTALL)
_TRAILING_SPACES = re.compile(r"[ \t\r]+\n")
_MAX_OUTLINE = 10_000
# Of 72 dots an inch: 400 dots show the smallest print.
_MOST_SCALE = 400 / 72


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
    builder = TextBuilder()
    starts: list[int] = []
    scanned: list[Picture] = []
    broken = []
    for number in range(1, len(pdf) + 1):
        builder.start_page(number)
        try:
            text = _page_text(pdf, number - 1)
        except pdfium.PdfiumError:
            broken.append(number)
            text = ""
        else:
            if not text.strip():
                scanned.append(Picture(builder.length, _page_picture(data, number - 1), number))
        starts.append(builder.add(text))
    text = builder.text()
    info = pdf.get_metadata_dict()
    metadata = {"author": info["Author"]} if info.get("Author") else {}
    return Document(
        title=stated_title(info.get("Title", "")),
        text=text,
        metadata=metadata | {"pages": len(pdf)},
        headings=tuple(_outline(pdf, text, starts)),
        tables=find_tables(text),
        places=tuple(builder.places),
        pictures=tuple(scanned),
        warnings=(f"pages that cannot be read: {_numbers(broken)} of {len(pdf)}",)
        if broken
        else (),
    )


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


def _page_text(pdf: pdfium.PdfDocument, index: int) -> str:
    page = pdf[index]
    try:
        text_page = page.get_textpage()
        text = text_page.get_text_range()
        text_page.close()
    finally:
        page.close()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _TRAILING_SPACES.sub("\n", _LINE_HYPHEN.sub(_join, text)).strip()


def _join(match: re.Match[str]) -> str:
    """Join a word that was divided; before a capital or a digit the hyphen is the word's own."""
    after = match.group(1)
    return f"-{after}" if after.isupper() or after.isdigit() else after


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


def _numbers(pages: list[int]) -> str:
    shown = ", ".join(map(str, pages[:5]))
    return f"{shown} and {len(pages) - 5} more" if len(pages) > 5 else shown
