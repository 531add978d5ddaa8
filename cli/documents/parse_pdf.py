"""PDF by page, with the outline as headings."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import c_char, c_ulong
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.documents.dates import moment_of
from pgblend.cli.documents.document import (
    FILE_WITHIN,
    SAVE_IT,
    Document,
    Heading,
    LeftOut,
    ParseError,
    Picture,
    stated_title,
    storable_text,
    storable_value,
)
from pgblend.cli.documents.office_file import local_name, parse_xml
from pgblend.cli.documents.pdf_layers import PdfLayers, has_layers
from pgblend.cli.documents.pdf_layout import find_tables
from pgblend.cli.documents.pdf_page import read_page
from pgblend.cli.documents.pdf_pages import HeadsAndFeet, Line, Pages, joined, own_hyphens
from pgblend.cli.documents.text_builder import PART_CHARACTERS, TextBuilder

# XFA: forms within a PDF whose labels and values are XML, not pages.

_MOST_PACKETS = 100
_MOST_BYTES = 64 << 20


def xfa_lines(pdf: pdfium.PdfDocument) -> list[str]:
    """Return what an XFA form says: labels as its template has them, each with its value.

    ParseError where its XML cannot be read.
    """
    packets = {
        name: data
        for number in range(min(raw.FPDF_GetXFAPacketCount(pdf), _MOST_PACKETS))
        for name, data in [_packet(pdf, number)]
    }
    values: dict[str, list[str]] = {}
    if "datasets" in packets:
        _collect_values(parse_xml(packets["datasets"]), values)
    lines: list[str] = []
    if "template" in packets:
        _add_template(parse_xml(packets["template"]), values, lines)
    return lines + [f"{name}: {value}" for name, found in values.items() for value in found]


def _packet(pdf: pdfium.PdfDocument, number: int) -> tuple[str, bytes]:
    size = raw.FPDF_GetXFAPacketName(pdf, number, None, 0)
    name = (c_char * size)()
    raw.FPDF_GetXFAPacketName(pdf, number, name, size)
    length = c_ulong()
    raw.FPDF_GetXFAPacketContent(pdf, number, None, 0, length)
    if length.value > _MOST_BYTES:
        raise ParseError(f"its form has {length.value:,} bytes, more than {_MOST_BYTES:,}")
    content = (c_char * length.value)()
    raw.FPDF_GetXFAPacketContent(pdf, number, content, length.value, length)
    return name.value.decode("utf-8", "replace"), bytes(content)


def _collect_values(element: Any, values: dict[str, list[str]]) -> None:
    """Note the texts of elements without others, by their names."""
    if not len(element):
        text = " ".join((element.text or "").split())
        if text:
            values.setdefault(local_name(element), []).append(text)
    for child in element:
        if local_name(child) != "dataDescription":
            _collect_values(child, values)


def _add_template(element: Any, values: dict[str, list[str]], lines: list[str]) -> None:
    """Add the words of a template, and take the value of each field from those that are left."""
    name = local_name(element)
    if name == "draw":
        _add(lines, _words(element.find("{*}value")))
    elif name == "field":
        label = _words(element.find("{*}caption"))
        found = values.get(element.get("name", ""), [])
        value = found.pop(0) if found else _words(element.find("{*}value"))
        _add(lines, " ".join(filter(None, (label, value))) if label else value)
    else:
        for child in element:
            _add_template(child, values, lines)


def _words(element: Any) -> str:
    return "" if element is None else " ".join(" ".join(element.itertext()).split())


def _add(lines: list[str], text: str) -> None:
    if text:
        lines.append(text)


_MAX_OUTLINE = 10_000
# Of 72 dots an inch: 400 dots show the smallest print.
_MOST_SCALE = 400 / 72
_UNREADABLE = "damaged, and cannot be read"
_PRINT_ANEW = "print the file to PDF anew"
_FORM = "an XFA form that cannot be read"
_OPEN_IT = "open it in Adobe Acrobat and print it to PDF"
# A form that is all XFA has a page that asks to wait: so short it is no text.
_LONGEST_NOTICE = 1500
_PAGES_AT_ONCE = 100


class Bookmark(NamedTuple):
    """An entry of the outline; pages count from 0."""

    title: str
    level: int
    page: int


def parse_pdf(data: bytes) -> Document:
    """Read a PDF's pages; those without text (scans) become pictures to read.

    A long one is read in parts, so that memory does not grow with its pages.
    """
    left_out: list[LeftOut] = []
    scans: set[int] = set()
    with _opened(data) as pdf:
        count = len(pdf)
        info = pdf.get_metadata_dict()
        bookmarks = list(islice(_bookmarks(pdf), _MAX_OUTLINE))
        attached = [LeftOut(name, FILE_WITHIN, SAVE_IT) for name in _attached(pdf)]
        form_lines = _form(pdf, left_out)
    pages = Pages(_pages(data, count, form_lines, scans, left_out))
    hyphened = own_hyphens(pages)
    parts = _parts(data, pages, hyphened, scans, bookmarks)
    first, second = next(parts), next(parts, None)
    return replace(
        first,
        title=stated_title(info.get("Title", "")),
        metadata=_metadata(_with_times(info, data), count, pages.running),
        left_out=tuple(dict.fromkeys([*left_out, *attached])),
        further=() if second is None else chain([second], parts),
    )


@contextmanager
def _opened(data: bytes) -> Iterator[pdfium.PdfDocument]:
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise ParseError(_reason(str(error))) from None
    try:
        yield pdf
    finally:
        pdf.close()


def _pages(
    data: bytes, count: int, form_lines: list[str], scans: set[int], left_out: list[LeftOut]
) -> Iterator[list[Line]]:
    """Yield the lines of each page, with those of a form on the first, and note scans."""
    layers = PdfLayers(left_out) if has_layers(data) else None
    is_all_form = bool(form_lines)
    if form_lines:
        length = sum(
            len(text) for page in _read_pages(data, count, set(), [], layers) for text, _ in page
        )
        is_all_form = length <= _LONGEST_NOTICE
    for index, lines in enumerate(_read_pages(data, count, scans, left_out, layers)):
        shown = [] if is_all_form else lines
        yield shown if index else [*shown, *((text, 0.5) for text in form_lines)]
    if is_all_form:
        scans.clear()


def _read_pages(
    data: bytes, count: int, scans: set[int], left_out: list[LeftOut], layers: PdfLayers | None
) -> Iterator[list[Line]]:
    """Read pages one after another; the library keeps what it read of a file that is open."""
    for start in range(0, count, _PAGES_AT_ONCE):
        with _opened(data) as pdf:
            _form(pdf, [])
            for index in range(start, min(start + _PAGES_AT_ONCE, count)):
                try:
                    page = read_page(pdf, index, left_out, layers)
                except pdfium.PdfiumError:
                    left_out.append(LeftOut(f"page {index + 1}", _UNREADABLE, _PRINT_ANEW))
                    yield []
                    continue
                if page.is_scan or not page.lines:
                    scans.add(index)
                yield page.lines


def _parts(
    data: bytes,
    pages: Iterable[Sequence[str]],
    hyphened: frozenset[str],
    scans: set[int],
    bookmarks: Sequence[Bookmark],
) -> Iterator[Document]:
    """Write pages as the parts of a document, one at least, each under the headings above it."""
    outline = _Outline(bookmarks)
    builder, starts, first = TextBuilder(), list[int](), 0
    for index, lines in enumerate(pages):
        if builder.length >= PART_CHARACTERS:
            yield _part(builder, outline.headings(builder.text(), starts, first))
            builder, starts, first = TextBuilder(), [], index
        builder.start_page(index + 1)
        starts.append(builder.add(joined(lines, hyphened)))
        if index in scans:
            picture = _page_picture(data, index)
            builder.pictures.append(Picture(builder.length, picture, index + 1))
    yield _part(builder, outline.headings(builder.text(), starts, first))


def _part(builder: TextBuilder, headings: Iterable[Heading]) -> Document:
    text = builder.text()
    return Document(
        text=text,
        headings=tuple(headings),
        tables=find_tables(text),
        places=tuple(builder.places),
        pictures=tuple(builder.pictures),
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


_STATED = {"author": "Author", "subject": "Subject", "keywords": "Keywords"}
# What libraries write where nobody wrote anything.
_NOTHING = ("", "anonymous", "unspecified")
_XMP_TIME = rb"<(?:\w+:)?%s>\s*([^<]{4,40})<|\bxmp:%s\s*=\s*[\"']([^\"']{4,40})"


def _with_times(info: dict[str, str], data: bytes) -> dict[str, str]:
    """Return what a PDF says of itself, with the times of its XMP where PDF 2.0 has them alone."""
    told = {"CreationDate": b"CreateDate", "ModDate": b"ModifyDate"}
    if any(info.get(name) for name in told):
        return info
    found = {name: re.search(_XMP_TIME % (xmp, xmp), data) for name, xmp in told.items()}
    times = {name: (each[1] or each[2]).decode("latin-1") for name, each in found.items() if each}
    return info | times


def _metadata(info: dict[str, str], pages: int, running: HeadsAndFeet) -> dict[str, object]:
    moments = (moment_of(info.get(name, "")) for name in ("CreationDate", "ModDate"))
    created, modified = (moment.isoformat() if moment else "" for moment in moments)
    stated = {
        **{
            key: info[name]
            for key, name in _STATED.items()
            if info.get(name, "").strip("()").lower() not in _NOTHING
        },
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
        from pgblend.cli.documents.small_pictures import encode  # Pillow takes its time

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


def _bookmarks(pdf: pdfium.PdfDocument) -> Iterator[Bookmark]:
    for bookmark in pdf.get_toc(max_depth=6):
        title = " ".join(bookmark.get_title().split())
        destination = bookmark.get_dest()
        index = destination.get_index() if destination else None
        if title and index is not None:
            yield Bookmark(title, bookmark.level + 1, index)


def _found(title: str, text: str, start: int, end: int) -> re.Match[str] | None:
    """Find a title in a part of a text; a pattern is made only where it may be there."""
    words = title.split()
    if words[0].casefold() not in text[start:end].casefold():
        return None
    pattern = r"\s+".join(map(re.escape, words))
    return re.compile(pattern, re.IGNORECASE).search(text, start, end)


class _Outline:
    """Turns bookmarks, in their order, into the headings of one part after another."""

    def __init__(self, bookmarks: Sequence[Bookmark]) -> None:
        self._left = deque(bookmarks)
        self._above: list[Heading] = []

    def headings(self, text: str, starts: Sequence[int], first: int) -> list[Heading]:
        """Return those above a part, then each where its title stands on its page, else at its top.

        A bookmark that leads back is left out.
        """
        found = [replace(each, offset=0) for each in self._above]
        position = 0
        while self._left and self._left[0].page < first + len(starts):
            title, level, page = self._left.popleft()
            place = page - first
            if place < 0:
                continue
            end = starts[place + 1] if place + 1 < len(starts) else len(text)
            match = _found(title, text, max(position, starts[place]), end)
            offset = match.start() if match else starts[place]
            if offset >= position:
                found.append(Heading(offset, level, storable_text(title)))
                position = offset
        self._above = []
        for each in found:
            while self._above and self._above[-1].level >= each.level:
                self._above.pop()
            self._above.append(each)
        return found


def _reason(message: str) -> str:
    if "password" in message.lower():
        return "it is encrypted and needs a password"
    return "it is no PDF, or broken beyond repair"
