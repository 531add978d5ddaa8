"""A PDF's page: its lines in reading order, what was typed into forms, whether it is a scan."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_double, c_ushort
from dataclasses import replace
from itertools import pairwise
from math import pi
from operator import eq
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.documents.document import FILE_WITHIN, NOT_SHOWN, SAVE_IT, LeftOut
from pgblend.cli.documents.formula import raised
from pgblend.cli.documents.pdf_layers import PdfLayers, descriptions
from pgblend.cli.documents.pdf_layout import PdfPiece, in_order

# PDFium's mark for a hyphen at a line's end, after which it joined the word.
_JOINED = re.compile("(?<=[\ufffe\x02])")
_LETTER_HYPHEN = re.compile(r"[^\W\d_][-\u00ad]\s*$")
_SPACES = re.compile(r"[ \t\r]+$")
# Figures after a word or within a number: exponents and notes stand higher than what is before
# them, by a part of its height.
_AFTER_WORD = re.compile(
    r"(?:^|(?<=[^\W_])|(?<=[)\].,;:!?\u2019\u201d\u00bb]))[0-9](?:[0-9]|[,\u2013-](?=[0-9]))*"
)
_RISE = 0.25
_LINE_END = (10, 13)
# A gap between two columns is wider, in points.
_WIDE_GAP = 7
# A page with a picture of so much of it, and no more characters than a stamp has, is a scan.
_SCANNED_SHARE = 0.5
_MOST_STAMP = 300
_MOST_PIECES = 5000
# So many tell how a page's text lies.
_SAMPLED_LETTERS = 200
_MOST_ANNOTATIONS = 5000
_MOST_OPTIONS = 1000
_TYPED = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_CHOICES = (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_MARKS = (raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON)
_MARK = "[x]"
_NO_WORDS = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
_WITH_LETTERS = (raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_FORM)
_BESIDE_PAGES = "text beside the visible part of pages"
_SHOW_ALL = "remove the crop marks (CropBox) in a PDF program, if it is to be found"
_FLATTENED = raw.FLATTEN_SUCCESS
_HIDDEN = 2 | 32
_PASSWORD = 1 << 13


class PdfPage:
    """A page that is read: `lines` with their height on it, 0 at its foot and 1 at its head."""

    def __init__(self, lines: list[tuple[str, float]], is_scan: bool) -> None:
        self.lines = lines
        self.is_scan = is_scan


def read_page(
    pdf: pdfium.PdfDocument, index: int, left_out: list[LeftOut], layers: PdfLayers | None = None
) -> PdfPage:
    """Read a page; PdfiumError where it cannot be."""
    page = pdf[index]
    text_page = page.get_textpage()
    try:
        turn = _Turn(page, text_page)
        typed, are_drawn = _typed(pdf, page, turn, left_out)
        if are_drawn and raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == _FLATTENED:
            text_page.close()
            page.close()
            page = pdf[index]
            text_page = page.get_textpage()
        if layers:
            layers.switch_off(page)
            text_page.close()
            text_page = page.get_textpage()
        pieces = _visible(list(_pieces(text_page, turn)), turn.visible(page), left_out)
        lines = in_order(pieces) if len(pieces) <= _MOST_PIECES else [[p] for p in pieces]
        _mark_hyphens(lines)
        for piece in typed:
            if not are_drawn or not _is_among(piece, pieces):
                _put(lines, piece)
        shown = "".join(_text(line) for line in lines)
        apart = []
        for text, drawn in descriptions(page, shown):
            if drawn:
                _put_between(lines, _piece(text, turn.box(*drawn), -1, -1))
            else:
                apart.append((text, 0.5))
        texts = [(_text(line), turn.level(line[0])) for line in lines if _text(line)] + apart
        is_scan = sum(len(text) for text, _ in texts) <= _MOST_STAMP and _is_picture(page)
    finally:
        text_page.close()
        page.close()
    return PdfPage(texts, is_scan)


class _Turn:
    """Turns places of a page so that most of its text stands upright, however it is shown."""

    def __init__(self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> None:
        left, bottom, right, top = page.get_mediabox()
        self._origin = (left, bottom)
        self._size = (right - left, top - bottom)
        self._shown = page.get_rotation() // 90 % 4
        self._quarters = _direction(text_page, self._shown)
        self.height = self._turned_size()[1]

    def box(
        self, left: float, bottom: float, right: float, top: float
    ) -> tuple[float, float, float, float]:
        """Return a place's edges, in the same order."""
        first = self._point(left - self._origin[0], bottom - self._origin[1])
        second = self._point(right - self._origin[0], top - self._origin[1])
        (left, right), (bottom, top) = (sorted(pair) for pair in zip(first, second, strict=True))
        return left, bottom, right, top

    def visible(self, page: pdfium.PdfPage) -> "_Box":
        """Return the part of the page that programs show and print."""
        shown = [
            each(pair)
            for each, pair in zip(
                (max, max, min, min),
                zip(page.get_mediabox(), page.get_cropbox(), strict=True),
                strict=True,
            )
        ]
        left, bottom, right, top = shown
        return self.box(*(shown if left < right and bottom < top else page.get_mediabox()))

    def level(self, piece: PdfPiece) -> float:
        """Return how high a piece stands on the page as shown: 0 at its foot, 1 at its head."""
        size = self._turned_size()
        more = (self._shown - self._quarters) % 4
        _, height = _turned((piece.left + piece.right) / 2, piece.middle, size, more)
        return height / max(size[more % 2 == 0], 1)

    def _turned_size(self) -> tuple[float, float]:
        width, height = self._size
        return (max(height, 1), width) if self._quarters % 2 else (width, max(height, 1))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        return _turned(x, y, self._size, self._quarters)


def _turned(x: float, y: float, size: tuple[float, float], quarters: int) -> tuple[float, float]:
    width, height = size
    return ((x, y), (y, width - x), (width - x, height - y), (height - y, x))[quarters]


def _direction(text_page: pdfium.PdfTextPage, shown: int) -> int:
    """Return by how many quarters a page is turned until most of its text stands upright."""
    count = text_page.count_chars()
    step = max(count // _SAMPLED_LETTERS, 1)
    angles = (raw.FPDFText_GetCharAngle(text_page, place) for place in range(0, count, step))
    found = Counter(round(-2 * angle / pi) % 4 for angle in angles if angle >= 0)
    quarters, times = found.most_common(1)[0] if found else (shown, 0)
    return quarters if 2 * times > found.total() else shown


_Box = tuple[float, float, float, float]


def _pieces(text_page: pdfium.PdfTextPage, turn: _Turn) -> Iterator[PdfPiece]:
    """Yield the parts of the page's lines, as they are drawn."""
    box = (0.0, turn.height, 0.0, turn.height)
    number = line = place = 0
    for drawn in text_page.get_text_range().split("\n"):
        for part in _JOINED.split(drawn):
            size = len(part) + sum(letter > "\uffff" for letter in part)
            if part.strip():
                for text, found in _cut(text_page, turn, place, size, part):
                    box = turn.box(*found) if found else box
                    yield _piece(text, box, line, number)
                    number += 1
                line += 1
            place += size
        place += 1


def _visible(pieces: list[PdfPiece], shown: _Box, left_out: list[LeftOut]) -> list[PdfPiece]:
    """Return the pieces that are not wholly beside what is shown of the page; others are told."""
    left, bottom, right, top = shown
    found = [
        piece
        for piece in pieces
        if left < piece.right and piece.left < right and bottom < piece.top and piece.bottom < top
    ]
    if len(found) < len(pieces):
        left_out.append(LeftOut(_BESIDE_PAGES, NOT_SHOWN, _SHOW_ALL))
    return found


def _piece(text: str, box: _Box, line: int, number: int) -> PdfPiece:
    left, bottom, right, top = box
    return PdfPiece(text, left, bottom, right, top, line, number)


def _cut(
    text_page: pdfium.PdfTextPage, turn: _Turn, place: int, size: int, text: str
) -> Iterator[tuple[str, _Box | None]]:
    """Cut a line at its wide gaps, and yield each part with its place."""
    first = raw.FPDFText_GetCharIndexFromTextIndex(text_page, place)
    last = raw.FPDFText_GetCharIndexFromTextIndex(text_page, place + size - 1)
    boxes = list(_boxes(text_page, first, last - first + 1)) if 0 <= first <= last else []
    text = _SPACES.sub("", text)
    if boxes and last - first + 1 == size:
        text = _with_raised(text_page, first, text, turn)
    if not boxes:
        yield text, None
    elif last - first + 1 != size or any(letter > "\uffff" for letter in text):
        yield text, _around(boxes)  # characters and places do not go together
    elif all(_is_near(*pair) for pair in pairwise(boxes)):
        yield text, _around(boxes)
    else:
        yield from _cut_by_characters(text_page, first, text)


def _with_raised(text_page: pdfium.PdfTextPage, first: int, text: str, turn: _Turn) -> str:
    """Return a line whose figures are raised where they stand above what they follow."""

    def shown(found: re.Match[str]) -> str:
        start, end = first + found.start(), first + found.end()
        base = start - 1
        while base >= 0 and raw.FPDFText_GetUnicode(text_page, base) in _LINE_END:
            base -= 1
        origin = _origin(text_page, base)
        if base < 0 or any(map(eq, origin, _origin(text_page, end - 1))):
            return found[0]
        boxes = [_character_box(text_page, place) for place in (base, end - 1)]
        turned = [turn.box(*box) for box in boxes if box]
        if len(turned) < 2:
            return found[0]
        height = max(top - bottom for _, bottom, _, top in turned)
        left, _, right, _ = turned[0]
        levels = [turn.box(*_origin(text_page, place) * 2)[:2] for place in range(start, end)]
        floor = turn.box(*origin * 2)[1] + _RISE * height
        is_near = left < levels[0][0] < right + height
        if not is_near or not floor < levels[-1][1] < floor + height:
            return found[0]
        low = sum(level < floor for _, level in levels)
        return found[0][:low] + raised(found[0][low:])

    return _AFTER_WORD.sub(shown, text)


def _origin(text_page: pdfium.PdfTextPage, index: int) -> tuple[float, float]:
    """Return where a character begins on the line that it stands on."""
    x, y = c_double(), c_double()
    raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value, y.value


def _cut_by_characters(
    text_page: pdfium.PdfTextPage, first: int, text: str
) -> Iterator[tuple[str, _Box | None]]:
    start = 0
    boxes: list[_Box] = []
    for place, letter in enumerate(text):
        if letter.isspace():
            continue
        box = _character_box(text_page, first + place)
        if box is None:
            continue
        if boxes and not _is_near(boxes[-1], box):
            yield text[start:place], _around(boxes)
            start, boxes = place, []
        boxes.append(box)
    yield text[start:], _around(boxes) if boxes else None


def _boxes(text_page: pdfium.PdfTextPage, first: int, count: int) -> Iterator[_Box]:
    left, top, right, bottom = c_double(), c_double(), c_double(), c_double()
    for index in range(raw.FPDFText_CountRects(text_page, first, count)):
        raw.FPDFText_GetRect(text_page, index, left, top, right, bottom)
        yield left.value, bottom.value, right.value, top.value


def _character_box(text_page: pdfium.PdfTextPage, index: int) -> _Box | None:
    left, right, bottom, top = c_double(), c_double(), c_double(), c_double()
    is_there = raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top)
    return (left.value, bottom.value, right.value, top.value) if is_there else None


def _is_near(before: _Box, after: _Box) -> bool:
    """Whether two neighbours of a line have no wide gap between them, to the right or the left."""
    gap = max(after[0] - before[2], before[0] - after[2])
    rise = max(after[1] - before[3], before[1] - after[3])
    return max(gap, rise) < _WIDE_GAP


def _around(boxes: Sequence[_Box]) -> _Box:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


def _typed(
    pdf: pdfium.PdfDocument, page: pdfium.PdfPage, turn: _Turn, left_out: list[LeftOut]
) -> tuple[list[PdfPiece], bool]:
    """Return what was typed into forms, and what notes and stamps on the page say.

    Also tell whether any of them has no text, but is drawn with letters.
    """
    form = pdf.formenv.raw if pdf.formenv else None
    found: dict[tuple[str, _Box], PdfPiece] = {}
    are_drawn = False
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_ANNOTATIONS)):
        note = raw.FPDFPage_GetAnnot(page, index)
        if not note:
            continue
        try:
            text = _note_text(form, note, left_out)
            if text is None:
                continue
            are_drawn = are_drawn or (not text and _has_letters(form, note))
            rectangle = raw.FS_RECTF()
            raw.FPDFAnnot_GetRect(note, rectangle)
            box = turn.box(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        finally:
            raw.FPDFPage_CloseAnnot(note)
        text = " ".join(text.split())
        if text:
            found[text, box] = _piece(text, box, -1, -1)
    return list(found.values()), are_drawn


def _note_text(form: Any, note: Any, left_out: list[LeftOut]) -> str | None:
    """Return what an annotation says; None of one that shows no words of its own."""
    kind = raw.FPDFAnnot_GetSubtype(note)
    if raw.FPDFAnnot_GetFlags(note) & _HIDDEN or kind in _NO_WORDS:
        return None
    if kind == raw.FPDF_ANNOT_WIDGET:
        return _field_value(form, note) if form else ""
    contents = _string(raw.FPDFAnnot_GetStringValue, note, b"Contents")
    if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
        left_out.append(LeftOut(contents or "an attached file", FILE_WITHIN, SAVE_IT))
        return None
    return contents


def _field_value(form: Any, note: Any) -> str:
    """Return what a field of a form shows; of a password nothing."""
    kind = raw.FPDFAnnot_GetFormFieldType(form, note)
    if kind in _MARKS:
        return _MARK if raw.FPDFAnnot_IsChecked(form, note) else ""
    if kind not in _TYPED or raw.FPDFAnnot_GetFormFieldFlags(form, note) & _PASSWORD:
        return ""
    value = _string(raw.FPDFAnnot_GetFormFieldValue, form, note)
    if kind in _CHOICES:
        labels = [
            _string(raw.FPDFAnnot_GetOptionLabel, form, note, option)
            for option in range(min(raw.FPDFAnnot_GetOptionCount(form, note), _MOST_OPTIONS))
            if raw.FPDFAnnot_IsOptionSelected(form, note, option)
        ]
        value = ", ".join(filter(None, labels)) or value
    return value


def _has_letters(form: Any, note: Any) -> bool:
    """Whether a stamp, or a field whose value is only drawn, has letters; marks have their own."""
    if raw.FPDFAnnot_GetSubtype(note) == raw.FPDF_ANNOT_WIDGET:
        kind = raw.FPDFAnnot_GetFormFieldType(form, note) if form else None
        if kind not in _TYPED or raw.FPDFAnnot_GetFormFieldFlags(form, note) & _PASSWORD:
            return False
    for index in range(min(raw.FPDFAnnot_GetObjectCount(note), _MOST_ANNOTATIONS)):
        drawn = raw.FPDFAnnot_GetObject(note, index)
        if drawn and raw.FPDFPageObj_GetType(drawn) in _WITH_LETTERS:
            return True
    return False


def _is_among(typed: PdfPiece, pieces: Sequence[PdfPiece]) -> bool:
    """Whether what was typed is drawn on the page already."""
    return any(
        typed.text in piece.text and abs(piece.middle - typed.middle) <= typed.height
        for piece in pieces
    )


def _string(ask: Callable[..., int], *arguments: Any) -> str:
    """Ask for a text in UTF-16: first for its size in bytes, then for itself."""
    size = ask(*arguments, None, 0)
    if size < 4:
        return ""
    buffer = (c_ushort * (size // 2))()
    ask(*arguments, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00")


def _mark_hyphens(lines: list[list[PdfPiece]]) -> None:
    """Mark hyphens at ends of lines that PDFium cannot know: beside other lines, and of columns.

    Only a column's own next line tells that its last word goes on there; at its
    foot the first line of the next column does.
    """
    drawn: dict[int, int] = {}
    for line in lines:
        drawn[line[0].line] = drawn.get(line[0].line, 0) + 1
    for line, after in pairwise(lines):
        last = line[-1]
        is_below = drawn.get(last.line, 0) > 1 and after[0].left < last.right
        is_beside = after[0].left >= last.right and after[0].bottom > last.top
        is_cut = (is_below or is_beside) and after[0].text[:1].islower()
        if is_cut and _LETTER_HYPHEN.search(last.text):
            line[-1] = replace(last, text=last.text.rstrip()[:-1] + "\ufffe")


def _put(lines: list[list[PdfPiece]], typed: PdfPiece) -> None:
    """Put what was typed after its label on the left, a mark before a nearer one on the right.

    Without a label on its level it comes before the first line below.
    """
    best: tuple[float, list[PdfPiece], int] | None = None
    below = len(lines)
    for number, line in enumerate(lines):
        if below == len(lines) and line[0].middle < typed.middle:
            below = number
        for place, piece in enumerate(line):
            is_level = abs(piece.middle - typed.middle) <= max(piece.height, typed.height) / 2
            if is_level and piece.left < typed.left:
                near = abs(typed.left - piece.right), line, place + 1
            elif is_level and typed.text == _MARK:
                near = abs(piece.left - typed.right), line, place
            else:
                continue
            if best is None or near[0] < best[0]:
                best = near
    if best is None:
        lines.insert(below, [typed])
    else:
        best[1].insert(best[2], replace(typed, text=f" {typed.text} "))


def _text(line: Sequence[PdfPiece]) -> str:
    return "".join(piece.text for piece in line).strip()


def _put_between(lines: list[list[PdfPiece]], piece: PdfPiece) -> None:
    """Put what is said of a drawing before the line below it in its column, else after the last."""
    column = [
        (number, line[0])
        for number, line in enumerate(lines)
        if line[0].left < piece.right and piece.left < line[-1].right
    ]
    below = next((number for number, first in column if first.middle < piece.middle), None)
    last = column[-1][0] if column else len(lines) - 1
    lines.insert(last + 1 if below is None else below, [piece])


def _is_picture(page: pdfium.PdfPage) -> bool:
    """Whether pictures cover most of a page."""
    width, height = page.get_size()
    covered = 0.0
    for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=4):
        left, bottom, right, top = picture.get_bounds()
        covered += max(right - left, 0) * max(top - bottom, 0)
        if covered >= _SCANNED_SHARE * width * height:
            return True
    return False
