"""Spreadsheets: what their cells show, what is written beside them, wide rows, damaged files."""

import io
import re
import struct
import zipfile
from csv import reader
from pathlib import Path

import pytest
from xlsxwriter import Workbook

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document, ParseError
from pgblend.cli.documents.number_format import general, shown, shown_moment, shown_text
from pgblend.cli.documents.parse_csv import parse_csv
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.cli.documents.parse_spreadsheet import parse_spreadsheet
from pgblend.cli.documents.text_builder import TextBuilder
from pgblend.cli.documents.xls_sheets import _tell_drawings
from support.memory import peak_megabytes
from support.office_files import package, root

DAY = 45987.6543  # 26 November 2025, 15:42:12


@pytest.mark.parametrize(
    ("text", "code", "read"),
    [
        ("2026-01-05T00:00:00", "", "2026-01-05"),
        ("2026-01-05T10:30:00Z", "", "2026-01-05T10:30:00Z"),
        ("2026-01-05T10:30:00", "General", "2026-01-05 10:30"),
        ("2026-01-05", "dd.mm.yyyy", "05.01.2026"),
        ("soon", "dd.mm.yyyy", "soon"),
    ],
)
def test_dates_that_are_stored_as_text_are_written_as_cells_show_them(
    text: str, code: str, read: str
) -> None:
    assert shown_moment(text, code) == read


def test_excel_s_xml_of_2003_is_read_as_shown() -> None:
    def cell(kind: str, value: str, more: str = "") -> str:
        return f'<Cell {more}><Data ss:Type="{kind}">{value}</Data></Cell>'

    source = (
        '<?xml version="1.0"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" '
        'xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Styles><Style ss:ID="p">'
        '<NumberFormat ss:Format="Percent"/></Style></Styles><Worksheet ss:Name="Fees"><Table><Row>'
        f"{cell('String', 'Berth')}{cell('String', 'Share')}{cell('String', 'Day')}</Row>"
        f'<Row ss:Index="4">{cell("String", "Quay")}'
        + cell("Number", "0.25", 'ss:StyleID="p"')
        + cell("DateTime", "2026-01-05T00:00:00.000")
        + "</Row><Row>"
        + '<Cell ss:Formula="=1"/>'
        + cell("Number", "7", 'ss:Index="3"')
        + "</Row></Table></Worksheet></Workbook>"
    )
    cut_off = parse_spreadsheet(source[: source.index("</Row><Row>") + 12].encode())
    assert cut_off.text.startswith("Berth | Share | Day\nQuay")
    assert "damaged" in cut_off.left_out[0].reason
    document = parse_spreadsheet(source.encode())
    assert document.text.split("\n") == [
        *("Berth | Share | Day", "Quay | 25.00% | 2026-01-05", " |  | 7"),
    ]
    assert [place.row for place in document.places] == [1, 4, 5]
    assert [each.reason for each in document.left_out] == [
        "formulas whose values were never stored"
    ]


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        *((0.075, "0.0%", "7.5%"), (0.653035934239184, "0.0%", "65.3%"), (123, "00000", "00123")),
        *(
            (1234.5, '"$"#,##0.00', "$1,234.50"),
            (1234.5, "#,##0.00 [$\u20ac-407]", "1,234.50 \u20ac"),
        ),
        *((-1234.567, "#,##0.00_);(#,##0.00)", "(1,234.57)"), (0, '0;-0;"none"', "none")),
        *((5, "[<1]0%;0.0", "5.0"), (0.25, "[<1]0%;0.0", "25%"), (-5, "+0;-0", "-5")),
        *((DAY, "[$-407]d. mmmm yyyy", "26. November 2025"), (DAY, "[$-40C]ddd d", "mer. 26")),
        *((75, "[$-407]d. mmm", "15. Mrz"), (75, "[$-de-AT]mmmm", "M\u00e4rz")),
        *((75, "[$-F800]mmmm", "March"), (75, "[$-1010410]mmmm", "marzo")),
        *((DAY, "dd.mm.yyyy", "26.11.2025"), (DAY, "d mmmm yyyy", "26 November 2025")),
        *((DAY, "YYYY-MM-DD", "2025-11-26"), (DAY, "DDD D", "Wed 26")),
        *((DAY, "yyyy-mm-dd hh:mm:ss", "2025-11-26 15:42:12"), (DAY, "h:mm AM/PM", "3:42 PM")),
        *((0.52, "h AM/PM", "12 PM"), (0.02, "h A/P", "12 A")),
        *((1.5, "[h]:mm", "36:00"), (0.5, "mm:ss.0", "00:00.0"), (DAY, "ddd mmm yy", "Wed Nov 25")),
        *((12345, "0.00E+00", "1.23E+04"), (2.75, "# ?/?", "2 3/4"), (1234567, "0.0,,", "1.2")),
        *((5551234567, "(###) ###-####", "(555) 123-4567"), (42, '0" km"', "42 km")),
        *((1.5, "General", "1.5"), (3, 'General" units"', "3 units"), (7, ";;;", "")),
        *((0.1 + 0.2, "", "0.3"), (1e6, "0", "1000000"), (0, "#", "")),
        *((-1, "yyyy-mm-dd", "-1"), (1e300, "dd.mm.yyyy", "1E+300"), (5, "[" * 600, "5")),
    ],
)
def test_numbers_are_written_as_cells_show_them(value: float, code: str, text: str) -> None:
    assert shown(value, code) == text


@pytest.mark.parametrize(("length", "unit"), [(500, " km"), (501, "")])
def test_a_format_may_be_of_so_many_characters(length: int, unit: str) -> None:
    code = f'@{" " * (length - 6)}" km"'
    assert " ".join(shown_text("five", code).split()) == f"five{unit}"


def test_all_digits_of_a_number_are_kept() -> None:
    assert general(1.2345678901234568e18, "1234567890123456789") == "1234567890123456789"
    assert shown(1.2345678901234568e18, "0", raw="1234567890123456789") == "1234567890123456789"
    assert general(0.653035934239184) == "0.653035934239184"
    assert (general(-0.0), general(1e-30), general(float("inf"))) == ("0", "1E-30", "inf")
    assert (shown_text("A7", '"No. "@'), shown_text("A7", "0.0")) == ("No. A7", "A7")
    assert shown_text("A7", '0;-0;0;"No. "@') == "No. A7"


def sheet(
    rows: str, more: str = "", relations: dict[str, str] | None = None, **parts: str
) -> bytes:
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    files = {f"xl/{name}.xml": data for name, data in parts.items()} | {
        "xl/workbook.xml": f'<workbook {space}><sheets><sheet name="Data" r:id="s" xmlns:r='
        '"http://schemas.openxmlformats.org/officeDocument/2006/relationships"/></sheets></workbook>',
        "xl/sheet1.xml": f"<worksheet {space}><sheetData>{rows}</sheetData>{more}</worksheet>",
    }
    links = {"s": "worksheet xl/sheet1.xml"}
    return package(
        "xl/workbook.xml", files, {"xl/workbook.xml": links, "xl/sheet1.xml": relations or {}}
    )


def test_excel_s_own_files_read_as_shown() -> None:
    stream = io.BytesIO()
    with Workbook(stream, {"default_date_format": "d/m/yyyy"}) as book:
        page = book.add_worksheet("Rates")
        page.write_row(1, 1, ["Item", "Rate", "Code", "Price", "When"])
        page.write_row(2, 1, ["Tin"])
        page.write(2, 2, 0.075, book.add_format({"num_format": 10}))
        page.write(2, 3, 7, book.add_format({"num_format": "00000"}))
        page.write(
            2, 4, -1234.5, book.add_format({"num_format": "#,##0.00 \u20ac;[Red]-#,##0.00 \u20ac"})
        )
        page.write(2, 5, DAY, book.add_format({"num_format": "dd/mm/yyyy"}))
        page.write_formula(3, 1, "=1/0", value="#DIV/0!")
        page.write_comment(2, 1, "Ask the mine")
        page.insert_textbox(6, 1, "Prices without tax")
        chart = book.add_chart({"type": "bar"})
        chart.add_series({"name": "Yield", "values": "=Rates!$C$3:$C$3"})
        chart.set_title({"name": "Yields by year"})
        page.insert_chart("H2", chart)
        page.set_footer("&LMill Ltd&RPage &P of &N")
    document = parse_spreadsheet(stream.getvalue())
    assert document.text.split("\n")[:3] == [
        "Item | Rate | Code | Price | When",
        "Tin | 7.50% | 00007 | -1,234.50 \u20ac | 26/11/2025",
        "#DIV/0!",
    ]
    beside = document.text.partition("#DIV/0!")[2]
    for words in ("B3: Ask the mine", "Prices without tax", "Yields by year", "Yield", "Mill Ltd"):
        assert words in beside
    assert beside.count("Mill Ltd") == 1
    assert document.places[1].row == 3


def test_letters_that_excel_escapes_are_those_that_it_shows() -> None:
    texts = ("two_x000D_\nlines _x0041_", "a_x005F_x0041_", "rest_xD83D_ _x004")
    rows = (f'<row><c t="inlineStr"><is><t>{text}</t></is></c></row>' for text in texts)
    text = parse_spreadsheet(sheet("".join(rows))).text
    assert text == "two lines A\na_x0041_\nrest_xD83D_ _x004"


def test_words_of_a_format_stand_before_a_text_in_its_cell() -> None:
    for inline in (False, True):  # a text of the sheet's own
        stream = io.BytesIO()
        with Workbook(stream, {"constant_memory": inline}) as book:
            words = book.add_format({"num_format": '"fish "@'})
            book.add_worksheet().write(0, 0, "eel", words)
        assert parse_spreadsheet(stream.getvalue()).text == "fish eel"


def test_what_is_hidden_is_read_and_told() -> None:
    stream = io.BytesIO()
    with Workbook(stream) as book:
        page, other = book.add_worksheet("Rates"), book.add_worksheet("Lists")
        page.write_column(0, 0, ["Item", "Tin", "Zinc"])
        page.write(0, 3, "Cost")
        page.set_row(1, None, None, {"hidden": True})
        page.set_column("D:E", None, None, {"hidden": True})
        other.write(0, 0, "Secret")
        other.hide()
        page.insert_textbox(6, 1, "Weir", {"description": "A plan of the weir"})
    document = parse_spreadsheet(stream.getvalue())
    assert [word in document.text for word in ("Tin", "Cost", "Secret", "A plan of the weir")] == [
        *(True, True, True, True),
    ]
    assert document.warnings == (
        "hidden columns are read as well: Rates D to E",
        "hidden rows are read as well: 1 of Rates",
        "hidden sheets are read as well: Lists",
    )


def test_a_hidden_sheet_of_opendocument_is_read_and_told() -> None:
    cell = "<table:table-cell><text:p>x</text:p></table:table-cell>"
    row = f"<table:table-row{{}}>{cell}</table:table-row>"
    style = (
        "<style:style style:name='H'><style:table-properties table:display='false'/></style:style>"
    )
    rows = row.format("") + row.format(" table:visibility='collapse'")
    table = f"{style}<table:table table:name='T' table:style-name='H'>{rows}</table:table>"
    document = parse_spreadsheet(ods(table))
    assert (document.text, document.warnings) == (
        "x\nx",
        ("hidden sheets are read as well: T", "hidden rows are read as well: 1 of T"),
    )


def test_of_a_damaged_sheet_of_opendocument_the_rows_before_the_fault_are_read() -> None:
    cell = "<table:table-cell><text:p>Quay</text:p></table:table-cell>"
    row = f"<table:table-row>{cell}</table:table-row>"
    document = parse_spreadsheet(ods(f"<table:table table:name='T'>{row}<table:table-row x"))
    assert document.text == "Quay"
    assert [(each.part, each.reason[:7]) for each in document.left_out] == [("T", "damaged")]


def test_a_formula_without_a_value_is_told() -> None:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><f>SUM(B{n})</f></c><c r="B{n}"><v>{n}</v></c></row>'
        for n in range(1, 9)
    )
    texts = '<row r="9"><c r="A9" t="str"><f>B1</f></c><c r="B9" t="str"><f>""</f><v></v></c></row>'
    document = parse_spreadsheet(sheet(rows + texts))
    (left_out,) = document.left_out
    assert left_out.part == "Data A1, A2, A3 and 6 more"
    assert "never stored" in left_out.reason
    assert "save it anew" in left_out.mend


@pytest.mark.parametrize("cut", [b"</row></sheetData>", b'<c r="A3"'])
def test_a_damaged_sheet_is_read_as_far_as_it_can_be_made_out(cut: bytes) -> None:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}" t="str"><v>word{n}</v></c></row>' for n in range(1, 4)
    )
    document = parse_spreadsheet(_changed(sheet(rows), "xl/sheet1.xml", cut))
    assert document.text.startswith("word1\nword2")
    assert "damaged, read as far" in document.left_out[0].reason


def _changed(data: bytes, part: str, cut: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[: content.index(cut)] if name == part else content)
    return stream.getvalue()


def test_texts_and_formats_that_are_missing_are_told() -> None:
    stream = io.BytesIO()
    with Workbook(stream) as book:
        book.add_worksheet().write_row(0, 0, ["Tin", 7])
    whole, rest = stream.getvalue(), io.BytesIO()
    gone = ("xl/sharedStrings.xml", "xl/styles.xml")
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(rest, "w") as new:
        for name in set(old.namelist()) - set(gone):
            new.writestr(name, old.read(name))
    document = parse_spreadsheet(rest.getvalue())
    assert "7" in document.text
    assert {(each.part, each.reason) for each in document.left_out} == {
        (name, "missing in the file") for name in gone
    }


def test_threads_of_comments_are_read_once() -> None:
    document = parse_spreadsheet(
        sheet(
            '<row r="1"><c r="A1"><v>5</v></c></row>',
            relations={"c": "comments xl/old.xml", "t": "threadedComment xl/new.xml"},
            old=root("comments", '<comment ref="A1"><text><t>[Thread] Why?</t></text></comment>'),
            new=root("t", '<threadedComment ref="A1"><text>Why?</text></threadedComment>'),
        )
    )
    assert document.text.split() == ["5", "A1:", "Why?"]


def test_what_cells_say_when_one_types_and_what_controls_say() -> None:
    names = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    check = (
        '<dataValidations><dataValidation type="list" sqref="D8" promptTitle="Hue" prompt="Pick"'
        ' error="No hue"><formula1>"Red,Umber"</formula1></dataValidation></dataValidations>'
    )
    shape = (
        '<v:shape><v:textbox><div>{}</div></v:textbox><x:ClientData ObjectType="{}">'
        "<x:Anchor>1, 0, 4, 0, 2, 0, 5, 0</x:Anchor></x:ClientData></v:shape>"
    )
    drawn = shape.format("Press <b>here</b>", "Button") + shape.format("a comment", "Note")
    document = parse_spreadsheet(
        sheet(
            '<row r="1"><c r="A1"><v>5</v></c></row>',
            f'{check}<legacyDrawing {names} r:id="v"/><oleObjects>'
            f'<oleObject {names} r:id="o"/><oleObject {names} r:id="o"/></oleObjects>',
            relations={"v": "vmlDrawing xl/old.xml", "o": "package xl/inner.xml"},
            old=f'<x xmlns:v="urn:v" xmlns:x="urn:x">{drawn}</x>',
            inner="<x/>",
        )
    )
    assert document.text == "5\n\nPress here\n\nD8: Hue. Pick. No hue. Red, Umber"
    assert [place.row for place in document.places] == [1, 5, 8]
    assert [each.part for each in document.left_out] == ["xl/inner.xml"]


def test_a_workbook_has_the_title_that_its_author_gave() -> None:
    stream = io.BytesIO()
    with Workbook(stream) as book:
        book.set_properties({"title": "Book of sums"})
        book.add_worksheet().write(0, 0, "x")
    assert parse_spreadsheet(stream.getvalue()).title == "Book of sums"


def test_what_old_files_have_over_their_cells_is_told(shared_data: Path) -> None:
    plain = (shared_data / "docs" / "good" / "mid_test.xls").read_bytes()
    assert parse_spreadsheet(plain).left_out == ()
    for what, told in ((0x05, ["charts, text boxes and pictures"]), (0x19, [])):
        builder = TextBuilder()
        note = struct.pack("<HHHHHH", 0x5D, 8, 0x15, 4, 0x19, 1)
        _tell_drawings(note + struct.pack("<HHHHHH", 0x5D, 8, 0x15, 4, what, 2), builder)
        assert [each.part for each in builder.left_out] == told


def ods(content: str, **parts: str) -> bytes:
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text", "draw", "style")
    )
    spaces += (
        ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    )
    data = package("content.xml", {"META-INF/manifest.xml": "<x/>"}, {})
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(
            "content.xml",
            f"<office:document-content {spaces}><office:body><office:spreadsheet>{content}"
            "</office:spreadsheet></office:body></office:document-content>",
        )
        for name, text in parts.items():
            archive.writestr(f"{name}.xml", f"<x {spaces}>{text}</x>")
    return stream.getvalue()


def test_cells_of_opendocument_have_the_text_that_they_show() -> None:
    cell = "<table:table-cell office:value='{}'><text:p>{}</text:p>{}</table:table-cell>"
    note = "<office:annotation><text:p>Ask Ann</text:p></office:annotation>"
    row = "<table:table-row{}>{}</table:table-row>"
    times = " table:number-rows-repeated='{}'"
    columns = "<table:table-cell table:number-columns-repeated='2'/>"
    first = cell.format(0.075, "7,5 %", note) + columns
    rows = (
        row.format("", first + cell.format(3, "a<text:line-break/>b", ""))
        + row.format(times.format(1048574), "<table:table-cell/>")
        + row.format(times.format(2), cell.format(1, "00123", ""))
    )
    document = parse_spreadsheet(ods(f"<table:table table:name='T'>{rows}</table:table>"))
    assert document.text == "7,5 % |  |  | a b\n00123\n00123\n\nAsk Ann"
    assert [place.row for place in document.places] == [1, 1048576, 1048577, 1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("office:date-value='2026-02-03'", "2026-02-03"),
        ("office:date-value='2026-02-03T15:30:00'", "2026-02-03 15:30:00"),
        ("office:time-value='PT36H30M00S'", "36:30:00"),
        ("office:boolean-value='true'", "true"),
        ("office:value='7.5'", "7.5"),
        ("office:value='7.5' office:string-value='Tide'", "Tide"),
    ],
)
def test_a_cell_of_opendocument_without_a_text_has_its_value(value: str, text: str) -> None:
    cells = f"<table:table-cell {value}/><table:table-cell office:value='1'><text:p/>"
    row = f"<table:table-row>{cells}</table:table-cell></table:table-row>"
    document = parse_spreadsheet(ods(f"<table:table table:name='T'>{row}</table:table>"))
    assert document.text == text


def test_beside_the_cells_of_opendocument_are_charts_and_heads_of_pages() -> None:
    frame = '<draw:frame><draw:object xlink:href="./{}"/></draw:frame>'
    cell = f"<table:table-cell><text:p>x</text:p>{frame.format('Chart')}{frame.format('Gone')}"
    row = f"<table:table-row>{cell}</table:table-cell></table:table-row>"
    document = parse_spreadsheet(
        ods(
            f"<table:table table:name='T'>{row}</table:table>",
            styles="<style:header><text:p>Mill Ltd</text:p></style:header>",
            meta="<office:meta><dc:title>Sums</dc:title><dc:creator>Ann</dc:creator></office:meta>",
            **{"Chart/content": "<text:p>Yield</text:p><text:p>12</text:p>"},
        )
    )
    assert document.text == "x\n\nYield | 12\n\nMill Ltd"
    assert (document.title, document.metadata) == ("Sums", {"author": "Ann"})
    assert [each.part for each in document.left_out] == ["Gone"]


def chunks(document: Document) -> list[dict[str, object]]:
    return split_document(document, ChunkSettings())


def test_a_wide_row_keeps_its_column_names_in_every_piece() -> None:
    head = ["key", *(f"measure{n}" for n in range(200))]
    rows = [[f"row{r}", *(f"v{r}x{n}" for n in range(200))] for r in range(3)]
    document = parse_csv("\n".join(",".join(row) for row in [head, *rows]).encode())
    pieces = chunks(document)
    seen = set()
    for piece in pieces:
        for row, column in re.findall(r"v(\d)x(\d+)", str(piece["content"])):
            assert f"measure{column}: v{row}x{column}" in str(piece["content"])
            assert f"row{row}" in f"{piece.get('context')} {piece['content']}"
            seen.add((row, column))
    assert len(seen) == 600


@pytest.mark.extended
def test_a_long_sheet_is_read_in_parts_that_know_what_heads_them(tmp_path: Path) -> None:
    count = 60_000
    with Workbook(tmp_path / "long.xlsx") as book:
        table = book.add_worksheet("Gauges")
        table.write_row(0, 0, ["Gauge", "Level"])
        for number in range(1, count):
            table.write_row(number, 0, [f"gauge number {number}", number])
        table.write_comment(0, 0, "Read at noon")
        book.add_worksheet("Notes").write(0, 0, "Of the river")
    document = parse_spreadsheet((tmp_path / "long.xlsx").read_bytes())
    assert len(document.text) < 1_100_000
    found = chunks(document)
    text = "\n".join(str(chunk["content"])[int(str(chunk["own_start"])) :] for chunk in found)
    assert [int(each) for each in re.findall(r"gauge number (\d+) \|", text)] == [*range(1, count)]
    assert "Read at noon" in text
    assert found[-1]["heading"] == "Notes"
    ends = [chunk for chunk in found if "| 59999" in str(chunk["content"])]
    assert ends[0]["heading"] == "Gauges > Gauge | Level"
    assert str(ends[0]["context"]).startswith("gauge number 59")
    rows = ends[0]["metadata"]["rows"]  # type: ignore[index]
    assert rows[1] == 60_000
    # The same places as of one text.
    first = str(ends[0]["content"]).splitlines()[0]
    assert int(str(ends[0]["start_line"])) == int(first.rpartition(" ")[2]) + 1


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows_of_a_sheet(tmp_path: Path, suffix: str) -> None:
    peaks = [_peak_megabytes(tmp_path / f"{count}.{suffix}", count) for count in (50_000, 500_000)]
    assert peaks[1] < peaks[0] + 60, peaks


def _peak_megabytes(path: Path, count: int) -> float:
    """Write a sheet, and return how much memory a process takes that reads and splits it."""
    rows = ([f"gauge number {number}", number * 7] for number in range(count))
    if path.suffix == ".csv":
        path.write_text("".join(f"{name},{level}\n" for name, level in rows))
    else:
        with Workbook(path, {"constant_memory": True}) as book:
            table = book.add_worksheet()
            for number, row in enumerate(rows):
                table.write_row(number, 0, row)
    return peak_megabytes(path)


def test_a_quote_that_nobody_closes_takes_no_further_rows() -> None:
    source = 'Name\tSize\nPipe\t"5 inches\nValve\t2\nBolt\t1\n'
    assert parse_csv(source.encode()).text.splitlines()[1:] == [
        'Pipe | "5 inches',
        "Valve | 2",
        "Bolt | 1",
    ]


def test_a_long_row_of_few_columns_keeps_names_and_label() -> None:
    head = ["key", *(f"note{n}" for n in range(12))]
    rows = [[f"row{r}", *(f"text {r} " * 40 for n in range(12))] for r in range(2)]
    document = parse_csv("\n".join(",".join(row) for row in [head, *rows]).encode())
    for piece in chunks(document)[1:]:
        assert "note11" in f"{piece.get('heading')} {piece.get('context')}"
        assert re.search(r"row\d", f"{piece.get('context')} {piece['content']}")


def record(kind: int, data: bytes = b"") -> bytes:
    """Return a record of .xlsb: kind and length in pieces of seven bits."""
    number = bytes((kind,)) if kind < 128 else bytes((kind & 127 | 128, kind >> 7))
    return number + bytes((len(data),)) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def test_a_binary_workbook_is_read_and_its_formats_are_told() -> None:
    named = record(156, struct.pack("<II", 0, 1) + wide("s") + wide("Rates"))
    book = record(131) + record(153, bytes(12)) + record(143) + named + record(144) + record(132)
    rows = (("Item", "Rate"), ("Tin", 0.075))
    cells = b""
    for number, row in enumerate(rows):
        cells += record(0, struct.pack("<I", number) + bytes(13))
        for column, value in enumerate(row):
            place = struct.pack("<II", column, 0)
            is_text = isinstance(value, str)
            data = wide(value) if is_text else struct.pack("<d", value)
            cells += record(6 if is_text else 5, place + data)
    size = record(148, struct.pack("<IIII", 0, 1, 0, 1))
    page = record(129) + size + record(145) + cells + record(146) + record(130)
    links = {"xl/workbook.bin": {"s": "worksheet ./worksheets/sheet1.bin"}}
    files = {"xl/workbook.bin": book, "xl/worksheets/sheet1.bin": page}
    document = parse_spreadsheet(package("xl/workbook.bin", files, links))
    assert document.text == "Item | Rate\nTin | 0.075"
    assert [each.part for each in document.left_out] == ["formats of numbers"]


def test_old_files_are_read(shared_data: Path) -> None:
    text = parse_spreadsheet((shared_data / "docs" / "good" / "mid_test.xls").read_bytes()).text
    assert " | " in text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no sheet", "begins as none does"),
        (b"PK\x03\x04", "archive is broken"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "no readable spreadsheet|encrypted"),
        (package("word/document.xml", {}, {}), "lacks 'xl/workbook.xml'"),
    ],
)
def test_refusals_say_why_in_words(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        parse_spreadsheet(data)
    assert "0x" not in str(error.value)


CSV = {
    ";": [
        "a;b;c\n1,5;2,5;3\n4,0;5,1;6\n",
        "Name;Address;City\nAnn;12, Main Street;Ulm\nBob;3, Elm Road;Bern\n",
        "date;text\n2023-01-01;Hello, world. How are you, dear?\n2023-01-02;Fine\n",
        '"a;b";"c,d"\n"1;2";"3,4"\n',
        "April 10, 2023;a\nApril 11, 2023;b\n",
        'Name;Preis\n"M\u00fcller, Hans";1,50\n"Meier, Eva";2,75\n',
    ],
    ",": [
        'name,note\nAnn,"likes; semicolons; a lot"\nBob,"x; y"\n',
        "id,path\n1,a|b|c\n2,d|e\n3,f\n",
        "title,year\nFirst; and last,1990\nSecond; not last,1991\n",
    ],
    "\t": ["a\tb, c\td\n1\t2, 3\t4\n", "text\tlabel\nHello, I am; fine\t1\nNo, really\t0\n"],
    "|": ["a|b|c\n1|2,5|x, y\n3|4,5|z\n"],
}


PROSE = [
    "comment\nGood food, nice staff\nBad\nDear, far, and loud\n",
    "comment\nGood food, nice staff\nFair, and near\n",
    "Good food, nice staff\nBad\nDear, far, and loud; never again\n",
    "note\nIt rained; we left, wet\nSun; sea\nWind; waves; and 1,000 gulls\n",
    'note\n"Quoted, and short"\nNot quoted, but long, and longer\n',
]


@pytest.mark.parametrize("source", PROSE)
def test_prose_in_a_single_column_is_not_parted(source: str) -> None:
    assert parse_csv(source.encode()).text == source.strip().replace('"', "")


@pytest.mark.parametrize(
    "source",
    [
        "City, country\nParis, France\nUlm, Germany\n",
        "Rain in millimetres\n\nStation, 2022, 2023\nUlm, 749, 861\n",
        "name, note\nAnn, tall, thin\nBob, short\n",
        "x, y\n1, 2\n3, 4\n",
        "Rain\nStation, 2022\nUlm, 749\nof the weather office\n",
    ],
)
def test_a_space_after_the_comma_makes_no_prose(source: str) -> None:
    assert " | " in parse_csv(source.encode()).text


@pytest.mark.parametrize(
    ("delimiter", "source"), [(key, each) for key, some in CSV.items() for each in some]
)
def test_a_delimiter_is_told_by_the_structure(delimiter: str, source: str) -> None:
    rows = [" | ".join(row) for row in reader(source.splitlines(), delimiter=delimiter)]
    assert parse_csv(source.encode()).text == "\n".join(rows)


def test_quotes_that_a_backslash_escapes_stay_in_their_cell() -> None:
    source = 'name,said,place\nann,"he said \\"no, never\\"",C:\\tmp\nbob,"it is 3\\" wide",x\n'
    lines = parse_csv(source.encode()).text.splitlines()
    assert lines[1:] == ['ann | he said "no, never" | C:\\tmp', 'bob | it is 3" wide | x']
    folder = parse_csv(b'a,b\n"C:\\dir\\",x\n"D:\\",y\n').text.splitlines()
    assert folder[1:] == ["C:\\dir\\ | x", "D:\\ | y"]
