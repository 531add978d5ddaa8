"""From bytes to text: byte order mark, UTF-8, what the file declares, then a guess."""

import codecs
import re
import warnings

from pgblend.cli.ingest.document import ParseError
from pgblend.cli.ingest.encoding import guess_encoding

# UTF-32 before UTF-16: the mark of the one begins with the mark of the other.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HTML_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_BYTES = 4096
_UTF16_BYTES = 4096


class DoubtfulEncoding(UserWarning):
    """A text's encoding was guessed, and another one is as likely."""


def decode(data: bytes, *, html: bool = False) -> str:
    """Decode a text file with line ends as \\n; refuse binary data and unknown encodings.

    A guess that is not sure is a warning, DoubtfulEncoding.
    """
    text = _decode(data, html)
    position = text.find("\x00")
    if position >= 0:
        raise ParseError(
            f"NUL at character {position}: the file is not text, or its encoding was not "
            "recognised; save it as UTF-8"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_binary(data: bytes) -> bool:
    """Guess from the first bytes whether a file is something else than text."""
    if _unicode_encoding(data):
        return False
    control = sum(byte < 32 and byte not in b"\t\n\f\r\x1b" for byte in data)
    return control > 0 and (b"\x00" in data or control > len(data) // 100)


def _decode(data: bytes, html: bool) -> str:
    encoding = _unicode_encoding(data)
    if encoding:
        return _decode_as(data, encoding)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    declared = _declared_encoding(data) if html else None
    if declared:
        return data.decode(declared, errors="replace")
    guess = guess_encoding(data)
    if guess is None:
        raise ParseError("its encoding was not recognised; save it as UTF-8")
    if not guess.sure:
        message = f"its encoding is a guess, {guess.encoding}: save it as UTF-8 if words are wrong"
        warnings.warn(message, DoubtfulEncoding, stacklevel=2)
    return data.decode(guess.encoding, errors="replace")


def _unicode_encoding(data: bytes) -> str | None:
    """Tell the encoding by the byte order mark, or UTF-16 by NUL in every second byte."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    even, odd = data[:_UTF16_BYTES:2], data[1:_UTF16_BYTES:2]
    for nul, other, encoding in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if nul.count(0) > len(nul) // 2 and other.count(0) <= len(other) // 50:
            return encoding
    return None


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ParseError(
            f"it begins as {encoding}, but is broken at byte {error.start}; save it as UTF-8"
        ) from None


def _declared_encoding(data: bytes) -> str | None:
    """Read the encoding out of a page's <meta>; None where there is none that Python knows."""
    match = _HTML_CHARSET.search(data[:_META_BYTES])
    if not match:
        return None
    try:
        codec = codecs.lookup(match.group(1).decode("ascii", errors="ignore"))
    except LookupError:
        return None
    return codec.name if codec._is_text_encoding else None
