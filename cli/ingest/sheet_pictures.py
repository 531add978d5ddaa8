"""Pictures of an XLSX, by the sheet that they lie on."""

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pgblend.cli.ingest.document import ParseError
from pgblend.cli.ingest.office_file import local_name, open_archive, parse_xml, read_member

_WORKBOOK = "xl/workbook.xml"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DRAWING = "/drawing"


def sheet_pictures(data: bytes) -> dict[str, list[tuple[int, bytes]]]:
    """Return for each sheet the rows, from 1, at which pictures begin, and their bytes, by row.

    What is no XLSX has none, as a sheet whose drawing is broken.
    """
    found: dict[str, list[tuple[int, bytes]]] = {}
    with open_archive(data) as archive, suppress(ParseError):
        parts = dict(_relations(archive, _WORKBOOK))
        for sheet in parse_xml(read_member(archive, _WORKBOOK)).iter("{*}sheet"):
            part, _ = parts.get(sheet.get(f"{_RELATION}id"), ("", ""))
            with suppress(ParseError):
                found[sheet.get("name", "")] = sorted(
                    _pictures(archive, part), key=lambda picture: picture[0]
                )
    return found


def _pictures(archive: zipfile.ZipFile, sheet: str) -> Iterator[tuple[int, bytes]]:
    for drawing, kind in dict(_relations(archive, sheet)).values():
        if not kind.endswith(_DRAWING):
            continue
        parts = dict(_relations(archive, drawing))
        for anchor in parse_xml(read_member(archive, drawing)):
            for blip in anchor.iter("{*}blip"):
                part, _ = parts.get(blip.get(f"{_RELATION}embed"), ("", ""))
                with suppress(ParseError):
                    yield _row(anchor), read_member(archive, part)


def _row(anchor: Any) -> int:
    """Return the row at which a picture begins; one that hangs on no cell lies at the first."""
    text = anchor.findtext("{*}from/{*}row") or ""
    return int(text) + 1 if text.isdecimal() else 1


def _relations(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield id, part and type of what a part of the archive refers to within it."""
    folder, name = posixpath.split(part)
    with suppress(ParseError):  # it refers to nothing
        root = parse_xml(read_member(archive, f"{folder}/_rels/{name}.rels"))
        for relation in root:
            if local_name(relation) == "Relationship" and relation.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join(folder, relation.get("Target", "")))
                yield relation.get("Id", ""), (target.lstrip("/"), relation.get("Type", ""))
