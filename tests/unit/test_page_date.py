"""When a page, a PDF, an RTF, a picture or an office file was written, as they say it."""

import io
import zipfile
from typing import Any

import pytest
from PIL import ExifTags, Image

from pgblend.cli.documents.dates import own_date
from pgblend.cli.documents.formats import parse_file
from support.office_files import NAMESPACES, package, paragraph
from support.written_pdf import Print, written_pdf

LINKED = '<script type="application/ld+json">%s</script>'
GRAPH = LINKED % (
    '{"@graph": [{"@type": "Person"}, {"@type": "Article", "datePublished": "2024-03-05"}]}'
)
OF_LIST = LINKED % '[{"@type": "NewsArticle", "dateModified": "2024-03-05T09:00:00+01:00"}]'
ARTICLE = '<article><time datetime="2024-03-05">5 March</time> <time datetime="2021-01-01"></time>'


def day(content: bytes, media_type: str) -> str | None:
    moment = own_date(parse_file(content, media_type, "k", "file:///k"))
    return moment.date().isoformat() if moment else None


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('<meta property="article:published_time" content="2024-03-05T10:00:00+01:00">', ""),
        ('<meta itemprop="datePublished" content="2024-03-05">', ""),
        ('<meta name="DC.date.issued" content="2024-03-05">', ""),
        ('<meta name="dcterms.modified" content="2024-03-05T08:00:00Z">', ""),
        ('<meta name="citation_publication_date" content="2024/3/5">', ""),
        ('<meta http-equiv="last-modified" content="Tue, 05 Mar 2024 08:00:00 GMT">', ""),
        ('<meta name="date" content="soon"><meta name="lastmod" content="2024-03-05">', ""),
        ('<meta name="date" content="2024-03-05"><meta name="date" content="2025-01-01">', ""),
        (
            '<meta property="article:modified_time" content="2025-01-01">'
            '<meta property="article:published_time" content="2024-03-05">',
            "",
        ),
        (GRAPH, ""),
        (OF_LIST, ""),
        (LINKED % "{broken", '<time datetime="2024-03-05T07:00">today</time>'),
        ("", ARTICLE),
        ("", '<time datetime="2020-01-01"></time><time pubdate datetime="2024-03-05"></time>'),
    ],
)
def test_a_page_tells_its_date(head: str, body: str) -> None:
    page = f"<html><head>{head}</head><body><p>Text</p>{body}</body></html>"
    assert day(page.encode(), "text/html") == "2024-03-05"


@pytest.mark.parametrize(
    "body",
    [
        "",
        '<time datetime="2020-01-01">a</time><time datetime="2021-01-01">b</time>',
        '<time datetime="PT5M">five minutes</time>',
        '<meta name="date" content="yesterday">',
    ],
)
def test_a_page_without_a_date_of_its_own(body: str) -> None:
    assert day(f"<p>Text</p>{body}".encode(), "text/html") is None


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ("/CreationDate (D:20240305120000+01'00')", "2024-03-05"),
        ("/CreationDate (D:20230101) /ModDate (D:20240305120000Z)", "2024-03-05"),
        ("/CreationDate (nothing)", None),
    ],
)
def test_a_pdf_tells_its_date(info: str, expected: Any) -> None:
    pdf = written_pdf([[Print(72, 700, 12, "A report on valves")]], "Valves")
    pdf = pdf.replace(b"<< /Title (Valves)", f"<< {info} /Title (Valves)".encode())
    assert day(pdf, "application/pdf") == expected


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (r"{\revtim\yr2024\mo3\dy5\hr10\min7}", "2024-03-05"),
        (r"{\creatim\yr2023\mo1\dy1}{\revtim\yr2024\mo3\dy5}", "2024-03-05"),
        (r"{\creatim\yr2024\mo3\dy5\hr10}", "2024-03-05"),
        (r"{\revtim\yr0\mo0\dy0}", None),
    ],
)
def test_an_rtf_tells_its_date(info: str, expected: str | None) -> None:
    source = rf"{{\rtf1\ansi{{\info{info}}}A report on valves}}"
    assert day(source.encode(), "application/rtf") == expected


TIMES = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
    'core-properties" xmlns:dcterms="http://purl.org/dc/terms/">%s</cp:coreProperties>'
)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("<dcterms:created>2024-03-05T10:00:00Z</dcterms:created>", "2024-03-05"),
        (
            "<dcterms:created>2023-01-01T10:00:00Z</dcterms:created>"
            "<dcterms:modified>2024-03-05T10:00:00Z</dcterms:modified>",
            "2024-03-05",
        ),
        # The template of python-docx, whoever made a document with it.
        ("<dcterms:modified>2013-12-23T23:15:00Z</dcterms:modified>", None),
    ],
)
def test_an_office_file_tells_its_date(times: str, expected: str | None) -> None:
    main, about = "word/document.xml", "docProps/core.xml"
    text = f"<w:document {NAMESPACES}><w:body>{paragraph('A report')}</w:body></w:document>"
    relations = {"": {"m": f"officeDocument {main}", "c": f"core-properties {about}"}}
    made = package(main, {main: text, about: TIMES % times}, relations)
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert day(made, media_type) == expected


@pytest.mark.parametrize(
    "xmp",
    [
        "<xmp:ModifyDate>2024-03-05T10:00:00+01:00</xmp:ModifyDate>",
        '<rdf:Description xmp:CreateDate="2023-01-01" xmp:ModifyDate="2024-03-05T10:00:00Z"/>',
    ],
)
def test_a_pdf_without_other_properties_tells_its_date_by_xmp(xmp: str) -> None:
    pdf = written_pdf([[Print(72, 700, 12, "A report on valves")]], "Valves")
    assert day(pdf + f"\n% {xmp}\n".encode(), "application/pdf") == "2024-03-05"


def test_a_book_tells_its_date() -> None:
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    book = (
        '<package><meta property="dcterms:modified">2024-03-05T10:00:00Z</meta>'
        '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("b.opf", book)
        archive.writestr("a.xhtml", "<html><body><p>A report</p></body></html>")
    assert day(file.getvalue(), "application/epub+zip") == "2024-03-05"


@pytest.mark.parametrize("tag", ["DateTimeOriginal", "DateTime"])
def test_a_picture_tells_its_date(tag: str) -> None:
    picture, exif, file = Image.new("RGB", (60, 60)), Image.Exif(), io.BytesIO()
    at = ExifTags.Base[tag]
    (exif.get_ifd(ExifTags.IFD.Exif) if tag == "DateTimeOriginal" else exif)[at] = (
        "2024:03:05 10:00:00"
    )
    picture.save(file, "JPEG", exif=exif)
    assert day(file.getvalue(), "image/*") == "2024-03-05"
