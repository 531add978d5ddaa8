"""What a table's rows are to be read with, and which chunks have it."""

import io
from pathlib import Path, PurePath

import docx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pptx import Presentation

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document, Picture, Table, TableRow
from pgblend.cli.documents.formats import media_type_of, parse_file
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.cli.documents.pdf_layout import find_tables
from pgblend.cli.documents.read_pictures import PictureReader
from support.table_documents import KINDS, questions, write_reports
from support.written_pdf import Print, written_pdf

SMALL = ChunkSettings(60, 10, 5)


def parse(data: bytes | str, name: str) -> Document:
    data = data.encode() if isinstance(data, str) else data
    return parse_file(data, media_type_of(PurePath(name), data), name, f"file:///{name}")


def labels(table: Table) -> list[str]:
    return [row.label for row in table.rows]


MARKDOWN = """# Trees

Heights in metres, of old trees

| Tree | 1990 | 2020 |
|---|---|---|
| **Oak** | 21 | 24 |
| Ash | 19 | 22 |

Text after the table.
"""


def test_a_markdown_table_has_the_paragraph_before_it_header_and_labels():
    (table,) = parse(MARKDOWN, "trees.md").tables
    assert table.caption == "Heights in metres, of old trees"
    assert table.header == "Tree | 1990 | 2020"
    assert labels(table) == ["Oak", "Ash"]
    assert MARKDOWN[table.start :].startswith("| Tree")
    assert MARKDOWN[: table.end].endswith("22 |\n")


@pytest.mark.parametrize(
    ("source", "caption"),
    [
        ("## Trees\n\n| a | b |\n|---|---|\n| x | 1 |\n", ""),  # a heading is another field
        ("long " * 100 + "\n\n| a | b |\n|---|---|\n| x | 1 |\n", ""),
        ("| a | b |\n|---|---|\n| x | 1 |\n\nTable 2: Below it\n\nmore", "Table 2: Below it"),
        ("Table 1\n\n| a | b |\n|---|---|\n| x | 1 |\n\nTable 2: of the next\n", "Table 1"),
        ("one\n\n| a | b |\n|---|---|\n| x | 1 |\n\nTable of contents\n", "one"),
    ],
)
def test_captions_stand_before_or_below(source: str, caption: str):
    assert parse(source, "x.md").tables[0].caption == caption


def test_later_chunks_of_a_table_have_its_header_and_their_own_labels():
    rows = "".join(f"| town {n} | {n * 1000} | {n * 7} |\n" for n in range(60))
    source = f"Table 1. People\n\n| Town | Men | Women |\n|---|---|---|\n{rows}\nThe end."
    document = parse(source, "towns.md")
    chunks = split_document(document, SMALL)
    assert len(chunks) > 10
    for chunk in chunks:
        # What is shown is what the source has at its place.
        assert chunk["content"] == source[chunk["start_offset"] : chunk["end_offset"]]
        caption, header, named = chunk["context"].split("\n")
        assert (caption, header) == ("Table 1. People", "Town | Men | Women")
        own = chunk["content"][chunk["own_start"] :]
        begun = [f"town {n}" for n in range(60) if f"| town {n} |" in own]
        assert named.split(", ") == begun
    assert "Town" not in chunks[5]["content"]


def test_html_groups_are_cells_of_several_rows_and_rows_of_one_cell():
    page = """<table><caption>Sales, in millions</caption>
        <thead><tr><th></th><th colspan=2>2023</th></tr><tr><th>Land</th><th>Q1</th><th>Q2</th></tr>
        </thead><tr><td rowspan=2>Europe</td><td>Spain</td><td>5</td></tr>
        <tr><td>Italy</td><td>6</td></tr>
        <tr><td>Africa</td><td></td></tr><tr><td>Kenya</td><td>7</td></tr></table>"""
    (table,) = parse(page, "x.html").tables
    assert (table.caption, table.header) == ("Sales, in millions", "2023; Land | Q1 | Q2")
    assert [(row.group, row.label) for row in table.rows] == [
        ("", "Europe"),
        ("Europe", "Italy"),
        ("Africa", "Africa"),
        ("Africa", "Kenya"),
    ]


@pytest.mark.parametrize("span", ["9" * 5000, "-1", "0", "x", ""])
def test_any_rowspan_is_borne(span: str):
    page = f"<table><tr><td rowspan='{span}'>a<td>b<td>1</tr><tr><td>c<td>2</tr></table>"
    (table,) = parse(page, "x.html").tables
    assert labels(table) == ["a", "c"]


def test_tables_that_are_layout_are_none():
    page = """<table><tr><td>left</td><td>
        <table><tr><th>a</th><th>b</th></tr><tr><td>x</td><td>1</td></tr></table></td></tr></table>
        <table><tr><td>alone</td></tr><tr><td>list</td></tr></table>"""
    assert [table.header for table in parse(page, "x.html").tables] == ["a | b"]


@pytest.mark.parametrize(
    ("rows", "caption", "header", "first"),
    [
        ("Town,2021,2022\nUlm,5,6\n", "", "Town | 2021 | 2022", "Ulm"),
        ("Rents in euros\n\nTown,2021\nUlm,5\n", "Rents in euros", "Town | 2021", "Ulm"),
        (",Men,,Women\nTown,old,young,old\nUlm,1,2,3\n", "", "Men | Women; Town | old", "Ulm"),
        ("Food,Fat\n,g\nRye,1.5\n", "", "Food | Fat; g", "Rye"),
        ("Ulm,5\nBern,6\n", "", "", "Ulm"),
        ("name,city\nann,ulm\nbob,bern\n", "", "name | city", "ann"),
    ],
)
def test_a_sheet_s_header_is_told_from_its_figures(
    rows: str, caption: str, header: str, first: str
):
    (table,) = parse(rows, "x.csv").tables
    assert table.caption == caption
    assert table.header.startswith(header)
    assert bool(table.header) == bool(header)
    assert labels(table)[0] == first


def test_tables_stacked_in_a_sheet_have_each_its_own_header():
    sheet = """Revenue
Land,2022,Growth
Peru,5,6
Chile,7,8

Land,2023,Growth
Peru,1,2

Islands
Malta,3,4
"""
    tables = parse(sheet, "x.csv").tables
    assert [(table.caption, table.header) for table in tables] == [
        ("Revenue", "Land | 2022 | Growth"),
        ("Revenue", "Land | 2023 | Growth"),
        ("Revenue Islands", "Land | 2023 | Growth"),
    ]
    assert [labels(table) for table in tables] == [["Peru", "Chile"], ["Peru"], ["Malta"]]
    assert [table.end for table in tables[:-1]] == [table.start for table in tables[1:]]


def test_a_header_that_is_the_heading_is_not_said_twice():
    rows = "town,people\n" + "".join(f"town{n},{n * 1000}\n" for n in range(60))
    chunks = split_document(parse(rows, "x.csv"), SMALL)
    assert chunks[0]["context"].startswith("town | people\n")
    assert chunks[1]["heading"] == "town | people"
    assert "people" not in chunks[1]["context"]


def test_word_and_slide_tables():
    file = docx.Document()
    file.add_paragraph("Prices in francs")
    table = file.add_table(2, 2)
    for cell, text in zip(table._cells, ["Fruit", "Price", "Plum", "3"], strict=True):
        cell.text = text
    stream = io.BytesIO()
    file.save(stream)
    (found,) = parse(stream.getvalue(), "x.docx").tables
    assert (found.caption, found.header) == ("Prices in francs", "Fruit | Price")
    assert labels(found) == ["Plum"]
    slides = Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[5])
    slide.shapes.title.text = "Prices"
    shape = slide.shapes.add_table(2, 2, 0, 0, 100, 100)
    for place, text in enumerate(["Fruit", "Price", "Plum", "3"]):
        shape.table.cell(place // 2, place % 2).text = text
    stream = io.BytesIO()
    slides.save(stream)
    (found,) = parse(stream.getvalue(), "x.pptx").tables
    assert (found.caption, found.header, labels(found)) == ("", "Fruit | Price", ["Plum"])


# --- Lines of a PDF


def test_a_pdf_s_table_goes_on_over_the_page():
    lines = ["Table 3. Rain in millimetres", "Station 2021 2022"]
    lines += [f"Place {chr(65 + n)} {n * 31 % 97} {n * 17 % 89}" for n in range(20)]
    pages = [
        [Print(60, 700 - 14 * place, 9, line) for place, line in enumerate(part)]
        for part in (lines[:12], ["Yearbook of the land", *lines[12:]])
    ]
    (table,) = parse(written_pdf(pages), "x.pdf").tables
    assert table.header == "Table 3. Rain in millimetres | Station 2021 2022"
    assert labels(table) == [line.rsplit(" ", 2)[0] for line in lines[2:]]


def test_lines_of_prose_contents_and_years_are_no_tables():
    assert find_tables("In all there were 5\nof them in 1990, and 7\nmore in May 1991.\n") == ()
    assert find_tables("".join(f"Chapter {n} ........ {n * 7}\n" for n in range(20))) == ()
    assert find_tables("1990\n1991\n1992\n1993\n") == ()
    assert find_tables("") == ()


def test_a_line_between_rows_names_a_group():
    text = "Assets\nCash 5 6\nStock 7 8\nDebts\nBonds 9 10\nLeases 1 2\n"
    (table,) = find_tables(text)
    assert table.header == "Assets"
    assert [(row.group, row.label) for row in table.rows] == [
        ("", "Cash"),
        ("", "Stock"),
        ("Debts", "Bonds"),
        ("Debts", "Leases"),
    ]


def test_two_tables_with_captions_are_two():
    rows = "a 1 2\nb 3 4\nc 5 6\n"
    found = find_tables(f"Table 1: old\n{rows}Table 2: new\n{rows}")
    assert [table.header for table in found] == ["Table 1: old", "Table 2: new"]


@given(st.text(alphabet="ab 19.-%\nTable", max_size=300))
def test_tables_lie_within_the_text_in_order(text: str):
    end = 0
    for table in find_tables(text):
        assert end <= table.start <= table.rows[0].offset < table.end <= len(text)
        assert all(text[row.offset :].lstrip().startswith(row.label) for row in table.rows)
        end = table.end


# --- What is moved


def test_a_picture_s_text_moves_the_tables_after_it():
    table = Table(10, 20, "", "a | b", (TableRow(14, "x"),))
    document = Document(
        text="0123456789| a | b |x", tables=(table,), pictures=(Picture(5, lambda side: b"", None),)
    )
    read = PictureReader("", lambda data: {"text": "seen"}).add_texts(document)
    moved = len(read.text) - len(document.text)
    assert read.tables in ((table,), (table.moved(moved, 5),))


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_that_is_asked_for_has_its_label(kind: str, tmp_path: Path):
    write_reports(tmp_path / kind, kind)
    named = {
        path.name: {
            label for table in parse(path.read_bytes(), path.name).tables for label in labels(table)
        }
        for path in (tmp_path / kind).iterdir()
    }
    for question in questions():
        found = [words for name, words in named.items() if name.startswith(question.report)]
        assert question.row[0] in set().union(*found), question
