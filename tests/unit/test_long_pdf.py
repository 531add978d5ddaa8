"""Long PDFs: read in parts that together say what the whole says, in memory that stays the same."""

import re
from pathlib import Path

import pytest

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.parse_pdf import parse_pdf
from pgblend.cli.documents.parse_settings import ChunkSettings
from support.memory import peak_megabytes
from support.written_pdf import Print, written_pdf

WORDS = "harbour winter ledger copper anchor meadow violin barley lantern timber orchard saddle"


def turned(start: int) -> str:
    some = WORDS.split()
    return " ".join(some[(start + place) % len(some)] for place in range(len(some)))


def long_pdf(pages: int, lines: int = 40) -> bytes:
    """A report whose pages have a head, a foot, lines of their own, and a word over two lines."""
    return written_pdf([
        [
            Print(60, 760, 9, "Annual report of the mill"),
            *(
                Print(60, 720 - 14 * line, 10, f"page{page} line{line} {turned(page + line)}")
                for line in range(lines)
            ),
            Print(60, 150, 10, "They saw a river-"),
            Print(60, 136, 10, f"side mill{page}."),
            Print(280, 30, 9, f"Page {page + 1}"),
        ]
        for page in range(pages)
    ])  # fmt: skip


def with_outline(data: bytes, *pages: int) -> bytes:
    """Give a PDF bookmarks of pages; its table of objects is then made anew by the reader."""
    first = 100_000
    items = b"".join(
        b"%d 0 obj\n<< /Title (Chapter %d) /Parent 99999 0 R /Dest [%d 0 R /Fit] %s >>\nendobj\n"
        % (first + n, n + 1, 5 + 2 * page,
           b"/Next %d 0 R" % (first + n + 1) if n + 1 < len(pages) else b"")
        for n, page in enumerate(pages)
    )  # fmt: skip
    root = b"99999 0 obj\n<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>\nendobj\n"
    root = root % (first, first + len(pages) - 1, len(pages))
    data = data.replace(b"/Type /Catalog", b"/Type /Catalog /Outlines 99999 0 R")
    return data.replace(b"xref\n0 ", items + root + b"xref\n0 ").replace(b"startxref", b"startxxxx")


@pytest.mark.extended
def test_a_long_pdf_is_read_in_parts_that_know_what_stands_above_them() -> None:
    count = 280
    document = parse_pdf(with_outline(long_pdf(count), 0, 270))
    assert len(document.text) < 1_100_000
    assert document.metadata["headers"] == ["Annual report of the mill"]
    assert document.metadata["footers"] == ["Page 1"]
    found = split_document(document, ChunkSettings())
    text = "\n".join(str(chunk["content"])[int(str(chunk["own_start"])) :] for chunk in found)
    assert re.findall(r"page(\d+) line0 ", text) == [str(page) for page in range(count)]
    assert text.count("riverside mill") == count
    assert "Annual report" not in text
    by_page = {page: chunk for chunk in found for page in chunk["pages"]}
    assert sorted(by_page) == [*range(1, count + 1)]
    assert [by_page[page]["heading"] for page in (1, 260, 280)] == [
        *("Chapter 1", "Chapter 1", "Chapter 2"),
    ]
    ends = [int(str(chunk["end_offset"])) for chunk in found]
    assert ends == sorted(ends)
    assert ends[-1] > 1_100_000


@pytest.mark.slow
def test_memory_does_not_grow_with_the_pages_of_a_pdf(tmp_path: Path) -> None:
    peaks = []
    for count in (300, 1200):
        path = tmp_path / f"{count}.pdf"
        path.write_bytes(long_pdf(count))
        peaks.append(peak_megabytes(path))
    assert peaks[1] < peaks[0] + 15, peaks
