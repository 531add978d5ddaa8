"""Pictures: opened within limits, and their texts put where they belong."""

import base64
import io
import shutil
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import docx
import numpy as np
import pytest
from PIL import Image
from pptx import Presentation
from xlsxwriter import Workbook

from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document, Heading, ParseError, Picture, Place
from pgblend.cli.documents.formats import parse_file
from pgblend.cli.documents.html_pictures import PictureFiles, add_pictures, digest_of_files
from pgblend.cli.documents.media_types import HTML
from pgblend.cli.documents.parse_docx import parse_docx
from pgblend.cli.documents.parse_epub import parse_epub
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.parse_opendocument import parse_opendocument
from pgblend.cli.documents.parse_settings import ChunkSettings
from pgblend.cli.documents.parse_slides import parse_slides
from pgblend.cli.documents.parse_spreadsheet import parse_spreadsheet
from pgblend.cli.documents.read_pictures import MAX_PICTURES, PictureReader, insert_texts
from pgblend.cli.documents.small_pictures import encode, parse_picture
from pgblend.cli.documents.text_builder import TextBuilder


def picture_file(kind: str, size: tuple[int, int] = (40, 30), **options: object) -> bytes:
    buffer = io.BytesIO()
    mode = "RGBA" if kind in ("PNG", "WEBP") else "RGB"
    Image.new(mode, size, (200, 10, 10)).save(buffer, kind, **options)
    return buffer.getvalue()


def huge_png(width: int, height: int) -> bytes:
    """A PNG of a few bytes that claims a size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_every_kind_is_opened_and_made_small(kind: str) -> None:
    document = parse_picture(picture_file(kind))
    assert (document.text, document.metadata) == ("", {"width": 40, "height": 30})
    (picture,) = document.pictures
    assert Image.open(io.BytesIO(picture.load(20))).size == (20, 15)
    assert Image.open(io.BytesIO(picture.load(1000))).format == "JPEG"


def test_transparency_becomes_white() -> None:
    image = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    shown = Image.open(io.BytesIO(encode(image, 100)))
    assert np.asarray(shown.convert("L")).min() > 250


def test_a_picture_is_turned_upright() -> None:
    buffer = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # taken with the camera on its side
    Image.new("RGB", (40, 20)).save(buffer, "JPEG", exif=exif)
    (picture,) = parse_picture(buffer.getvalue()).pictures
    assert Image.open(io.BytesIO(picture.load(100))).size == (20, 40)


def test_pages_of_a_tiff_and_frames_of_an_animation() -> None:
    frames = [Image.new("RGB", (10, 10), (shade, 0, 0)) for shade in (0, 100, 200)]
    buffer = io.BytesIO()
    frames[0].save(buffer, "TIFF", save_all=True, append_images=frames[1:])
    document = parse_picture(buffer.getvalue())
    assert [picture.page for picture in document.pictures] == [1, 2, 3]
    assert [place.page for place in document.places] == [1, 2, 3]
    assert document.metadata["pages"] == 3
    shades = [Image.open(io.BytesIO(p.load(10))).getpixel((5, 5)) for p in document.pictures]
    assert [round(shade[0] / 100) for shade in shades] == [0, 1, 2]
    buffer = io.BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    assert [picture.page for picture in parse_picture(buffer.getvalue()).pictures] == [None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is no picture"),
        (b"<html>not at all</html>", "it is no picture"),
        (picture_file("PNG")[:10], "it is no picture"),
        (huge_png(50_000, 50_000), "50,000 x 50,000 pixels: at most 100,000,000"),
        (huge_png(2**31 - 1, 2**31 - 1), "pixels: at most"),
        (huge_png(100, 100), "the picture is broken"),
        (picture_file("JPEG", (300, 300))[:-200], "the picture is broken"),
        (picture_file("BMP", (300, 300))[:900], "the picture is broken"),
        (picture_file("GIF", (300, 300))[:200], "the picture is broken"),
    ],
)
def test_what_is_no_picture_or_too_large(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_picture(data).pictures[0].load(100)


# --- the texts


def numbered(page: int | None, offset: int = 0) -> Picture:
    return Picture(offset, lambda side: b"picture %d" % (page or 0), page)


def reader(*answers: dict[str, str], how: str = "vision:openai/eye") -> PictureReader:
    left = list(answers)
    return PictureReader(how, lambda question: left.pop(0))


def test_texts_come_at_their_pages() -> None:
    # Page 2 has text; 1, 3 and 4 are scans.
    document = Document(
        text="second page",
        headings=(Heading(7, 1, "page"),),
        places=(Place(0, 1), Place(0, 2), Place(11, 3), Place(11, 4)),
        pictures=(numbered(1), numbered(3, 11), numbered(4, 11)),
        metadata={"pages": 4},
    )
    read = reader({"text": "one\r\n"}, {"text": "three"}, {"text": ""}).add_texts(document)
    assert read.text == "one\n\nsecond page\n\nthree"
    assert [read.text[heading.offset :][:4] for heading in read.headings] == ["page"]
    assert [(place.page, place.offset) for place in read.places] == [
        (1, 0), (2, 5), (3, 16), (4, 23)
    ]  # fmt: skip
    assert read.metadata == {"pages": 4, "picturesReadBy": "openai/eye"}
    assert read.warnings == ("pages without text (scanned?): 4 of 4",)
    assert read.pictures == ()


def test_breaks_move_on() -> None:
    document = Document(text="abcd", breaks=(2,), pictures=(numbered(None, 1),))
    assert insert_texts(document, [(document.pictures[0], "X")]).breaks == (7,)


def test_nothing_reads_them() -> None:
    document = Document(text="a", pictures=(numbered(2), numbered(5)))
    read = PictureReader("", lambda question: {}).add_texts(document)
    assert (read.text, read.warnings) == ("a", ("pages without text (scanned?): 2, 5",))


def test_a_picture_that_fails() -> None:
    alone = Document(pictures=(numbered(None),))
    with pytest.raises(ParseError, match="the model sleeps"):
        reader({"problem": "the model sleeps"}).add_texts(alone)
    among = Document(text="text", pictures=(numbered(2, 4), numbered(3, 4)))
    read = reader({"problem": "the model sleeps"}, {"text": "x"}).add_texts(among)
    assert (read.text, read.warnings) == ("text\n\nx", ("the model sleeps: 2",))


def test_a_book_of_scans_is_not_read_to_its_end() -> None:
    pages = tuple(numbered(page) for page in range(1, MAX_PICTURES + 8))
    read = reader(*[{"text": "x"}] * MAX_PICTURES).add_texts(Document(pictures=pages))
    assert read.warnings == ("pictures beyond the limit: 201, 202, 203, 204, 205 and 2 more",)


def test_no_pictures_no_questions() -> None:
    document = Document(text="text", warnings=("as it is",))
    assert reader().add_texts(document) == document
    assert replace(document, pictures=()) == document


def drawing(shade: int, size: tuple[int, int] = (200, 150)) -> io.BytesIO:
    buffer = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(buffer, "PNG")
    buffer.seek(0)
    return buffer


def test_pictures_in_a_docx_are_read_where_they_stand() -> None:
    file = docx.Document()
    file.add_paragraph("before")
    file.add_picture(drawing(10))
    file.add_paragraph("between")
    file.add_picture(drawing(10))  # once more: read once
    file.add_picture(drawing(20, (20, 20)))  # an icon
    table = file.add_table(1, 1)
    table.cell(0, 0).paragraphs[0].add_run("cell").add_picture(drawing(30))
    file.add_paragraph("after")
    buffer = io.BytesIO()
    file.save(buffer)
    document = parse_docx(buffer.getvalue())
    assert len(document.pictures) == 2
    read = reader({"text": "one"}, {"text": "two"}).add_texts(document)
    assert read.text == "before\n\none\n\nbetween\n\ncell\n\ntwo\n\nafter"
    # Where nothing reads pictures, the document is what it was, without a warning.
    assert PictureReader("", dict).add_texts(document).text == document.text
    failed = reader({"problem": "asleep"}, {"text": ""}).add_texts(document)
    assert (failed.text, failed.warnings) == (document.text, ("asleep: 1",))


def test_pictures_on_slides_are_read_on_their_slide() -> None:
    file = Presentation()
    for shade in (10, 20):
        slide = file.slides.add_slide(file.slide_layouts[6])
        slide.shapes.add_picture(drawing(shade), 0, 0)
    buffer = io.BytesIO()
    file.save(buffer)
    document = parse_slides(buffer.getvalue())
    read = reader({"text": "one"}, {"text": "two"}).add_texts(document)
    assert read.text == "one\n\ntwo"
    assert [(place.page, place.offset) for place in read.places] == [(1, 0), (2, 3)]


def test_pictures_of_a_page_of_html(tmp_path: Path) -> None:
    inline = base64.b64encode(drawing(10).getvalue()).decode()
    folder = tmp_path / "site"
    (folder / "page_files").mkdir(parents=True)
    (folder / "page_files" / "a b.png").write_bytes(drawing(20).getvalue())
    (tmp_path / "secret.png").write_bytes(drawing(30).getvalue())
    (folder / "outside.png").symlink_to(tmp_path / "secret.png")
    elsewhere = (
        "../secret.png", "outside.png", f"file://{tmp_path}/secret.png", f"{tmp_path}/secret.png",
        "//host/a.png", "https://host/a.png", "gone.png", "page_files", "data:image/png;base64,%%",
        "data:nothing", "http://[", "a%00b.png", "x" * 5000, "",
    )  # fmt: skip
    page = (
        f"<h1>Title</h1><p>before <img src='data:image/png;base64,{inline}'> still <a href=x>link"
        "</a></p><p>second <img src='page_files/a%20b.png?v=1#top'></p>"
        + "".join(f'<img src="{source}">' for source in elsewhere)
        + "<nav><img src='page_files/a%20b.png'></nav><h2>Last</h2>"
    )
    document = parse_file(page.encode(), HTML, "p.html", "file:///p.html", folder)
    assert len(document.pictures) == 2
    read = reader({"text": "one"}, {"text": "two"}).add_texts(document)
    assert read.text == "Title\n\nbefore still link\n\none\n\nsecond\n\ntwo\n\nLast"
    assert [read.text[heading.offset :] for heading in read.headings][1] == "Last"
    assert read.text[read.links[0].offset :].startswith("link")
    # Taken away before its turn comes.
    shutil.rmtree(folder / "page_files")
    gone = reader({"text": "one"}).add_texts(document)
    assert gone.warnings == ("the picture was taken away meanwhile: 1",)
    assert len(parse_file(page.encode(), HTML, "p.html", "").pictures) == 1


def test_a_page_depends_on_the_files_that_it_shows(tmp_path: Path) -> None:
    page = b'<IMG SRC="a.png"><img src="b.png">'
    assert digest_of_files(page, tmp_path) == digest_of_files(b"<p>none", tmp_path) == ""
    (tmp_path / "a.png").write_bytes(b"1")
    first = digest_of_files(page, tmp_path)
    (tmp_path / "a.png").write_bytes(b"2")
    assert len({"", first, digest_of_files(page, tmp_path)}) == 3


def archive(files: dict[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return buffer.getvalue()


def test_pictures_of_an_epub_are_read_in_their_chapter() -> None:
    book = archive({
        "META-INF/container.xml": '<c><rootfile full-path="B/o.opf"/></c>',
        "B/o.opf": '<p><item id="1" href="t/1.xhtml"/><item id="2" href="t/2.xhtml"/>'
        '<itemref idref="1"/><itemref idref="2"/></p>',
        "B/t/1.xhtml": "<p>one<img src='../i/a.png'/><img src='../i/gone.png'/></p><h1>End</h1>",
        "B/t/2.xhtml": "<img src='../i/b.png'/><img src='../../../../etc/passwd'/>",
        "B/i/a.png": drawing(10).getvalue(),
        "B/i/b.png": drawing(20).getvalue(),
    })  # fmt: skip
    document = parse_epub(book)
    read = reader({"text": "first"}, {"text": "second"}).add_texts(document)
    assert read.text == "one\n\nfirst\n\nEnd\n\nsecond"
    assert read.text[read.headings[0].offset :].startswith("End")


def test_chapters_without_a_title_and_drawings_among_them_are_read() -> None:
    book = archive({
        "META-INF/container.xml": '<c><rootfile full-path="o.opf"/></c>',
        "o.opf": '<p><item id="1" href="1.xhtml"/><itemref idref="1"/>'
        '<item id="2" href="2.svg" media-type="image/svg+xml"/><itemref idref="2"/></p>',
        "1.xhtml": '<html xmlns="x"><head><title/></head><body><p>The weir.</p></body></html>',
        "2.svg": '<svg xmlns="x"><title>The map</title><path d=""/><text>North</text></svg>',
    })  # fmt: skip
    assert parse_epub(book).text.split() == ["The", "weir.", "The", "map", "North"]


def test_pages_of_a_book_are_read_once_whatever_its_list_lacks() -> None:
    page = 'media-type="application/xhtml+xml"'
    container = '<c><rootfile full-path="o.opf"/></c>'
    pages = {"1.xhtml": "<p>one</p>", "2.xhtml": "<p>two</p>", "a.txt": "no page"}
    listed = f'<p><item id="1" href="1.xhtml" {page}/><itemref idref="1"/>'
    broken = parse_epub(archive({"META-INF/container.xml": container, "o.opf": listed, **pages}))
    assert broken.text == "one\n\ntwo"
    assert [each.part for each in broken.left_out] == ["o.opf"]
    stands_in = f'<item id="2" href="2.xhtml" {page}/><item id="1" href="1.xhtml" {page}/>'
    drawn = '<item id="3" href="a.xyz" media-type="a/b" fallback="2"/><itemref idref="3"/>'
    whole = {"META-INF/container.xml": container, "o.opf": f"<p>{stands_in}{drawn}</p>", **pages}
    assert parse_epub(archive(whole)).text == "two\n\none"


ODT_NAMES = (
    'xmlns:o="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:t="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:b="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:d="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:x="http://www.w3.org/1999/xlink"'
)


def odt(body: str, **files: bytes) -> bytes:
    return archive({
        "META-INF/manifest.xml": "<m/>",
        "content.xml": f"<c {ODT_NAMES}>{body}</c>",
        **{f"Pictures/{name}.png": data for name, data in files.items()},
    })  # fmt: skip


def test_pictures_in_an_odt_are_read_where_they_stand() -> None:
    document = parse_opendocument(
        odt(
            '<t:p>before <d:frame><d:image x:href="Pictures/a.png"/></d:frame>rest</t:p>'
            '<t:p><d:frame><d:image x:href="http://host/a.png"/></d:frame></t:p>'
            '<b:table-row><b:table-cell><t:p>cell<d:image x:href="Pictures/b.png"/></t:p>'
            "</b:table-cell></b:table-row><t:p>after</t:p>",
            a=drawing(10).getvalue(),
            b=drawing(20).getvalue(),
        )
    )
    read = reader({"text": "one"}, {"text": "two"}).add_texts(document)
    assert read.text == "before rest\n\none\ncell\n\ntwo\n\nafter"


def test_notes_and_frames_of_an_odt_are_read_once() -> None:
    document = parse_opendocument(
        odt(
            "<t:p>text<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>a note</t:p>"
            "</t:note-body></t:note> goes on</t:p><t:p><d:frame><d:text-box><t:p>in a frame</t:p>"
            "<t:p>twice</t:p></d:text-box></d:frame></t:p>"
        )
    )
    assert document.text == "text goes on\n\na note\n\nin a frame\n\ntwice"


def test_pictures_of_a_spreadsheet_come_after_the_rows_of_their_sheet() -> None:
    book = Workbook(buffer := io.BytesIO())
    first, charts, last = (book.add_worksheet(name) for name in ("First", "Charts", "Last"))
    for row in range(3):
        first.write_row(row, 0, ["a", str(row)])
    first.insert_image("D3", "b.png", {"image_data": drawing(20)})
    first.insert_image("D1", "a.png", {"image_data": drawing(10)})
    charts.insert_image("B7", "c.png", {"image_data": drawing(30)})
    last.write_row(0, 0, ["z"])
    book.close()
    document = parse_spreadsheet(buffer.getvalue())
    assert document.text == "a | 0\na | 1\na | 2\n\nCharts\n\nz"
    read = reader(*({"text": text} for text in ("one", "two", "three"))).add_texts(document)
    assert read.text == "a | 0\na | 1\na | 2\n\none\n\ntwo\n\nCharts\n\nthree\n\nz"
    chunks = split_document(read, ChunkSettings(400, 0, 0))
    assert [(chunk["content"], chunk["metadata"]) for chunk in chunks] == [
        ("a | 0\na | 1\na | 2\n\none\n\ntwo", {"sheet": "First", "rows": [1, 3]}),
        ("Charts\n\nthree", {"sheet": "Charts", "rows": [7, 7]}),
        ("z", {"sheet": "Last", "rows": [1, 1]}),
    ]


def test_a_picture_that_is_loaded_later_is_the_one_it_names():
    page = parse_page("<img src='blank.gif' data-src='a.png'><img data-src='' src='b.png'>")
    assert [source for _, source in page.images] == ["a.png", "b.png"]


def test_a_picture_that_is_shown_often_is_read_once() -> None:
    read = []

    def read_file(path: str) -> bytes:
        read.append(path)
        return drawing(10).getvalue()

    builder = TextBuilder()
    page = parse_page("<img src='a.png?1'><img src='a.png?2'><img src='b.png'>")
    for folder in ("x", "x", "y"):
        add_pictures(builder, page, PictureFiles(read_file, folder))
    assert read == ["a.png", "b.png", "a.png", "b.png"]
    assert len(builder.pictures) == 1
