"""Files of Office that are one XML: packages written flat, and Word of 2003, as archives."""

import base64
import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree

from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.office_file import local_name, parse_xml

_WORD_2003 = "http://schemas.microsoft.com/office/word/2003/wordml"
_W = f"{{{_WORD_2003}}}"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
# How such a file of Word begins: the names that it has, or what Office opens it with.
ONE_XML = re.compile(rb"<\?mso-application\s+progid=\"Word|<pkg:package\b|<w:wordDocument\b")
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="styles" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships/styles" Target="styles.xml"/></Relationships>'
)


def as_archive(data: bytes) -> bytes:
    """Return the package that one XML holds; ParseError where it holds none."""
    root = parse_xml(data)
    parts = _parts_of_word(root) if local_name(root) == "wordDocument" else _parts(root)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as package:
        for name, content in parts:
            package.writestr(name, content)
        if not package.namelist():
            raise ParseError("no file of Office: its XML holds no parts")
    return archive.getvalue()


def _parts(root: Any) -> Iterator[tuple[str, bytes]]:
    for part in root.iter("{*}part"):
        name = next((value for key, value in part.items() if key.endswith("}name")), "")
        for content in part:
            if local_name(content) == "binaryData":
                yield name.lstrip("/"), base64.b64decode(content.text or "")
            elif len(content):
                yield name.lstrip("/"), etree.tostring(content[0])


def _parts_of_word(root: Any) -> Iterator[tuple[str, bytes]]:
    """Yield text and styles, whose elements are those of today in another namespace.

    The numbers that Word made stand in the file; heads and feet of pages go to the end.
    """
    for listed in list(root.iter(f"{_W}listPr")):
        shown = next((each for each in listed if local_name(each) == "t"), None)
        values = () if shown is None else shown.attrib.items()
        number = next((value for key, value in values if key.endswith("}val")), "")
        text = etree.SubElement(etree.Element(f"{_W}r"), f"{_W}t")
        text.text = f"{number} "
        listed.getparent().addnext(text.getparent())
    body = root.find(f"{_W}body")
    if body is not None:
        for running in list(root.iter(f"{_W}hdr", f"{_W}ftr")):
            body.extend(list(running))
    document = etree.tostring(root).replace(_WORD_2003.encode(), _WORD.encode())
    yield "word/document.xml", document
    yield "word/_rels/document.xml.rels", _RELATIONS.encode()
    styles = root.find(f"{_W}styles")
    if styles is not None:
        yield (
            "word/styles.xml",
            etree.tostring(styles).replace(_WORD_2003.encode(), _WORD.encode()),
        )
