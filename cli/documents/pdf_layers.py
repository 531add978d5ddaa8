"""What a PDF says beside its letters: layers that are switched off, descriptions of pictures."""

import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from ctypes import c_ulong, c_ushort
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.documents.document import NOT_SHOWN, LeftOut
from pgblend.cli.documents.drawing_text import described

_LAYERS = b"/OCProperties"
_OBJECT_STREAM = re.compile(rb"/ObjStm\b[^>]*>>\s*stream\r?\n")
_MOST_UNPACKED = 1 << 24
_MOST_DEPTH = 4
# A page is drawn twice for each try.
_MOST_TRIES = 40
_SWITCH_ON = "switch it on in a PDF program and save the file, if it is to be found"
_MARK, _NAME = "OC", b"Name"
_INVISIBLE = raw.FPDF_TEXTRENDERMODE_INVISIBLE


def has_layers(data: bytes) -> bool:
    """Whether a PDF has layers that can be switched off."""
    return _LAYERS in data or any(_LAYERS in each for each in _object_streams(data))


def _object_streams(data: bytes) -> Iterator[bytes]:
    """Yield what holds the objects of newer files, as far as it can be unpacked."""
    for match in _OBJECT_STREAM.finditer(data):
        try:
            yield zlib.decompressobj().decompress(data[match.end() :], _MOST_UNPACKED)
        except zlib.error:
            continue


class PdfLayers:
    """Takes what is on layers that are off out of pages, one after another."""

    def __init__(self, left_out: list[LeftOut]) -> None:
        self._left_out = left_out
        self._off: set[str] = set()

    def switch_off(self, page: pdfium.PdfPage) -> None:
        """Take out of a page what a reader does not see; layers with words are told.

        The library does not say which layers are off. So a page is drawn with a thing on its layer
        and without the layer. Where both differ, the layer is off.
        """
        tries = 0
        for thing in list(page.get_objects(max_depth=_MOST_DEPTH)):
            mark = _layer_mark(thing)
            if mark is None and not _may_be_off(thing):
                continue
            name = _string(raw.FPDFPageObjMark_GetParamStringValue, mark, _NAME) if mark else ""
            if name not in self._off:
                tries += 1
                if tries > _MOST_TRIES or not _is_off(page, thing, mark):
                    continue
                if name:
                    self._off.add(name)
            raw.FPDFPageObj_SetIsActive(thing, False)
            if thing.type in (raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_FORM):
                told = LeftOut(
                    f"layer {name}" if name else "a layer", f"it is off: {NOT_SHOWN}", _SWITCH_ON
                )
                if told not in self._left_out:
                    self._left_out.append(told)


def _is_off(page: pdfium.PdfPage, thing: Any, mark: Any) -> bool:
    before = _drawn(page)
    if mark:
        raw.FPDFPageObj_RemoveMark(thing, mark)
        return _drawn(page) != before
    raw.FPDFPageObj_SetIsActive(thing, False)
    is_off = _drawn(page) == before
    raw.FPDFPageObj_SetIsActive(thing, True)
    return is_off


def _drawn(page: pdfium.PdfPage) -> bytes:
    bitmap = page.render(scale=1, grayscale=True)
    try:
        return bytes(bitmap.buffer)
    finally:
        bitmap.close()


def _layer_mark(thing: Any) -> Any:
    for number in range(max(raw.FPDFPageObj_CountMarks(thing), 0)):
        mark = raw.FPDFPageObj_GetMark(thing, number)
        if _string(raw.FPDFPageObjMark_GetName, mark) == _MARK:
            return mark
    return None


def _may_be_off(thing: Any) -> bool:
    """Whether a thing is a drawing within the page, which has its layer itself, with letters."""
    if thing.type != raw.FPDF_PAGEOBJ_FORM:
        return False
    for number in range(max(raw.FPDFFormObj_CountObjects(thing), 0)):
        part = raw.FPDFFormObj_GetObject(thing, number)
        is_text = raw.FPDFPageObj_GetType(part) == raw.FPDF_PAGEOBJ_TEXT
        if is_text and raw.FPDFTextObj_GetTextRenderMode(part) != _INVISIBLE:
            return True
    return False


Box = tuple[float, float, float, float]


def descriptions(page: pdfium.PdfPage, shown: str) -> Iterator[tuple[str, Box | None]]:
    """Yield what a page's structure says of pictures and formulas for those who do not see them.

    Also yield the text (ActualText) of letters that are drawn, as far as the text `shown` lacks it.
    Each comes with the edges of what is drawn, where the structure names that.
    """
    tree = raw.FPDF_StructTree_GetForPage(page)
    if not tree:
        return
    try:
        count = raw.FPDF_StructTree_CountChildren(tree)
        found: dict[str, set[int]] = {}
        for number in range(max(count, 0)):
            child = raw.FPDF_StructTree_GetChildAtIndex(tree, number)
            for text, content in _described(child, 0, _squeezed(shown)):
                found.setdefault(text, content)
    finally:
        raw.FPDF_StructTree_Close(tree)
    drawn = _drawn_places(page) if found else {}
    for text, content in found.items():
        boxes = [box for each in content for box in drawn.get(each, ())]
        yield text, _around(boxes) if boxes else None


def _drawn_places(page: pdfium.PdfPage) -> dict[int, list[Box]]:
    """Return the edges of the things on a page, by the number that the structure calls them."""
    found: dict[int, list[Box]] = {}
    for thing in page.get_objects(max_depth=_MOST_DEPTH):
        number = raw.FPDFPageObj_GetMarkedContentID(thing)
        if number >= 0:
            found.setdefault(number, []).append(thing.get_bounds())
    return found


def _around(boxes: list[Box]) -> Box:
    lefts, bottoms, rights, tops = zip(*boxes, strict=True)
    return min(lefts), min(bottoms), max(rights), max(tops)


_DESCRIBED = ("Figure", "Formula")
_DEEPEST = 50
_NO_LETTERS = re.compile(r"[\W_]+")


def _described(element: Any, depth: int, shown: str) -> Iterator[tuple[str, set[int]]]:
    """Yield the texts of an element and of those within it, each with what it is drawn by."""
    if not element or depth > _DEEPEST:
        return
    if _sized(raw.FPDF_StructElement_GetType, element) in _DESCRIBED:
        text = described(_sized(raw.FPDF_StructElement_GetAltText, element))
        if text:
            yield text, _content(element, depth)
    text = described(_sized(raw.FPDF_StructElement_GetActualText, element))
    if _squeezed(text) not in shown:
        yield text, _content(element, depth)
    for number in range(max(raw.FPDF_StructElement_CountChildren(element), 0)):
        child = raw.FPDF_StructElement_GetChildAtIndex(element, number)
        yield from _described(child, depth + 1, shown)


def _content(element: Any, depth: int) -> set[int]:
    """Return the numbers of what is drawn of an element, and of those within it."""
    if not element or depth > _DEEPEST:
        return set()
    count = max(raw.FPDF_StructElement_GetMarkedContentIdCount(element), 0)
    own = {raw.FPDF_StructElement_GetMarkedContentIdAtIndex(element, n) for n in range(count)}
    for number in range(max(raw.FPDF_StructElement_CountChildren(element), 0)):
        own |= _content(raw.FPDF_StructElement_GetChildAtIndex(element, number), depth + 1)
    return own


def _squeezed(text: str) -> str:
    """Return the letters and digits alone: lines and hyphens are drawn otherwise than written."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text))


def _sized(ask: Callable[..., int], *arguments: Any) -> str:
    """Ask for a text in UTF-16 whose size in bytes is returned."""
    size = ask(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = (c_ushort * (size // 2))()
    ask(*arguments, buffer, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00")


def _string(ask: Callable[..., Any], *arguments: Any) -> str:
    """Ask for a text in UTF-16 whose size in bytes is handed over: of a mark."""
    size = c_ulong()
    ask(*arguments, None, 0, size)
    if size.value <= 2:
        return ""
    buffer = (c_ushort * (size.value // 2))()
    ask(*arguments, buffer, size.value, size)
    return bytes(buffer).decode("utf-16-le", "replace").rstrip("\x00")
