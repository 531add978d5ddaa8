"""draw.io: the words of diagrams, each a heading, whether they are packed or not (.drawio)."""

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from pgblend.cli.documents.document import NOT_SHOWN, Document, ParseError
from pgblend.cli.documents.office_file import (
    MAX_RATIO,
    MAX_UNPACKED_BYTES,
    local_name,
    parse_xml,
)
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.text_builder import TextBuilder

_RAW_DEFLATE = -15
_LABELS = ("label", "value", "tooltip")
# What a shape with data of its own has for the program alone.
_PROGRAM = frozenset(("id", "placeholders", "link", "style", "tags"))


def parse_drawio(data: bytes) -> Document:
    """Read labels, tooltips and data of shapes and arrows, in the order of the file."""
    root = parse_xml(data)
    builder = TextBuilder()
    for number, (name, model) in enumerate(_diagrams(root, builder), start=1):
        builder.add_heading(name or f"Page {number}", 1)
        for text in _words(model, builder):
            builder.add(text)
    return Document(
        text=builder.text(),
        headings=tuple(builder.headings),
        left_out=tuple(builder.left_out),
    )


def _diagrams(root: Any, builder: TextBuilder) -> Iterator[tuple[str, Any]]:
    """Yield each diagram's name and model; tell those that cannot be unpacked."""
    if local_name(root) == "mxGraphModel":
        yield "", root
    for diagram in root.iter("diagram"):
        name = " ".join(diagram.get("name", "").split())
        model = diagram.find("mxGraphModel")
        try:
            yield name, _unpacked(diagram.text or "") if model is None else model
        except (ParseError, binascii.Error, zlib.error, UnicodeDecodeError, ValueError) as error:
            mend = "open it in draw.io, and save it anew"
            builder.leave_out(name or "a diagram", f"damaged: {error}", mend)


def _unpacked(text: str) -> Any:
    """Return the model that stands in a diagram as base64 of DEFLATE of a percent-encoded text."""
    packed = base64.b64decode("".join(text.split()), validate=True)
    reader = zlib.decompressobj(_RAW_DEFLATE)
    most = min(len(packed) * MAX_RATIO, MAX_UNPACKED_BYTES)
    written = reader.decompress(packed, most)
    if reader.unconsumed_tail:
        raise ParseError(f"it unpacks to more than {most} bytes")
    if not reader.eof:
        raise ParseError("its end is missing")
    return parse_xml(unquote(written.decode("ascii"), errors="strict").encode())


def _words(model: Any, builder: TextBuilder) -> Iterator[str]:
    """Yield what each shape and arrow says; hidden ones, also in hidden layers, are told."""
    cells = [each for each in model.iter("mxCell", "object", "UserObject") if _is_whole(each)]
    hidden = {_id(each) for each in cells if _cell(each).get("visible") == "0"}
    for each in cells:
        if _id(each) in hidden or _cell(each).get("parent") in hidden:
            hidden.add(_id(each))
            if any(_said(each)):
                builder.leave_out("a hidden shape or layer", NOT_SHOWN, "show it in draw.io")
        else:
            yield "\n".join(_said(each))


def _is_whole(element: Any) -> bool:
    """Tell a shape from the cell within one that has data of its own."""
    return local_name(element.getparent()) not in ("object", "UserObject")


def _cell(element: Any) -> Any:
    cell = element if element.tag == "mxCell" else element.find("mxCell")
    return element if cell is None else cell


def _id(element: Any) -> str | None:
    found: str | None = element.get("id") or _cell(element).get("id")
    return found


def _said(element: Any) -> list[str]:
    """Return the texts of a shape, which may be pages, then its data."""
    pages = filter(None, map(element.get, _LABELS))
    labels = [parse_page(page).text for page in pages]
    known = {*_LABELS, *_PROGRAM}
    rest = {} if element.tag == "mxCell" else element.attrib
    labels += [f"{name}: {value}" for name, value in rest.items() if name not in known and value]
    return [text for text in labels if text]
