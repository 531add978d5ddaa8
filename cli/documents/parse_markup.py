"""XML and RTF: formats whose text needs little work."""

from striprtf.striprtf import rtf_to_text

from pgblend.cli.documents.document import Document, ParseError, stated_title
from pgblend.cli.documents.office_file import local_name, parse_xml


def parse_xml_text(data: bytes) -> Document:
    """Read the text of any XML, the text of each element on a line; a title element names it."""
    root = parse_xml(data)
    lines = []
    title = ""
    for element in root.iter():
        if local_name(element) == "title" and not title:
            title = stated_title(element.text or "")
        for text in (element.text if local_name(element) else "", element.tail):
            if text and text.strip():
                lines.append(text.strip())
    return Document(title=title, text="\n".join(lines))


def parse_rtf(data: bytes) -> Document:
    """Read an RTF's text."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ParseError("no RTF: it does not begin with {\\rtf")
    try:
        text = rtf_to_text(data.decode("latin-1"), errors="replace")
    except (ValueError, LookupError, IndexError, TypeError, AttributeError) as error:
        raise ParseError(f"no readable RTF: {error}") from None
    return Document(text=text.replace("\r\n", "\n").replace("\r", "\n").strip())
