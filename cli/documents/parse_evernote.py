"""Evernote: the notes of an export, each a page under its title (.enex)."""

import re
from typing import Any

from pgblend.cli.documents.dates import moment_of
from pgblend.cli.documents.document import FILE_WITHIN, SAVE_IT, Document, stated_title
from pgblend.cli.documents.office_file import damaged_xml
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.text_builder import TextBuilder

_TICK = re.compile(r"<en-todo\b[^>]*>")
_LOCKED = re.compile(r"<en-crypt\b.*?</en-crypt>", re.DOTALL)


def parse_evernote(data: bytes) -> Document:
    """Read the notes; what is attached to them is told. The metadata are those of an only one."""
    root, faults = damaged_xml(data)
    builder = TextBuilder()
    notes = list(root.iter("{*}note"))
    for note in notes:
        title = _text(note, "title")
        builder.add_heading(title or "No title", 1)
        content, locked = _LOCKED.subn("", _TICK.sub(_ticked, _text(note, "content")))
        if locked:
            builder.leave_out(f"a part of {title}", "it is encrypted", "decrypt it in Evernote")
        page = parse_page(content)
        builder.add_read(page.text, page.headings, page.tables)
        for number, resource in enumerate(note.iter("{*}resource"), start=1):
            name = _text(resource, "resource-attributes/file-name") or f"file {number} of {title}"
            builder.leave_out(name, FILE_WITHIN, SAVE_IT)
    only = notes[0] if len(notes) == 1 else None
    return Document(
        title="" if only is None else stated_title(_text(only, "title")),
        text=builder.text(),
        metadata={"entries": len(notes)} if only is None else _metadata(only),
        headings=tuple(builder.headings),
        tables=tuple(builder.tables),
        left_out=tuple(builder.left_out),
        warnings=faults,
    )


def _ticked(box: re.Match[str]) -> str:
    return "\u2612 " if "true" in box[0] else "\u2610 "


def _metadata(note: Any) -> dict[str, Any]:
    moments = {"created": moment_of(_text(note, "created"))}
    moments["modified"] = moment_of(_text(note, "updated"))
    found: dict[str, Any] = {
        "author": _text(note, "note-attributes/author"),
        "url": _text(note, "note-attributes/source-url"),
        "tags": [tag.text for tag in note.iter("{*}tag") if tag.text],
        **{name: moment.isoformat() for name, moment in moments.items() if moment},
    }
    return {name: value for name, value in found.items() if value}


def _text(element: Any, path: str) -> str:
    return str(element.findtext(path) or "").strip()
