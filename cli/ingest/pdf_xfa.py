"""XFA: forms within a PDF whose labels and values are XML, not pages."""

from ctypes import c_char, c_ulong
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from pgblend.cli.ingest.document import ParseError
from pgblend.cli.ingest.office_file import local_name, parse_xml

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
