"""A PDF of texts at places of its pages, as a report's program writes it: no outline, no tags."""

from collections.abc import Sequence
from typing import NamedTuple


class Print(NamedTuple):
    """A text at a place, in points from the lower left corner of a page of 612 by 792."""

    x: float
    y: float
    size: float
    text: str


def written_pdf(pages: Sequence[Sequence[Print]], title: str = "") -> bytes:
    """Return a PDF in Helvetica; texts are of Latin-1."""
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(len(pages)))
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        font,
        f"<< /Title ({_escaped(title)}) >>",
    ]
    for number, prints in enumerate(pages):
        shown = "\n".join(
            f"BT /F1 {one.size:g} Tf {one.x:g} {one.y:g} Td ({_escaped(one.text)}) Tj ET"
            for one in prints
        )
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Contents {6 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R >>\n"
        f"startxref\n{len(body)}\n%%EOF"
    ).encode("latin-1")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
