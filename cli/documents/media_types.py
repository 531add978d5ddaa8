"""Media types, and which of them a file has by how it begins, whatever its name says."""

import re

from pgblend.cli.documents.decode import is_binary

MARKDOWN, HTML, JSON, JSONL, TEXT = (
    "text/markdown",
    "text/html",
    "application/json",
    "application/jsonl",
    "text/plain",
)
PDF, RTF, CSV, XML, MHT = (
    "application/pdf",
    "application/rtf",
    "text/csv",
    "application/xml",
    "multipart/related",
)
_OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX, PPTX, XLSX = (
    f"{_OFFICE}wordprocessingml.document",
    f"{_OFFICE}presentationml.presentation",
    f"{_OFFICE}spreadsheetml.sheet",
)
IMAGE = "image/*"
DRAWIO = "application/vnd.jgraph.mxfile"
SNIFFED_BYTES = 8192
PAGE_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.I)
# How mails begin in folders whose files' names say nothing, such as those of Maildir.
_MAIL_START = re.compile(
    rb"(Return-Path|Delivered-To|Received|X-[\w-]+|From|Date|Message-ID|MIME-Version):[ \t]", re.I
)
_MAIL_HEADERS = tuple(
    re.compile(rb"^" + name + rb":[ \t]", re.I | re.M)
    for name in (b"From", b"Date", b"(To|Subject)")
)
# Programs give such names to pages, texts and files of newer programs that they export.
_OFFICE_NAMES = ".doc .dot .docx .ppt .pps .pptx .xls .xlt .xlsx .rtf .pdf .odt .ods .odp"
_OFFICE_SUFFIXES = frozenset(_OFFICE_NAMES.split())
_NEWER = {".doc": DOCX, ".dot": DOCX, ".ppt": PPTX, ".pps": PPTX}
# A page under another name is what a server sent in place of the file: an error, a login.
_WITH_PAGES = frozenset((".doc", ".dot", ".ppt", ".pps", ".xls", ".xlt", ".rtf"))
_SHEETS = frozenset((".xls", ".xlt", ".xlsx"))
_ARCHIVE_START = b"PK\x03\x04"
# FreeMind and Freeplane give their maps the suffix of Objective-C++.
MAP_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\b[^>]*>\s*)?<map\b")
XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b")
_XML_SHEETS = b"urn:schemas-microsoft-com:office:spreadsheet"
_XML_WORD = re.compile(rb"mso-application\s+progid=\"Word|<w:wordDocument\b")
_DRAWIO = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\b[^>]*>\s*)?<(?:mxfile|mxGraphModel)\b")
# A record on each line, as databases export them under this name too: no JSON has two values.
_RECORDS = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{[^\n]*\}[ \t\r]*\n\s*\{")
_HEADER = re.compile(rb"[\w-]+:")
_MHT_TYPE = re.compile(rb"^Content-Type:\s*multipart/related", re.I | re.M)


def of_xml(head: bytes) -> str:
    """Tell files of Office that are one XML, and diagrams, from others."""
    if _XML_WORD.search(head):
        return DOCX
    if _DRAWIO.match(head):
        return DRAWIO
    return XLSX if _XML_SHEETS in head and b"<Workbook" in head else XML


def disguised(suffix: str, head: bytes) -> str | None:
    """Return the format of a file that is something else than its name says; None of others."""
    if suffix == ".json":
        return JSONL if _RECORDS.match(head) else None
    if suffix not in _OFFICE_SUFFIXES:
        return None
    if head.startswith(b"%PDF-"):
        return PDF
    if head.startswith(b"{\\rtf"):
        return RTF
    if head.startswith(_ARCHIVE_START):
        return _NEWER.get(suffix)
    if PAGE_START.match(head):
        return HTML if suffix in _WITH_PAGES else None
    if _HEADER.match(head) and _MHT_TYPE.search(_headers(head)):
        return MHT
    if not head or is_binary(head):
        return None
    if XML_START.match(head):
        return of_xml(head)
    return CSV if suffix in _SHEETS else None


def is_mail(head: bytes) -> bool:
    """Whether a text begins with the headers of a mail."""
    headers = _headers(head)
    return bool(_MAIL_START.match(head)) and all(each.search(headers) for each in _MAIL_HEADERS)


def _headers(head: bytes) -> bytes:
    return head.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
