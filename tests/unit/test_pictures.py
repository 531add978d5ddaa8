"""Pictures: opened within limits, and their texts put where they belong."""

import io
import struct
import zlib
from dataclasses import replace

import docx
import numpy as np
import pytest
from PIL import Image
from pptx import Presentation

from pgblend.cli.ingest.document import Document, Heading, ParseError, Picture, Place
from pgblend.cli.ingest.parse_docx import parse_docx
from pgblend.cli.ingest.parse_slides import parse_slides
from pgblend.cli.ingest.picture import encode, parse_picture
from pgblend.cli.ingest.read_pictures import MAX_PICTURES, PictureReader, insert_texts


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
        (huge_png(50_000, 50_000), "50,000 x 50,000 pixels; at most 100,000,000"),
        (huge_png(2**31 - 1, 2**31 - 1), "pixels; at most"),
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
