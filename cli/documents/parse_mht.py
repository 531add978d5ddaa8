"""MHTML: a page of the web and what belongs to it, saved as a mail (.mht)."""

import email
import email.policy
from email.message import Message
from urllib.parse import urljoin

from pgblend.cli.documents.document import Document, Link, ParseError, stated_title
from pgblend.cli.documents.html_pictures import PictureFiles, add_pictures
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.parse_mail import decoded, header, mail_time, part_bytes
from pgblend.cli.documents.text_builder import TextBuilder


def parse_mht(data: bytes) -> Document:
    """Read the page, and the pages of its frames after it; pictures are those saved with it."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, email.message.EmailMessage)
    parts = [part for part in message.walk() if not part.is_multipart()]
    pages = [part for part in parts if "html" in part.get_content_type()]
    if not pages:
        raise ParseError("no page saved as MHTML: none of its parts is HTML")
    by_name: dict[str, Message] = {}
    for part in parts:
        by_name.setdefault(_location(part), part)
        by_name.setdefault(f"cid:{str(part.get('Content-ID', '')).strip('<> ')}", part)
    builder = TextBuilder()
    links: list[Link] = []
    title = ""
    dates: dict[str, str] = {}
    for part in pages:
        page = parse_page(decoded(part))
        title, dates = title or page.title, dates or page.dates
        start = builder.add_read(page.text, page.headings, page.tables)
        links += [Link(start + each.offset, each.target, each.kind) for each in page.links]
        base = _location(part)

        def read_file(source: str, base: str = base) -> bytes | None:
            found = by_name.get(source) or by_name.get(urljoin(base, source))
            return part_bytes(found) if found else None

        add_pictures(builder, page, PictureFiles(read_file, base, named=True), start)
    found = {
        "url": str(message.get("Snapshot-Content-Location", "")) or _location(pages[0]),
        "date": "" if dates else mail_time(message),  # when it was saved
        **dates,
    }
    return Document(
        title=title or stated_title(header(message, "Subject")),
        text=builder.text(),
        metadata={key: value for key, value in found.items() if value},
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        pictures=tuple(builder.pictures),
        links=tuple(links),
    )


def _location(part: Message) -> str:
    return str(part.get("Content-Location", "")).strip()
