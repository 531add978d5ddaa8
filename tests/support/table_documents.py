"""Documents with tables, made up and judged for these tests, in each kind of file.

tests/relevance/tables has them as Markdown, and questions.tsv: which row of which table answers.
"""

import csv
import html
import io
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xlsxwriter import Workbook

from support.written_pdf import Print, written_pdf

FOLDER = Path(__file__).parents[1] / "relevance" / "tables"
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_IN_NUMBER = re.compile(r"(?<=\d),(?=\d{3})")
LEFT, TOP, BOTTOM, WIDTH = 60, 730, 60, 492


@dataclass(frozen=True)
class Table:
    caption: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Section:
    heading: str
    text: str
    table: Table


@dataclass(frozen=True)
class Report:
    name: str
    title: str
    sections: list[Section]


@dataclass(frozen=True)
class Question:
    """A question, and the words of the row that answers it."""

    text: str
    report: str
    table: int  # from 1
    row: list[str]


def reports() -> list[Report]:
    """Read the reports: a heading, a paragraph, a caption and a table, again and again."""
    return [_report(path) for path in sorted(FOLDER.glob("*.md"))]


def questions() -> list[Question]:
    """Read the judged questions."""
    by_name = {report.name: report for report in reports()}
    found = []
    with (FOLDER / "questions.tsv").open(encoding="utf-8") as lines:
        for line in csv.DictReader(lines, delimiter="\t"):
            table = by_name[line["document"]].sections[int(line["table"]) - 1].table
            (row,) = (row for row in table.rows if row[0] == line["row"])
            found.append(Question(line["question"], line["document"], int(line["table"]), row))
    return found


def _report(path: Path) -> Report:
    title, *blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    sections = []
    for heading, text, caption, table in zip(*[iter(blocks)] * 4, strict=True):
        header, _, *rows = (
            [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
        )
        sections.append(Section(heading.lstrip("# "), text, Table(caption, header, rows)))
    return Report(path.stem, title.lstrip("# "), sections)


def answers(question: Question, content: str) -> bool:
    """Tell whether a passage's text has the row, however its cells are parted."""
    return f" {_words(' '.join(question.row))} " in f" {_words(content)} "


def _words(text: str) -> str:
    """Return words without bars, numbers as a sheet shows them."""
    return " ".join(map(_number, re.sub(r"[|,\s]+", " ", _IN_NUMBER.sub("", text)).split()))


def _number(word: str) -> str:
    return f"{float(word):.10g}" if _NUMBER.fullmatch(word) else word


def write_reports(folder: Path, kind: str) -> None:
    """Write all reports as files of a kind: md, html, pdf, xlsx or csv, a file for each table."""
    folder.mkdir()
    for number, report in enumerate(reports()):
        for name, data in _FILES[kind](report, number):
            (folder / name).write_bytes(data)


def _markdown(report: Report, number: int) -> Iterator[tuple[str, bytes]]:
    yield f"{report.name}.md", (FOLDER / f"{report.name}.md").read_bytes()


def _html(report: Report, number: int) -> Iterator[tuple[str, bytes]]:
    """Every second page is written without <caption>, <thead> and <th>, as many are."""
    is_plain = number % 2 == 1
    head = f"<title>{html.escape(report.title)}</title>"
    parts = [f"<html><head>{head}</head><body><h1>{html.escape(report.title)}</h1>"]
    for section in report.sections:
        table = section.table
        parts += [f"<h2>{html.escape(section.heading)}</h2>", f"<p>{html.escape(section.text)}</p>"]
        header = "".join(
            f"<td><b>{html.escape(cell)}</b></td>" if is_plain else f"<th>{html.escape(cell)}</th>"
            for cell in table.header
        )
        caption = html.escape(table.caption)
        parts.append(
            f"<p>{caption}</p>\n<table><tr>{header}</tr>"
            if is_plain
            else f"<table><caption>{caption}</caption><thead><tr>{header}</tr></thead><tbody>"
        )
        for row in table.rows:
            parts.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row))
        parts.append("</table>")
    yield f"{report.name}.html", "\n".join([*parts, "</body></html>"]).encode()


def _pdf(report: Report, number: int) -> Iterator[tuple[str, bytes]]:
    """Tables go on over pages without their header; the right columns are set to the right."""
    pages: list[list[Print]] = [[]]
    y = float(TOP)

    def write(size: float, *cells: tuple[float, str]) -> None:
        nonlocal y
        if y < BOTTOM:
            pages.append([])
            y = TOP
        pages[-1] += [Print(x, y, size, text) for x, text in cells]
        y -= size * 1.4

    write(18, (LEFT, report.title))
    for section in report.sections:
        y -= 10
        write(13, (LEFT, section.heading))
        for line in textwrap.wrap(section.text, 100):
            write(10, (LEFT, line))
        y -= 8
        write(9, (LEFT, section.table.caption))
        columns = len(section.table.header)
        first = 150 if columns < 9 else 80
        step = (WIDTH - first) / max(columns - 1, 1)
        for row in (section.table.header, *section.table.rows):
            places = [LEFT, *(LEFT + first + step * (place + 1) for place in range(columns - 1))]
            write(
                8 if columns < 9 else 7,
                *(
                    (x - (len(cell) * 3.8 if x > LEFT else 0), cell)
                    for x, cell in zip(places, row, strict=True)
                    if cell
                ),
            )
    yield f"{report.name}.pdf", written_pdf(pages, report.title)


def _xlsx(report: Report, number: int) -> Iterator[tuple[str, bytes]]:
    """A sheet of notes, and one for each table: its caption, a blank row, header and rows."""
    stream = io.BytesIO()
    with Workbook(stream, {"in_memory": True}) as book:
        book.set_properties({"title": report.title})
        notes = book.add_worksheet("Notes")
        for line, section in enumerate(report.sections):
            notes.write(line, 0, section.heading)
            notes.write(line, 1, section.text)
        for place, section in enumerate(report.sections, start=1):
            sheet = book.add_worksheet(f"T{place}")
            sheet.write(0, 0, section.table.caption)
            for line, row in enumerate([section.table.header, *section.table.rows], start=2):
                for column, cell in enumerate(row):
                    _write_cell(sheet, line, column, cell)
    yield f"{report.name}.xlsx", stream.getvalue()


def _write_cell(sheet, line: int, column: int, cell: str) -> None:  # type: ignore[no-untyped-def]
    try:
        sheet.write_number(line, column, float(cell.replace(",", "")))
    except ValueError:
        sheet.write_string(line, column, cell)


def _csv(report: Report, number: int) -> Iterator[tuple[str, bytes]]:
    """A file for each table, named after report and table, without a caption of its own."""
    for place, section in enumerate(report.sections, start=1):
        stream = io.StringIO()
        csv.writer(stream).writerows([section.table.header, *section.table.rows])
        name = re.sub(r"[^a-z]+", "-", section.table.caption.lower()).strip("-")
        yield f"{report.name}-{place}-{name[:40]}.csv", stream.getvalue().encode()


_FILES = {"md": _markdown, "html": _html, "pdf": _pdf, "xlsx": _xlsx, "csv": _csv}
KINDS = tuple(_FILES)
