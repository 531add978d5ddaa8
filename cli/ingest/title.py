"""What a document is called: what its author called it, or nothing, and then its file's name."""

import re
from collections.abc import Sequence

from pgblend.cli.ingest.document import Heading, storable_text

_LETTER = re.compile(r"[^\W\d_]")
# What programs write where the author wrote nothing; with a number after it as well.
_EMPTY = re.compile(
    r"(untitled|\(anonymous\)|\(unspecified\)|title|(new |word |microsoft word )?document|dokument"
    r"|(powerpoint[ -])?(presentation|präsentation)|slide|folie)[ -]?\d*",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(
    r"^Microsoft (Word|PowerPoint|Excel) - "
    r"|\.(docx?|odt|rtf|pptx?|xlsx?|indd|dvi|tex|pdf|jpe?g|png|tiff?)$",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"!\[[^\]]*\](\([^)]*\)|\[[^\]]*\])?|\]\([^)]*\)|<!--.*?-->|<[^>]*>", re.DOTALL
)
_FURTHER = re.compile(r"^\[[^\]]+\]:.*$", re.MULTILINE)


def stated_title(title: str) -> str:
    """Return a title that metadata state; "" for a number, another file's name and the like."""
    words = storable_text(" ".join(title.split()))
    if not _LETTER.search(words) or _EMPTY.fullmatch(words) or _FILE_NAME.search(words):
        return ""
    return words


def top_heading(headings: Sequence[Heading], text: str | None = None) -> str:
    """Return the heading that names a document: its first and its only one of level 1; else "".

    With the Markdown `text`, no word may stand above it; pictures and markup may.
    """
    if not headings or [heading.level for heading in headings].count(1) != 1:
        return ""
    first = headings[0]
    above = _FURTHER.sub("", _MARKUP.sub("", text[: first.offset])) if text else ""
    return first.text if first.level == 1 and not re.search(r"\w", above) else ""
