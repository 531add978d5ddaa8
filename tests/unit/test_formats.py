"""Formats with structure: what becomes of pages, sheets, rows, headings and lines."""

import csv
import io
import zipfile
from contextlib import nullcontext
from email.message import EmailMessage

import docx
import pytest
from docx.enum.text import WD_BREAK
from hypothesis import given, settings
from hypothesis import strategies as st
from pptx import Presentation
from xlsxwriter import Workbook

from pgblend.cli.documents import office_file
from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.formats import media_type_of, parse_file
from pgblend.cli.documents.office_file import open_archive, parse_xml, read_member
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.cli.documents.read_pictures import PictureReader


def parse(data, name):
    from pathlib import PurePath

    return parse_file(data, media_type_of(PurePath(name), data), name, f"file:///{name}")


def chunks_of(data, name, *sizes):
    return split_document(parse(data, name), ChunkSettings(*sizes or (400, 80, 40)))


def saved(thing):
    stream = io.BytesIO()
    thing.save(stream)
    return stream.getvalue()


def zipped(files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


# --- PDF


def simple_pdf(*pages, title=None):
    """A PDF of one line a page, with an outline whose entries name the lines."""
    count = len(pages)
    kids = " ".join(f"{10 + 3 * n} 0 R" for n in range(count))
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
        2: f"<< /Type /Pages /Count {count} /Kids [{kids}] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< /Type /Outlines /First 12 0 R /Last {9 + 3 * count} 0 R /Count {count} >>",
        5: f"<< /Title ({title or ''}) /Author (Ann) >>",
    }
    for n, text in enumerate(pages):
        page = 10 + 3 * n
        stream = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        following = f"/Next {page + 5} 0 R" if n + 1 < count else ""
        objects[page] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {page + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[page + 1] = f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream"
        objects[page + 2] = (
            f"<< /Title ({text.split('.')[0]}) /Parent 4 0 R /Dest [{page} 0 R /Fit] {following} >>"
        )
    body = "%PDF-1.4\n"
    offsets = {}
    for number, content in objects.items():
        offsets[number] = len(body)
        body += f"{number} 0 obj\n{content}\nendobj\n"
    last = max(objects) + 1
    table = "".join(
        f"{offsets[n]:010} 00000 n \n" if n in offsets else "0000000000 65535 f \n"
        for n in range(last)
    )
    start = len(body)
    body += f"xref\n0 {last}\n{table}trailer << /Size {last} /Root 1 0 R /Info 5 0 R >>\n"
    return f"{body}startxref\n{start}\n%%EOF".encode()


def test_pdf_chunks_know_all_pages_that_they_touch():
    pages = [f"Part {n}. " + f"word{n} " * 60 for n in range(1, 6)]
    document = parse(simple_pdf(*pages, title="Report"), "r.pdf")
    assert (document.title, document.metadata["pages"]) == ("Report", 5)
    assert [place.page for place in document.places] == [1, 2, 3, 4, 5]
    chunks = split_document(document, ChunkSettings(200, 40, 20))
    for chunk in chunks:
        touched = [n for n in range(1, 6) if f"word{n}" in chunk["content"]]
        assert chunk["pages"] == touched
    assert any(len(chunk["pages"]) > 1 for chunk in chunks)
    assert chunks[-1]["heading"] == "Part 5"


def test_pdf_pages_without_text_are_named():
    document = PictureReader("", dict).add_texts(parse(simple_pdf("one", "", "three"), "scan.pdf"))
    assert document.warnings == ("pages without text (scanned?): 2 of 3",)
    assert split_document(document, ChunkSettings())[0]["pages"] == [1, 2, 3]
    assert document.title == "scan.pdf"


@pytest.mark.parametrize("data", [b"%PDF-1.7", b"no pdf at all", simple_pdf("x")[:200]])
def test_broken_pdf(data):
    with pytest.raises(ParseError, match="no PDF, or broken"):
        parse(data, "x.pdf")


def test_pdf_words_divided_at_line_ends_are_joined(shared_data):
    text = parse((shared_data / "docs/good/multi-column-2p.pdf").read_bytes(), "p.pdf").text
    assert "relies on efficient passage retrieval" in text
    assert "Lucene-BM25" in text
    assert "\ufffe" not in text


# --- DOCX


def word_file():
    file = docx.Document()
    file.add_heading("Handbook", 0)
    file.add_heading("Install", 1)
    file.add_paragraph("Take the box.").add_run().add_break(WD_BREAK.PAGE)
    file.add_heading("Debian", 2)
    file.add_paragraph("Use apt.")
    file.add_paragraph("first", style="List Bullet")
    table = file.add_table(2, 2)
    for n, text in enumerate(("Name", "Price", "Pear\nConference", "2")):
        table.cell(n // 2, n % 2).text = text
    return file


def test_docx_headings_pages_and_tables():
    document = parse(saved(word_file()), "handbook.docx")
    assert document.title == "Handbook"
    assert "Name | Price\nPear Conference | 2" in document.text
    assert [(h.text, h.level) for h in document.headings][-2:] == [("Install", 1), ("Debian", 2)]
    assert [place.page for place in document.places] == [1, 2]
    last = split_document(document, ChunkSettings(12, 0, 0))[-1]
    assert (last["heading"], last["pages"]) == ("Install > Debian", [2])


def test_docx_without_recorded_pages_claims_none():
    file = docx.Document()
    file.add_paragraph("text")
    parts = zipfile.ZipFile(io.BytesIO(saved(file)))
    files = {name: parts.read(name) for name in parts.namelist()}
    files["docProps/app.xml"] = files["docProps/app.xml"].replace(
        b"<Pages>1</Pages>", b"<Pages>3</Pages>"
    )
    assert chunks_of(zipped(files), "a.docx")[0].get("pages") is None


def test_docx_a_break_that_is_recorded_twice_counts_once():
    file = docx.Document()
    run = file.add_paragraph("one").add_run()
    run.add_break(WD_BREAK.PAGE)
    second = file.add_paragraph().add_run()
    second._r.append(second._r.makeelement(f"{{{second._r.nsmap['w']}}}lastRenderedPageBreak"))
    second.add_text("two")
    document = parse(saved(file), "a.docx")
    assert [place.page for place in document.places] == [1, 2]


# --- spreadsheets and CSV


def test_xlsx_by_sheet_and_row():
    stream = io.BytesIO()
    with Workbook(stream) as book:
        first = book.add_worksheet("Prices")
        first.write_row(1, 0, ["Article", "Price"])
        for n in range(2, 60):
            first.write_row(n, 0, [f"article {n}", n + 0.5 if n % 2 else n])
        book.add_worksheet("Empty")
        book.add_worksheet("Towns").write_row(0, 0, ["Ulm\nDonau", True])
    chunks = chunks_of(stream.getvalue(), "p.xlsx", 100, 20, 10)
    assert chunks[0]["content"].startswith("Article | Price\narticle 2 | 2\narticle 3 | 3.5\n")
    assert chunks[0]["metadata"] == {"sheet": "Prices", "rows": [2, chunks[0]["end_line"] + 1]}
    assert (chunks[1]["heading"], chunks[0]["heading"]) == ("Prices > Article | Price", "Prices")
    assert chunks[-1]["content"] == "Ulm Donau | TRUE"
    assert chunks[-1]["metadata"] == {"sheet": "Towns", "rows": [1, 1]}
    for chunk in chunks[:-1]:
        first_row, last_row = chunk["metadata"]["rows"]
        assert chunk["content"].count("\n") == last_row - first_row
        assert chunk["content"].split(" | ")[0] in ("Article", f"article {first_row - 1}")


def test_a_short_csv_lowers_no_limit_for_others():
    before = csv.field_size_limit()
    parse(b"a,b\n1,2\n", "x.csv")
    assert csv.field_size_limit() == before


def test_csv_rows_count_from_the_header_and_quoted_cells_may_span_lines():
    rows = ["name;note"] + [f'person {n};"line one\nline two {n}"' for n in range(2, 80)]
    chunks = chunks_of("\n".join(rows).encode(), "p.csv", 100, 20, 10)
    assert chunks[0]["content"].startswith("name | note\nperson 2 | line one line two 2\n")
    assert chunks[-1]["metadata"]["rows"][1] == 79
    assert chunks[-1]["heading"] == "name | note"
    assert all(chunk["content"].startswith(("person", "name")) for chunk in chunks)


@pytest.mark.parametrize(
    ("source", "first"),
    [
        ("a,b\n1,2", "a | b\n1 | 2"),
        ("a\tb\tc,d\n1\t2\t3,4", "a | b | c,d\n1 | 2 | 3,4"),
        ("sep=|\na|b\n1|2", "a | b\n1 | 2"),
        ("one column\nonly, it seems\nyes", "one column\nonly, it seems\nyes"),
        ('"unclosed\na,b', '"unclosed\na | b'),
        ("", ""),
    ],
)
def test_csv_delimiters(source, first):
    assert parse(source.encode(), "x.csv").text == first


# --- code


PYTHON = "class Shop:\n" + "\n".join(
    f"    def method_{n}(self):\n        value = call_{n}(self.{n}, 'text')\n        return value\n"
    for n in range(60)
)


def test_code_is_not_broken_within_lines():
    chunks = chunks_of(PYTHON.encode(), "shop.py")
    lines = set(PYTHON.splitlines())
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk["kind"] == "code"
        assert set(chunk["content"].splitlines()) <= lines
        assert chunk["token_count"] <= 400
        first = chunk["content"].splitlines()[0]
        assert PYTHON.splitlines()[chunk["start_line"] - 1] == first
    assert chunks[0]["heading"] == "Shop"
    assert chunks[1]["heading"].startswith("Shop > method_")
    assert all(chunk["content"].splitlines()[0].startswith("    def ") for chunk in chunks[1:])


@given(st.text(alphabet="ab \n\t", max_size=400), st.integers(5, 40))
@settings(max_examples=60)
def test_any_code_keeps_its_words_once_and_in_order(source, size):
    chunks = chunks_of(source.encode(), "x.py", size, size // 4, 2)
    own = "".join(chunk["content"][chunk["own_start"] :] for chunk in chunks)
    assert "".join(own.split()) == "".join(source.split())
    for chunk in chunks:
        assert source[chunk["start_offset"] : chunk["end_offset"]] == chunk["content"]
        assert chunk["start_line"] == source.count("\n", 0, chunk["start_offset"]) + 1


# --- slides, books, other markup


def test_pptx_slides_are_pages():
    show = Presentation()
    for n in (1, 2):
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = f"Title {n}"
        slide.placeholders[1].text = f"Body {n}"
        slide.notes_slide.notes_text_frame.text = f"Say {n}"
    document = parse(saved(show), "s.pptx")
    assert document.text == "Title 1\n\nBody 1\n\nSay 1\n\nTitle 2\n\nBody 2\n\nSay 2"
    assert [heading.text for heading in document.headings] == ["Title 1", "Title 2"]
    assert split_document(document, ChunkSettings())[0]["pages"] == [1, 2]


def test_real_books_and_slides(shared_data):
    good = shared_data / "docs" / "good"
    book = parse((good / "mid_test.epub").read_bytes(), "b.epub")
    assert (book.title, book.headings[0].text) == (
        "Test EPUB Document",
        "Chapter 1: Test Content",
    )
    assert parse((good / "fake.odt").read_bytes(), "f.odt").text.startswith("Lorem ipsum")


def test_xml_and_rtf():
    document = parse(b"<feed><title>News</title><p>One <b>two</b> three</p></feed>", "f.xml")
    assert (document.title, document.text) == ("News", "News\nOne two three")
    sentence = (
        b"<p>un<hi>believ</hi>able,\n  <fn>so</fn>he<x>said</x> <list><p>a</p><p>b</p></list></p>"
    )
    assert parse(sentence, "s.xml").text == "unbelievable, so he said\na\nb"
    assert parse(rb"{\rtf1\ansi Gr\'fc\'dfe\par zwei}", "f.rtf").text == "Grüße\nzwei"
    with pytest.raises(ParseError, match="no RTF"):
        parse(b"plain", "f.rtf")


def test_notebook_cells():
    source = (
        '{"cells": [{"cell_type": "markdown", "source": ["# Title\\n", "Text"]}, '
        '{"cell_type": "code", "source": "x = 1"}, {"source": null}, 7]}'
    )
    document = parse(source.encode(), "n.ipynb")
    assert (document.title, document.text) == ("Title", "# Title\nText\n\n```\nx = 1\n```")
    with pytest.raises(ParseError, match="no notebook"):
        parse(b"{}", "n.ipynb")


# --- mail


def mail(**headers):
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return message


def test_mail():
    message = mail(
        Subject="Grüße",
        From="Ann Lee <ann@example.org>",
        To="bob@example.org",
        Date="Fri, 16 Dec 2022 17:04:16 -0500",
        Message_ID="<1@x>",
    )
    message.set_content("Hello Bob.")
    message.add_alternative("<p>Hello <b>Bob</b>.", subtype="html")
    message.add_attachment(b"x", maintype="a", subtype="b", filename="plan.pdf")
    document = parse(message.as_bytes(), "m.eml")
    assert document.title == "Grüße"
    assert document.metadata == {
        "type": "EMAIL",
        "from": "Ann Lee <ann@example.org>",
        "to": "bob@example.org",
        "date": "2022-12-16T22:04:16+00:00",
        "messageId": "<1@x>",
        "attachments": ["plan.pdf"],
    }
    (chunk,) = split_document(document, ChunkSettings())
    assert chunk["content"] == "Ann Lee (2022-12-16 22:04): Grüße\n\nHello Bob."
    assert chunk["metadata"] == {
        "mailAddresses": ["ann@example.org", "bob@example.org"],
        "authors": ["Ann Lee"],
        "date": "2022-12-16T22:04:16+00:00",
        "messages": [{"id": "<1@x>", "author": "Ann Lee", "time": "2022-12-16T22:04:16+00:00"}],
    }


def test_mail_with_html_alone_and_odd_headers():
    data = b"From: =?x-unknown?Q?a=80?= <a@b.c>\nDate: yesterday\nSubject: =?utf-8?b?4piD?=\n"
    data += b"Content-Type: text/html; charset=no-such\n\n<p>Hi <i>there</i>"
    document = parse(data, "m.eml")
    assert (document.title, document.text) == ("☃", "Hi there")
    assert "date" not in document.metadata


@pytest.mark.parametrize("data", [b"", b"\n\nbody only", b"no header here"])
def test_no_mail(data):
    with pytest.raises(ParseError, match="no mail"):
        parse(data, "m.eml")


# --- archives and XML that mean harm


def test_zip_bomb_is_refused_unread():
    bomb = zipped({"word/document.xml": bytes(300 << 20)})
    assert len(bomb) < 1 << 20
    with pytest.raises(ParseError, match=r"a ZIP bomb: [\d,]+ bytes that unpack to 300 MB"):
        parse(bomb, "bomb.docx")
    for name in ("bomb.xlsx", "bomb.pptx", "bomb.epub", "bomb.odt"):
        with pytest.raises(ParseError, match="a ZIP bomb"):
            parse(bomb, name)


def test_zip_that_lies_about_its_size_gives_no_more_than_it_says():
    data = bytearray(zipped({"a": b"x" * 100_000}))
    place = data.rindex(b"PK\x01\x02") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    with pytest.raises(ParseError), open_archive(bytes(data)) as archive:
        read_member(archive, "a")


@pytest.mark.slow
def test_too_many_files_in_a_zip():
    files = {str(n): b"" for n in range(50_001)}
    with pytest.raises(ParseError, match="50,001 files"):
        parse(zipped(files), "x.docx")


def test_billion_laughs():
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)
    )
    bomb = f"<!DOCTYPE lolz [{entities}]><lolz>&a9;</lolz>".encode()
    with pytest.raises(ParseError, match=r"declares entities|amplification"):
        parse(bomb, "x.xml")
    with pytest.raises(ParseError, match="declares entities"):
        parse_xml(b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>')


def test_deep_xml_is_refused():
    with pytest.raises(ParseError, match="not valid XML"):
        parse(b"<a>" * 100_000 + b"</a>" * 100_000, "x.xml")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.epub", "a.odt", "a.xlsx"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", zipped({"x": b"y"})])
def test_what_is_no_such_archive(name, data):
    with pytest.raises(ParseError):
        parse(data, name)


@pytest.mark.parametrize("name", ["password_protected.xlsx", "testWORD_protected_passtika.docx"])
def test_encrypted_office_files(shared_data, name):
    data = (shared_data / "docs" / "hostile" / name).read_bytes()
    with pytest.raises(ParseError, match="encrypted with a password"):
        parse(data, name)


def test_an_archive_has_as_many_files_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office_file, "_MAX_MEMBERS", 3)
    for count in (3, 4):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for number in range(count):
                archive.writestr(f"{number}.txt", "x")
        refusal = nullcontext() if count == 3 else pytest.raises(ParseError, match="of 4 files")
        with refusal, open_archive(stream.getvalue()) as opened:
            assert len(opened.namelist()) == count
