"""Which parser reads which file."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePath

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.documents.decode import decode, is_binary
from pgblend.cli.documents.document import (
    EMAIL,
    OUTLOOK,
    ZIP,
    Document,
    Link,
    ParseError,
    UnsupportedFormatError,
    storable_text,
)
from pgblend.cli.documents.find_links import find_links
from pgblend.cli.documents.html_pictures import PictureFiles, add_pictures, files_in, no_file
from pgblend.cli.documents.json_records import load_json, plain_value
from pgblend.cli.documents.media_types import (
    CSV,
    DOCX,
    DRAWIO,
    HTML,
    IMAGE,
    JSON,
    JSONL,
    MAP_START,
    MARKDOWN,
    MHT,
    PAGE_START,
    PDF,
    PPTX,
    RTF,
    SNIFFED_BYTES,
    TEXT,
    XLSX,
    XML,
    XML_START,
    disguised,
    is_mail,
    of_xml,
)
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.text_builder import TextBuilder

# A format whose parser gives other text or context for the same bytes gets the next version. Its
# files are then read once more, and the report says so.
FIRST_VERSION = 6

# Exports of messages: a file gives many documents.
SLACK, LINEAR, MBOX = "application/x-slack-export", "application/x-linear", "application/mbox"
_EXPORT_VERSIONS = {LINEAR: 7, MBOX: 16, SLACK: 7}
EXPORT_TYPES = {SLACK: "SLACK", LINEAR: "LINEAR", MBOX: "EMAIL"}
PREFIXES = {SLACK: "slack", LINEAR: "linear", MBOX: "mail"}
_MBOX_START = b"From "
_CODE = "text/x-source"

Parser = Callable[[bytes], Document]


@dataclass(frozen=True)
class Format:
    """A format: its media type, the `type` in the metadata, its suffixes, and what parses it.

    `links` finds those in the text, where the parser has not; the bytes are gone by then. `extra`
    names what brings the parser's library, where a plain install lacks it. `version` is that of
    the parser; `before` is the media type that its files had before it was known.
    """

    media_type: str
    kind: str
    suffixes: str
    parser: Parser
    links: Callable[[str], tuple[Link, ...]] | None = None
    extra: str | None = None
    version: int = FIRST_VERSION
    before: str = ""


@dataclass(frozen=True)
class Reader:
    """What reads a kind of file: its versions, the newest first, each with its media type."""

    kind: str
    versions: tuple[tuple[int, str], ...]


def _lazy(module: str, name: str) -> Parser:
    """Return a parser whose module, and the library behind it, is imported when it is needed."""

    def parse(data: bytes) -> Document:
        parser: Parser = getattr(import_module(f"pgblend.cli.documents.{module}"), name)
        return parser(data)

    return parse


def _parse_markdown(data: bytes) -> Document:
    from pgblend.cli.documents.parse_markdown import parse_markdown  # its libraries take their time

    return parse_markdown(decode(data))


def _parse_mdx(data: bytes) -> Document:
    from pgblend.cli.documents.parse_markdown import parse_mdx

    return parse_mdx(decode(data))


def _parse_html(data: bytes, folder: Path | None = None) -> Document:
    """Parse a page; its pictures are those within it, and those in the folder."""
    page = parse_page(decode(data, html=True))
    builder = TextBuilder()
    add_pictures(builder, page, PictureFiles(files_in(folder) if folder else no_file, lasting=True))
    return Document(
        title=page.title,
        text=page.text,
        metadata=dict(page.dates),
        headings=page.headings,
        tables=page.tables,
        links=page.links,
        pictures=tuple(builder.pictures),
    )


def _parse_json(data: bytes) -> Document:
    """Write JSON out anew, one value a line, so that escapes become the characters they mean."""
    value = load_json(decode(data))
    if isinstance(value, dict | list):
        return Document(text=json.dumps(value, ensure_ascii=False, indent=2))
    return Document(text=plain_value(value))


def _parse_code(data: bytes, suffix: str = "") -> Document:
    from pgblend.cli.documents.parse_code import parse_code

    return parse_code(data, suffix)


def _parse_text(data: bytes) -> Document:
    from pgblend.cli.documents.front_matter import split_front_matter, told_metadata

    metadata, text, left_out = split_front_matter(decode(data), is_plain=True)
    title, metadata = told_metadata(metadata, text)
    return Document(title=title, text=text, metadata=metadata, left_out=left_out)


def _parse_lines(data: bytes) -> Document:
    return Document(text=decode(data))


_FORMATS = (
    Format(TEXT, "TEXT", ".txt .text .log", _parse_text, find_links, version=9),
    Format(
        MARKDOWN,
        "MARKDOWN",
        ".md .markdown .mdown .mkd .mkdn .rmd .qmd",
        _parse_markdown,
        version=14,
        before=TEXT,
    ),
    Format("text/mdx", "MARKDOWN", ".mdx", _parse_mdx, version=14, before=TEXT),
    Format(
        "text/vtt",
        "SUBTITLES",
        ".srt .vtt .ass .ssa .sbv .sub .lrc .smi .ttml .dfxp",
        _lazy("parse_subtitles", "parse_subtitles"),
        version=9,
        before=TEXT,
    ),
    Format(HTML, "HTML", ".html .htm .xhtml", _parse_html, version=16),
    Format(
        "text/x-tex",
        "LATEX",
        ".tex .latex .ltx",
        _lazy("parse_latex", "parse_latex"),
        version=12,
        before=TEXT,
    ),
    Format(
        "text/x-bibtex",
        "BIBTEX",
        ".bib",
        _lazy("parse_latex", "parse_bibtex"),
        version=FIRST_VERSION + 1,
        before=TEXT,
    ),
    Format(
        "text/asciidoc",
        "ASCIIDOC",
        ".adoc .asciidoc",
        _lazy("light_markup", "parse_asciidoc"),
        version=10,
        before=TEXT,
    ),
    Format(
        "text/x-rst", "RST", ".rst", _lazy("light_markup", "parse_rst"), version=10, before=TEXT
    ),
    Format(
        "text/x-org", "ORG", ".org", _lazy("light_markup", "parse_org"), version=10, before=TEXT
    ),
    Format(JSON, "JSON", ".json", _parse_json, version=7),
    Format(JSONL, "JSON", ".jsonl .ndjson", _parse_lines),
    Format(
        PDF,
        "PDF",
        ".pdf",
        _lazy("parse_pdf", "parse_pdf"),
        extra="documents",
        version=14,
    ),
    Format(
        DOCX,
        "DOCX",
        ".docx .docm .dotx .dotm",
        _lazy("parse_docx", "parse_docx"),
        extra="documents",
        version=13,
    ),
    Format(
        PPTX,
        "PPTX",
        ".pptx .pptm .potx .potm .ppsx .ppsm",
        _lazy("parse_slides", "parse_slides"),
        extra="documents",
        version=12,
    ),
    Format(
        XLSX,
        "XLSX",
        ".xlsx .xlsm .xltx .xltm .xlam .xlsb .xls .xlt .ods .ots",
        _lazy("parse_spreadsheet", "parse_spreadsheet"),
        extra="documents",
        version=15,
    ),
    Format(CSV, "CSV", ".csv .tsv", _lazy("parse_csv", "parse_csv"), version=11),
    Format(
        EMAIL,
        "EMAIL",
        ".eml .emlx",
        _lazy("parse_mail", "parse_mail"),
        version=15,
        before=TEXT,
    ),
    Format(OUTLOOK, "EMAIL", ".msg", _lazy("parse_outlook", "parse_outlook"), version=14),
    Format(
        "text/calendar",
        "CALENDAR",
        ".ics",
        _lazy("parse_calendar", "parse_calendar"),
        version=9,
        before=TEXT,
    ),
    Format(
        MHT,
        "HTML",
        ".mht .mhtml",
        _lazy("parse_mht", "parse_mht"),
        version=15,
        before=TEXT,
    ),
    Format("application/epub+zip", "EPUB", ".epub", _lazy("parse_epub", "parse_epub"), version=15),
    Format(
        "application/x-fictionbook+xml",
        "FICTIONBOOK",
        ".fb2",
        _lazy("parse_fictionbook", "parse_fictionbook"),
        version=FIRST_VERSION + 1,
        before=TEXT,
    ),
    Format(
        "application/enex+xml",
        "EVERNOTE",
        ".enex",
        _lazy("parse_evernote", "parse_evernote"),
        version=FIRST_VERSION + 1,
        before=TEXT,
    ),
    Format(
        "text/vcard", "CONTACTS", ".vcf", _lazy("parse_contacts", "parse_contacts"), before=TEXT
    ),
    Format(
        "application/vnd.oasis.opendocument.text",
        "ODT",
        ".odt .ott .fodt",
        _lazy("parse_opendocument", "parse_opendocument"),
        version=13,
    ),
    Format(
        "application/vnd.oasis.opendocument.presentation",
        "ODP",
        ".odp .otp .fodp",
        _lazy("parse_opendocument", "parse_opendocument"),
        version=12,
    ),
    Format(
        "application/vnd.oasis.opendocument.graphics",
        "ODG",
        ".odg .otg .fodg",
        _lazy("parse_opendocument", "parse_opendocument"),
        version=FIRST_VERSION + 1,
    ),
    Format(
        IMAGE,
        "IMAGE",
        ".png .jpg .jpeg .gif .webp .bmp .tif .tiff",
        _lazy("small_pictures", "parse_picture"),
        extra="documents",
        version=FIRST_VERSION + 1,
    ),
    Format(RTF, "RTF", ".rtf", _lazy("parse_markup", "parse_rtf"), version=10),
    Format(
        XML,
        "XML",
        ".xml .rss .atom .opml .xliff .xlf .plist .webloc",
        _lazy("parse_markup", "parse_xml_text"),
        version=10,
        before=TEXT,
    ),
    Format(DRAWIO, "DIAGRAM", ".drawio .dio", _lazy("parse_drawio", "parse_drawio"), before=TEXT),
    Format(
        "application/x-ipynb+json",
        "NOTEBOOK",
        ".ipynb",
        _lazy("parse_notebook", "parse_notebook"),
        version=11,
    ),
    Format(
        _CODE,
        "CODE",
        ".py .pyi .js .mjs .cjs .ts .mts .cts .tsx .jsx .vue .svelte .java .kt .kts .scala "
        ".groovy .c .h .cc .cpp .cxx .hpp .hh .cs .fs .go .rs .rb .php .swift .m .mm .sh .bash "
        ".zsh .fish .ps1 .bat .sql .r .jl .pl .pm .lua .hs .ml .clj .ex .exs .erl .dart .zig .nim "
        ".css .scss .less .toml .yaml .yml .ini .cfg .conf .proto .graphql .tf .cmake .gradle .mk "
        ".diff .patch",
        _parse_code,
        version=9,
    ),
)
_BY_SUFFIX = {suffix: format for format in _FORMATS for suffix in format.suffixes.split()}
_BY_MEDIA_TYPE = {format.media_type: format for format in _FORMATS}
# Formats whose bytes, even where they are text, are not what a reader sees.
_UNSUPPORTED_SUFFIXES = (
    ".doc .dot .ppt .pps .gdoc .gsheet .gslides .gdraw .gform .svg .ico .mp3 .mp4 .wav .avi "
    ".mov .gz .tgz .bz2 .xz .zst .7z .rar .tar .z .lzma .sqlite .db .parquet .npz .npy .pyc "
    ".so .exe .dll .woff .woff2 .ttf"
)
_UNSUPPORTED = frozenset(_UNSUPPORTED_SUFFIXES.split())
# What people do to have them read.
_MENDS = {
    suffix: mend
    for suffixes, mend in (
        (".doc .dot", "save it as .docx or PDF"),
        (".ppt .pps", "save it as .pptx or PDF"),
        (".gdoc .gsheet .gslides .gdraw .gform", "a link to Google: download the file itself"),
        (".pages", "export it as .docx or PDF"),
        (".numbers", "export it as .xlsx or PDF"),
        (".key", "export it as .pptx or PDF"),
        (".one .vsd .vsdx .pub .mpp .indd .xps .oxps .djvu .chm", "save it as PDF"),
        (".wpd .wps .hwp .sxw .lwp", "save it as .docx or PDF"),
        (".sxc", "save it as .xlsx"),
        (".sxi", "save it as .pptx or PDF"),
        (".mobi .azw .azw3 .prc", "convert it to .epub"),
        (".pst .ost .dbx", "save its mails as .msg, .eml or .mbox"),
        (".webarchive", "save the page as .html or .mht"),
        (".gz .tgz .bz2 .xz .zst .7z .rar .tar .z .lzma", "unpack it"),
        (".mp3 .mp4 .wav .avi .mov", "add what is said as a text or as subtitles"),
    )
    for suffix in suffixes.split()
}


def read_suffixes() -> set[str]:
    """Return the suffixes of the formats that are read; those of source code are many, and not."""
    return {suffix for suffix, each in _BY_SUFFIX.items() if each.media_type != _CODE}


def media_type_of(path: PurePath, head: bytes) -> str:
    """Choose the format by the file's name; what has no known name must look like text."""
    suffix, head = path.suffix.lower(), head[:SNIFFED_BYTES]
    if suffix == ".mbox" or (not suffix and head.startswith(_MBOX_START)):
        return MBOX
    if suffix == ".zip":
        return ZIP
    if found := disguised(suffix, head):
        return found
    if suffix in _UNSUPPORTED:
        raise UnsupportedFormatError(f"unsupported format {suffix}", _MENDS.get(suffix, ""))
    if suffix == ".mm" and MAP_START.match(head):
        return XML
    if suffix in _BY_SUFFIX:
        named = _BY_SUFFIX[suffix].media_type
        return of_xml(head) if named == XML else named
    if is_binary(head):
        what = f" {suffix}" if suffix in _MENDS else ": binary data"
        raise UnsupportedFormatError(f"unsupported format{what}", _MENDS.get(suffix, ""))
    if PAGE_START.match(head):
        return HTML
    if XML_START.match(head):
        return of_xml(head)
    return EMAIL if is_mail(head) else TEXT


def reader_of(media_type: str) -> Reader:
    """Return what reads files of a media type, those of exports too."""
    known = _BY_MEDIA_TYPE.get(media_type)
    kind = known.kind if known else EXPORT_TYPES[media_type]
    newest = known.version if known else _EXPORT_VERSIONS.get(media_type, FIRST_VERSION)
    versions = [(version, media_type) for version in range(newest, FIRST_VERSION - 1, -1)]
    if known and known.before:
        latest = _BY_MEDIA_TYPE[known.before].version
        versions += [(version, known.before) for version in range(latest, FIRST_VERSION - 1, -1)]
    return Reader(kind, tuple(versions))


def parse_file(
    data: bytes, media_type: str, source_key: str, uri: str, folder: Path | None = None
) -> Document:
    """Parse a whole file; ParseError says in one line why it cannot be read.

    `folder` is where it lies: a page of HTML may show pictures of it.
    """
    file_format = _BY_MEDIA_TYPE[media_type]
    if not data and file_format.extra:
        raise ParseError("it is empty, of 0 bytes")
    if file_format.extra and missing(file_format.extra):
        raise ParseError(f"{file_format.kind} is read with {how_to_install(file_format.extra)}")
    if media_type == HTML:
        document = _parse_html(data, folder)
    elif media_type == _CODE:
        document = _parse_code(data, PurePath(source_key).suffix)
    else:
        document = file_format.parser(data)
    del data  # two texts of a large file are in memory, not three
    if file_format.links:
        document = replace(document, links=file_format.links(document.text))
    return replace(
        document,
        source_key=source_key,
        title=storable_text(document.title) or PurePath(source_key).name,
        text=storable_text(document.text),
        uri=uri,
        media_type=media_type,
        metadata={"type": file_format.kind} | document.metadata,
    )
