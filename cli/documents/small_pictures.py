"""Pictures: opened within limits, and made small enough for what reads them."""

import io
from collections.abc import Callable
from datetime import datetime

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from pgblend.cli.documents.dates import moment_of
from pgblend.cli.documents.document import Document, ParseError, Picture, Place

# A page of A3 at 600 dots an inch has 70 million.
MAX_PIXELS = 100_000_000
MAX_PAGES = 500
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_JPEG_QUALITY = 85
# Bullets, rules and icons within documents are not worth a model's time.
_LEAST_SIDE = 50
_LEAST_PIXELS = 20_000
_WHITE = (255, 255, 255)
# What Pillow raises for broken files, beside its own errors, which are of the kind of OSError.
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError)

# Our own limit, before anything is decoded, says more than Pillow's.
Image.MAX_IMAGE_PIXELS = None


def parse_picture(data: bytes) -> Document:
    """Return a document without text whose pictures are the pages of a picture file.

    Of an animation it is the first frame. ParseError for what is no picture, is broken, or has
    more than MAX_PIXELS.
    """
    with _open(data) as image:
        count = getattr(image, "n_frames", 1) if image.format == "TIFF" else 1
        width, height = image.size
        taken = _when_taken(image)
    pages = range(min(count, MAX_PAGES))
    warnings = (f"pages beyond the first {MAX_PAGES} of {count}",) if count > MAX_PAGES else ()
    return Document(
        metadata={"width": width, "height": height}
        | ({"pages": count} if count > 1 else {})
        | ({"created": taken.isoformat()} if taken else {}),
        places=tuple(Place(0, page=page + 1) for page in pages if count > 1),
        pictures=tuple(
            Picture(0, _loader(lambda: data, page), page + 1 if count > 1 else None)
            for page in pages
        ),
        warnings=warnings,
    )


def _when_taken(image: Image.Image) -> datetime | None:
    """Return when EXIF says that a picture was taken, or else written."""
    try:
        exif = image.getexif()
        taken = exif.get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.DateTimeOriginal)
        return moment_of(taken) or moment_of(exif.get(ExifTags.Base.DateTime))
    except _BROKEN:
        return None


def embedded_picture(
    data: bytes, offset: int, page: int | None, read: Callable[[], bytes] | None = None
) -> list[Picture]:
    """Return the picture within a document; none where it is broken, too large or too small.

    Where `read` gives the same bytes once more, they are not kept until then.
    """
    try:
        with _open(data) as image:
            width, height = image.size
    except ParseError:
        return []
    if min(width, height) < _LEAST_SIDE or width * height < _LEAST_PIXELS:
        return []
    return [Picture(offset, _loader(read or (lambda: data), 0), page, is_page=False)]


def encode(image: Image.Image, side: int) -> bytes:
    """Write a picture as JPEG, upright, on white, with no side longer than `side` pixels."""
    image.draft("RGB", (side, side))  # a JPEG is decoded small at once
    image.load()
    turned = ImageOps.exif_transpose(image)
    turned.thumbnail((side, side))
    if turned.mode in ("RGBA", "LA", "PA", "P"):
        layer = turned.convert("RGBA")
        turned = Image.new("RGB", layer.size, _WHITE)
        turned.paste(layer, mask=layer)
    buffer = io.BytesIO()
    turned.convert("RGB").save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return buffer.getvalue()


def _loader(read: Callable[[], bytes], page: int) -> Callable[[int], bytes]:
    def load(side: int) -> bytes:
        with _open(read()) as image:
            try:
                image.seek(page)
                _check_size(image)
                return encode(image, side)
            except _BROKEN as error:
                raise ParseError(f"the picture is broken: {_one_line(error)}") from None

    return load


def _open(data: bytes) -> Image.Image:
    try:
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
    except UnidentifiedImageError:
        raise ParseError("it is no picture, or broken from its beginning") from None
    except _BROKEN as error:
        raise ParseError(f"the picture is broken: {_one_line(error)}") from None
    _check_size(image)
    return image


def _check_size(image: Image.Image) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ParseError(
            f"a picture of {width:,} x {height:,} pixels: at most {MAX_PIXELS:,} are read"
        )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
