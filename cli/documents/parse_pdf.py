"""PDF by page, with the outline as headings."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_char, c_ulong
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.documents.document import (
    FILE_WITHIN,
    SAVE_IT,
    Document,
    Heading,
    LeftOut,
    ParseError,
    Picture,
    moment_of,
    stated_title,
    storable_text,
    storable_value,
)
from pgblend.cli.documents.office_file import local_name, parse_xml
from pgblend.cli.documents.pdf_layers import Layers, has_layers
from pgblend.cli.documents.pdf_layout import find_tables
from pgblend.cli.documents.pdf_page import joined, own_hyphens, read_page
from pgblend.cli.documents.text_builder import TextBuilder

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


# Running heads and feet of a PDF: lines that come again at the edges of most pages.

# Lines at the edge of a page: of so many the first and the last, in so much of its height.
_LINES = 3
_EDGE = 0.15
_LEAST_PAGES = 3
_LONGEST = 200
_SHARE = 0.5
# Of the left pages, or of the right ones, so many more.
_SIDE_SHARE = 0.7
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlcdm]{1,8}", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2}")
# So many different ones are kept.
_MOST_KEPT = 20

Line = tuple[str, float]
# A line with its numbers left out, and these.
_Key = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Running:
    """The heads and feet that repeat, as they were first seen; pages' numbers alone are none."""

    heads: tuple[str, ...]
    feet: tuple[str, ...]


def without_running(pages: Sequence[Sequence[Line]]) -> tuple[list[list[str]], Running]:
    """Return each page's lines without those that repeat on most pages, and these.

    Lines are alike where they differ in numbers that count pages. Books have one head on left pages
    and another on right ones: each is counted among its own.
    """
    edges = [(_edge(page, 1), _edge(page, -1)) for page in pages]
    kept: list[list[str]] = []
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    repeated = [_repeated([edge[side] for edge in edges]) for side in (0, 1)]
    for page, edge in zip(pages, edges, strict=True):
        dropped = set()
        for side in (0, 1):
            for number, (key, _) in edge[side].items():
                if key in repeated[side]:
                    dropped.add(number)
                    found[side].setdefault(key, page[number][0])
        kept.append([text for number, (text, _) in enumerate(page) if number not in dropped])
    heads, feet = (
        tuple(text for text in each.values() if _WORD.search(text))[:_MOST_KEPT] for each in found
    )
    return kept, Running(heads, feet)


def _edge(page: Sequence[Line], direction: int) -> dict[int, _Key]:
    """Return the lines at the head (1) or the foot (-1) of a page by number, as their keys."""
    order = sorted(range(len(page)), key=lambda number: -direction * page[number][1])[:_LINES]
    found = {}
    for number in order:
        text, height = page[number]
        is_edge = height >= 1 - _EDGE if direction > 0 else height <= _EDGE
        if is_edge and len(text) <= _LONGEST:
            found[number] = _key(text)
    return found


def _key(text: str) -> _Key:
    words = " ".join(text.casefold().split())
    if _ROMAN.fullmatch(words):
        return "#", ()
    return _DIGITS.sub("#", words), tuple(map(int, _DIGITS.findall(words)))


def _repeated(edges: Sequence[dict[int, _Key]]) -> set[str]:
    """Return the keys that most pages have, or most of the left ones, or most of the right ones."""
    found: set[str] = set()
    pages = [dict(edge.values()) for edge in edges]
    for start, step, share in ((0, 1, _SHARE), (0, 2, _SIDE_SHARE), (1, 2, _SIDE_SHARE)):
        some = pages[start::step]
        if len(some) >= _LEAST_PAGES:
            counts = Counter(key for page in some for key in page)
            found |= {
                key
                for key, count in counts.items()
                if count > share * len(some)
                and _count_pages([page.get(key) for page in some], step)
            }
    return found


def _count_pages(numbers: Sequence[tuple[int, ...] | None], step: int) -> bool:
    """Whether the numbers of a line stay from page to page, or go on as those of pages do.

    Others, of invoices that have a page each, say something.
    """
    pairs = [(one, other) for one, other in pairwise(numbers) if one is not None and other]
    wrong = sum(
        any(after - before not in (0, step) for before, after in zip(one, other, strict=True))
        for one, other in pairs
    )
    return wrong <= _SHARE * len(pairs)


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
    layers = Layers(left_out) if has_layers(data) else None
    pages: list[list[Line]] = []
    scans: set[int] = set()
    for index in range(len(pdf)):
        try:
            page = read_page(pdf, index, left_out, layers)
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
    hyphened = own_hyphens(texts)
    builder = TextBuilder()
    starts: list[int] = []
    scanned: list[Picture] = []
    for index, lines in enumerate(texts):
        builder.start_page(index + 1)
        starts.append(builder.add(joined(lines, hyphened)))
        if index in scans:
            picture = _page_picture(data, index)
            scanned.append(Picture(builder.length, picture, index + 1))
    text = builder.text()
    info = pdf.get_metadata_dict()
    left_out += [LeftOut(name, FILE_WITHIN, SAVE_IT) for name in _attached(pdf)]
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
        from pgblend.cli.documents.picture import encode  # Pillow takes its time

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
