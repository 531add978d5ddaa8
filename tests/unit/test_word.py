"""Word: what people see of a file, whichever of its relatives it is, and however damaged."""

import io
import re
import zipfile

import pytest

from pgblend.cli.documents.document import Document, ParseError
from pgblend.cli.documents.list_numbers import written
from pgblend.cli.documents.parse_docx import parse_docx
from support.office_files import CHART, CHART_TEXT, DIAGRAM, paragraph, root, word

LEVELS = (
    ("decimal", "%1", ""),
    ("decimal", "%1.%2", ""),
    ("lowerLetter", "(%3)", ""),
    ("upperRoman", "\u00a7 %4", ""),
    ("bullet", "\uf0b7", ""),
    ("decimalZero", "%6.", "<w:isLgl/>"),
)


def numbering(*numbers: str) -> str:
    levels = "".join(
        f'<w:lvl w:ilvl="{place}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
        for place, (kind, text, more) in enumerate(LEVELS)
    )
    return root(
        "w:numbering",
        f'<w:abstractNum w:abstractNumId="1">{levels}</w:abstractNum>{"".join(numbers)}',
    )


def number(name: int, override: str = "") -> str:
    return f'<w:num w:numId="{name}"><w:abstractNumId w:val="1"/>{override}</w:num>'


def listed(text: str, level: int, name: int = 1) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>')


def read(body: str, **parts: str) -> Document:
    kinds = {"numbering": "numbering", "styles": "styles"}
    relations = {
        name: f"{kinds.get(name, name.rstrip('123456789'))} word/{name}.xml" for name in parts
    }
    return parse_docx(word(body, relations, **parts))


def lines(document: Document) -> list[str]:
    return [line for line in document.text.split("\n") if line]


def test_numbers_are_those_that_word_makes() -> None:
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    body = (
        *(listed("Rent", 0), listed("Due", 1), listed("Late", 1), listed("first", 2)),
        *(listed("second", 2), listed("Notice", 0), listed("Form", 1), listed("third", 2)),
        *(listed("clause", 3), listed("bullet", 4), listed("legal", 5), listed("Seven", 0, 2)),
        *(listed("", 0, 2), listed("Nine", 0, 2), paragraph("plain")),
    )
    assert lines(read("".join(body), numbering=numbering(number(1), number(2, restart)))) == [
        *("1 Rent", "1.1 Due", "1.2 Late", "(a) first", "(b) second", "2 Notice", "2.1 Form"),
        *("(a) third", "\u00a7 I clause", "- bullet", "1. legal", "7 Seven", "9 Nine", "plain"),
    ]


def test_a_level_begins_anew_after_the_one_that_it_names() -> None:
    kind = '<w:numFmt w:val="lowerLetter"/>'
    numbers = numbering(number(1)).replace(kind, f'{kind}<w:lvlRestart w:val="1"/>')
    rows = [("A", 0), ("B", 1), ("c", 2), ("D", 1), ("e", 2), ("F", 0), ("g", 2)]
    body = "".join(listed(text, level) for text, level in rows)
    assert lines(read(body, numbering=numbers)) == [
        *("1 A", "1.1 B", "(a) c", "1.2 D", "(b) e", "2 F", "(a) g"),
    ]


def test_headings_have_numbers_by_their_styles() -> None:
    style = (
        '<w:style w:styleId="H{0}"><w:name w:val="heading {0}"/>'
        "<w:pPr><w:numPr>{1}</w:numPr></w:pPr></w:style>"
    )
    numbers = ('<w:numId w:val="1"/>', '<w:ilvl w:val="1"/><w:numId w:val="1"/>')
    styles = root("w:styles", "".join(style.format(n, each) for n, each in enumerate(numbers, 1)))
    body = "".join(
        paragraph(text, f'<w:pStyle w:val="{name}"/>')
        for text, name in (("Scope", "H1"), ("Terms", "H2"), ("Parties", "H2"), ("Price", "H1"))
    )
    found = read(body, styles=styles, numbering=numbering(number(1))).headings
    assert [(each.text, each.level) for each in found] == [
        *(("1 Scope", 1), ("1.1 Terms", 2), ("1.2 Parties", 2), ("2 Price", 1)),
    ]


@pytest.mark.parametrize(
    ("count", "kind", "shown"),
    [
        *((1994, "upperRoman", "MCMXCIV"), (28, "lowerLetter", "bb"), (22, "ordinal", "22nd")),
        *((112, "ordinal", "112th"), (5, "decimalZero", "05"), (7, "001, 002, 003", "007")),
        *((3, "japaneseCounting", "3"), (0, "upperRoman", "0"), (4, "none", "")),
    ],
)
def test_formats_of_numbers(count: int, kind: str, shown: str) -> None:
    assert written(count, kind) == shown


DELETED = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
TABLE = "<w:tbl>{}</w:tbl>"
ROW = "<w:tr>{}<w:tc>{}</w:tc></w:tr>"


def test_what_was_deleted_is_no_text() -> None:
    moved = "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
    mark = "<w:rPr><w:del/></w:rPr>"
    body = (
        f"<w:p><w:r><w:t>Kept </w:t></w:r>{DELETED}{moved}"
        "<w:ins><w:r><w:t>added</w:t></w:r></w:ins></w:p>"
        + paragraph("one para", mark)
        + paragraph("graph now")
        + TABLE.format(
            ROW.format("", paragraph("row"))
            + ROW.format("<w:trPr><w:del/></w:trPr>", paragraph("no row"))
        )
    )
    assert lines(read(body)) == ["Kept added", "one paragraph now", "row"]


def test_hidden_text_is_left_out_and_told() -> None:
    styles = (
        '<w:style w:type="character" w:styleId="Gone"><w:rPr><w:vanish/></w:rPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Away"><w:basedOn w:val="Gone"/></w:style>'
    )
    body = (
        "<w:p><w:r><w:t>seen </w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>shown</w:t></w:r>'
        '<w:r><w:rPr><w:rStyle w:val="Gone"/></w:rPr><w:t>secret</w:t></w:r></w:p>'
        '<w:p><w:pPr><w:pStyle w:val="Away"/></w:pPr><w:r><w:t>secret</w:t></w:r></w:p>'
    )
    document = read(body, styles=root("w:styles", styles))
    assert lines(document) == ["seen shown"]
    assert [each.part for each in document.left_out] == ["hidden text"]
    assert read(paragraph("seen")).left_out == ()


def test_text_boxes_charts_and_fields_are_read_once() -> None:
    box = f"<w:txbxContent>{paragraph('Boxed words')}</w:txbxContent>"
    both = (
        f"<mc:AlternateContent><mc:Choice><wps:txbx>{box}</wps:txbx></mc:Choice>"
        f"<mc:Fallback><v:textbox>{box}</v:textbox></mc:Fallback></mc:AlternateContent>"
    )
    fields = (
        "<w:r><w:fldChar><w:ffData><w:ddList><w:result w:val='1'/><w:listEntry w:val='North'/>"
        "<w:listEntry w:val='South'/></w:ddList></w:ffData></w:fldChar></w:r>"
    )
    old = f"<w:r><w:pict><v:textbox>{box.replace('Boxed', 'Older')}</v:textbox></w:pict></w:r>"
    body = (
        f"<w:p><w:r><w:t>Before</w:t></w:r><w:r>{both}</w:r>{old}</w:p>"
        '<w:p><w:r><w:drawing><c:chart r:id="chart1"/></w:drawing></w:r></w:p>'
        '<w:p><w:r><w:drawing><dgm:relIds r:dm="data1"/></w:drawing></w:r></w:p>'
        f"<w:p>{fields}</w:p>"
    )
    document = parse_docx(
        word(
            body,
            {"chart1": "chart word/chart1.xml", "data1": "diagramData word/data1.xml"},
            chart1=CHART,
            data1=DIAGRAM,
        )
    )
    assert (
        document.text
        == f"Before\n\nBoxed words\n\nOlder words\n\n{CHART_TEXT}\n\nPlan\nBuild\n\nSouth"
    )
    assert (document.tables[0].caption, document.tables[0].header) == ("Catch", "Share")


def test_what_is_written_of_a_picture_is_read_where_it_stands() -> None:
    space = "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"
    inline = f'<w:r><w:drawing><wp:inline xmlns:wp="{space}"><wp:docPr id="1" '
    title, words, name, hidden = (
        f"{inline}{more}/></wp:inline></w:drawing></w:r>"
        for more in (
            *('title="Gate" descr="Gate"', 'descr="A weir with two gates"'),
            *('descr="image1.png"', 'descr="switched off" hidden="1"'),
        )
    )
    old = '<w:r><w:pict><v:shape alt="An older weir"><v:fill/></v:shape></w:pict></w:r>'
    both = f"<mc:Choice/><mc:Fallback>{old}</mc:Fallback>"
    body = (
        f"<w:p><w:r><w:t>See</w:t></w:r>{words}<w:r><w:t>and</w:t></w:r>{name}{old}"
        f"<mc:AlternateContent>{both}</mc:AlternateContent>{hidden}</w:p>"
        + TABLE.format(ROW.format("", f"<w:p>{title}</w:p>"))
    )
    assert lines(read(body)) == ["See A weir with two gates and An older weir", "Gate"]


def test_heads_feet_and_notes_come_once() -> None:
    head = root("w:hdr", paragraph("Mill Ltd, Kestrelmoor") + paragraph("Page 3"))
    document = read(
        paragraph("Body"),
        header1=head,
        header2=head,
        footer1=root("w:ftr", paragraph("12 / 20") + paragraph("File AZ-4711/26")),
        footnotes1=root("w:footnotes", f"<w:footnote>{paragraph('A note')}</w:footnote>"),
    )
    assert lines(document) == [
        "Body",
        "A note",
        "Mill Ltd, Kestrelmoor",
        "Page 3",
        "File AZ-4711/26",
    ]


def test_what_is_embedded_is_told() -> None:
    body = '<w:p><w:r><w:t>See</w:t><w:object><o:OLEObject r:id="x"/></w:object></w:r></w:p>'
    document = parse_docx(word(body, {"x": "package word/sheet.xml"}, sheet="<x/>"))
    assert [(each.part, each.mend) for each in document.left_out] == [
        ("word/sheet.xml", "save it as a file of its own")
    ]


@pytest.mark.parametrize(
    ("name", "content", "text", "told"),
    [
        ("a.html", "<h1>Weirs</h1><p>An <b>im</b>ported page.", "Weirs\n\nAn imported page.", 0),
        (
            "a.mht",
            "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n"
            "Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable\n\n"
            "<p>Of the =\nsea</p>\n--b--\n",
            "Of the sea",
            0,
        ),
        ("a.rtf", r"{\rtf1 Of the sea\par}", "Of the sea", 0),
        ("a.docx", "PK\x03\x04\x00\x00", "", 1),
    ],
)
def test_what_was_put_in_as_a_whole_is_read(name: str, content: str, text: str, told: int) -> None:
    body = paragraph("Before.") + '<w:altChunk r:id="x"/>' + paragraph("After.")
    data = word(body, {"x": f"aFChunk word/{name}"})
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(f"word/{name}", content)
    document = parse_docx(stream.getvalue())
    assert document.text == "\n\n".join(filter(None, ("Before.", text, "After.")))
    assert len(document.left_out) == told


def test_files_of_one_xml_are_read() -> None:
    names = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    run = "<w:r><w:t>The fer</w:t></w:r><w:r><w:t>ry.</w:t></w:r>"
    old = f"<w:body><w:p><w:del><w:r><w:delText>No.</w:delText></w:r></w:del>{run}</w:p></w:body>"
    listed = '<w:p><w:pPr><w:listPr><wx:t wx:val="2."/></w:listPr></w:pPr>' + run + "</w:p>"
    word_2003 = (
        '<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" '
        f'xmlns:wx="wx"><w:body>{listed}<w:sectPr><w:hdr><w:p><w:r><w:t>Tides</w:t></w:r></w:p>'
        "</w:hdr></w:sectPr></w:body></w:wordDocument>"
    )
    assert lines(parse_docx(word_2003.encode())) == ["2. The ferry.", "Tides"]
    sources = (
        '<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml">'
        f"{old}</w:wordDocument>",
        '<pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage"><pkg:part '
        'pkg:name="/word/document.xml"><pkg:xmlData>'
        f'<w:document xmlns:w="{names}">{old}</w:document></pkg:xmlData></pkg:part></pkg:package>',
    )
    for source in sources:
        assert parse_docx(source.encode()).text == "The ferry."


def rezipped(data: bytes, change: object) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            changed = change(name, old.read(name))  # type: ignore[operator]
            if changed is not None:
                new.writestr(*changed)
    return stream.getvalue()


WHOLE = word(
    paragraph("The berth of the ferry."),
    {"gone": "image word/media/gone.png", "numbering": "numbering word/numbering.xml"},
    numbering=numbering(number(1)),
)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda name, data: None if name == "[Content_Types].xml" else (name, data), []),
        (lambda name, data: None if name == "_rels/.rels" else (name, data), []),
        (lambda name, data: (name.replace("/", "\\").upper(), data), []),
        (
            lambda name, data: (name, b"<w:numb") if "numbering" in name else (name, data),
            ["word/numbering.xml"],
        ),
        (lambda name, data: (name, data.replace(b"ferry.", b"ferry.\x01")), ["word/document.xml"]),
        (
            lambda name, data: (name, data.replace(b"</w:body></w:document>", b"")),
            ["word/document.xml"],
        ),
    ],
    ids=["types", "relations", "names", "numbers", "control", "cut"],
)
def test_slightly_damaged_files_are_read(change: object, told: list[str]) -> None:
    document = parse_docx(rezipped(WHOLE, change))
    assert "The berth of the ferry." in document.text
    assert [each.part for each in document.left_out] == told


def test_an_archive_without_its_end_is_read_and_told() -> None:
    cut = WHOLE[: WHOLE.index(b"PK\x01\x02")]
    document = parse_docx(cut)
    assert document.text == "The berth of the ferry."
    assert document.left_out[0].part == "the archive's end"


def test_a_part_with_a_wrong_checksum_is_read_and_told() -> None:
    place = WHOLE.index(b"PK\x01\x02")
    while b"word/document.xml" not in WHOLE[place : place + 70]:
        place = WHOLE.index(b"PK\x01\x02", place + 4)
    wrong = WHOLE[: place + 16] + bytes(4) + WHOLE[place + 20 :]
    document = parse_docx(wrong)
    assert document.text == "The berth of the ferry."
    assert "damaged" in document.left_out[0].reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "archive is broken"),
        (b"PK\x03\x04", "archive is broken"),
        (word("").replace(b"word/document", b"word/documint"), "lacks"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted with a password, or"),
    ],
)
def test_refusals_say_why_in_words(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        parse_docx(data)
    assert "0x" not in str(error.value)


FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
SAID = "<w:r><w:t>{}</w:t></w:r>"


def field(instruction: str, result: str) -> str:
    parts = (FIELD.format("begin"), instruction, FIELD.format("separate"), SAID.format(result))
    return "".join(parts) + FIELD.format("end")


def test_of_a_field_its_result_is_read() -> None:
    nested = field(field("<w:r><w:instrText>MERGEFIELD</w:instrText></w:r>", "within"), "Dear Ann")
    unclosed = FIELD.format("begin") + SAID.format("still here")
    body = f"<w:p>{nested}</w:p><w:p>{unclosed}</w:p>"
    assert lines(read(body)) == ["Dear Ann", "still here"]


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>", "\u2612"),
        ("<w:checkBox><w:default w:val='0'/></w:checkBox>", "\u2610"),
    ],
)
def test_boxes_that_people_tick(field: str, shown: str) -> None:
    box = f"<w:r><w:fldChar><w:ffData>{field}</w:ffData></w:fldChar></w:r>"
    sign = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>'
    text = f"<w:p>{box}{SAID.format(' agreed ')}{sign}</w:p>"
    assert lines(read(text)) == [f"{shown} agreed \u2611"]


LETTER = "<m:r><m:t>{}</m:t></m:r>"
SUM = "<m:nary><m:naryPr><m:chr m:val='\u2211'/></m:naryPr>{}</m:nary>"


@pytest.mark.parametrize(
    ("instruction", "shown"),
    [
        (r'EQ \* jc2 \* "Font:MS Mincho" \* hps10 \o\ad(\s\up 9(ta),\u98df)', "\u98df"),
        (r"EQ \f(1,2)", "1/2"),
        (r"EQ \r(3,\f(a+b,2))", "3\u221a((a+b)/2)"),
        (r"EQ 10\s\up6(6)", "10\u2076"),
        (r"EQ \b(\f(1,2);x)", "(1/2, x)"),
        (r"EQ \f(1", r"\f(1"),
    ],
)
def test_of_fields_of_formulas_what_they_show_is_read(instruction: str, shown: str) -> None:
    said = instruction.replace("\\u98df", "\u98df").replace('"', "&quot;")
    of_field = f"<w:r><w:instrText>{said}</w:instrText></w:r>"
    for result in ("", shown):
        body = f"<w:p>{SAID.format('A ')}{field(of_field, result)}{SAID.format(' end')}</w:p>"
        assert lines(read(body)) == [f"A {shown} end"]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<m:f><m:num>a</m:num><m:den>b+c</m:den></m:f>", "a/(b+c)"),
        ("<m:sSup><m:e>10</m:e><m:sup>6</m:sup></m:sSup>", "10^6"),
        ("<m:sSub><m:e>x</m:e><m:sub>i,j</m:sub></m:sSub>", "x_i,j"),
        ("<m:rad><m:deg/><m:e>y</m:e></m:rad>", "\u221ay"),
        ("<m:d><m:e>a</m:e><m:e>b</m:e></m:d>", "(a|b)"),
        (SUM.format("<m:sub>i=1</m:sub><m:sup>n</m:sup><m:e>k</m:e>"), "\u2211_(i=1)^n k"),
        ("<m:m><m:mr><m:e>1</m:e><m:e>2</m:e></m:mr><m:mr><m:e>3</m:e></m:mr></m:m>", "1, 2; 3"),
        ("<m:func><m:fName>sin</m:fName><m:e>x</m:e></m:func>", "sin x"),
    ],
)
def test_formulas_are_read_in_one_line(formula: str, text: str) -> None:
    said = re.sub(r"(?<=>)([^<>]+)(?=<)", lambda match: LETTER.format(match[1]), formula)
    body = f"<w:p>{SAID.format('So ')}<m:oMath>{said}</m:oMath>{SAID.format(' it is')}</w:p>"
    assert lines(read(body)) == [f"So {text} it is"]
