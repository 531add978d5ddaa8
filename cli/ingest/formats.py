"""Which parser reads which file."""

import json
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from pgblend.cli.ingest.decode import decode, is_binary
from pgblend.cli.ingest.document import (
    Document,
    Heading,
    UnsupportedFormatError,
    storable_text,
)
from pgblend.cli.ingest.parse_html import parse_html
from pgblend.cli.ingest.parse_markdown import parse_markdown
from pgblend.cli.ingest.records import load_json, plain_value

# Raise it when a parser gives other text for the same bytes: every file is then read again.
PARSER_VERSION = 1

MARKDOWN, HTML, JSON, JSONL, TEXT = (
    "text/markdown",
    "text/html",
    "application/json",
    "application/jsonl",
    "text/plain",
)
_MEDIA_TYPES = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd"), MARKDOWN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), HTML),
    ".json": JSON,
    **dict.fromkeys((".jsonl", ".ndjson"), JSONL),
}
# Formats whose bytes, even where they are text, are not what a reader sees.
_UNSUPPORTED_SUFFIXES = (
    ".pdf .doc .docx .odt .rtf .ppt .pptx .odp .xls .xlsx .ods .epub .eml .msg .mbox .ipynb .xml "
    ".svg .png .jpg .jpeg .gif .webp .bmp .tif .tiff .ico .mp3 .mp4 .wav .avi .mov .zip .gz .tgz "
    ".bz2 .xz .zst .7z .rar .tar .z .lzma .sqlite .db .parquet .npz .npy .pyc .so .exe .dll "
    ".woff .woff2 .ttf"
)
_UNSUPPORTED = frozenset(_UNSUPPORTED_SUFFIXES.split())
SNIFFED_BYTES = 8192

# What a parser makes of decoded text: text, title, metadata, headings.
Parsed = tuple[str, str, dict[str, Any], tuple[Heading, ...]]


def media_type_of(path: PurePath, head: bytes) -> str:
    """Choose the format by the file's name; what has no known name must look like text."""
    suffix = path.suffix.lower()
    if suffix in _UNSUPPORTED:
        raise UnsupportedFormatError(f"unsupported format {suffix}")
    if suffix in _MEDIA_TYPES:
        return _MEDIA_TYPES[suffix]
    if is_binary(head[:SNIFFED_BYTES]):
        raise UnsupportedFormatError("unsupported format: binary data")
    return TEXT


def parse_file(data: bytes, media_type: str, source_key: str, uri: str) -> Document:
    """Parse a whole file; ParseError says in one line why it cannot be read."""
    source = decode(data, html=media_type == HTML)
    text, title, metadata, headings = _PARSERS[media_type](source)
    return Document(
        source_key=source_key,
        title=storable_text(title) or PurePath(source_key).name,
        text=storable_text(text),
        uri=uri,
        media_type=media_type,
        metadata=metadata,
        headings=headings,
    )


def _parse_html(source: str) -> Parsed:
    text, title, headings = parse_html(source)
    return text, title, {}, headings


def _parse_json(source: str) -> Parsed:
    """Write JSON out anew, one value a line, so that escapes become the characters they mean."""
    value = load_json(source)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, indent=2), "", {}, ()
    return plain_value(value), "", {}, ()


def _parse_text(source: str) -> Parsed:
    return source, "", {}, ()


_PARSERS: dict[str, Callable[[str], Parsed]] = {
    MARKDOWN: parse_markdown,
    HTML: _parse_html,
    JSON: _parse_json,
    TEXT: _parse_text,
}
