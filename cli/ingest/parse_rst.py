"""reStructuredText: as it is written, with its headings, and the files told that it takes in."""

import re
from dataclasses import replace

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document
from pgblend.cli.ingest.find_links import find_links
from pgblend.cli.ingest.line_text import LineText

_LINE = re.compile(r"([!-/:-@\[-`{-~])\1+")
_INCLUDED = re.compile(r"^\s*\.\. (?:include|literalinclude)::\s*(\S+)")


def parse_rst(data: bytes) -> Document:
    """Read a .rst file; a title's level is that of its line, in the order in which they come."""
    lines = decode(data).split("\n")
    text = LineText()
    kinds: list[str] = []
    for number, line in enumerate(lines):
        if match := _INCLUDED.match(line):
            text.tell_file(match[1])
        below = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
        title, above = line.strip(), lines[number - 1].rstrip() if number else ""
        is_title = bool(title and _LINE.fullmatch(below)) and len(below) >= len(title)
        if is_title and not _LINE.fullmatch(title) and (above in ("", below) or line == title):
            kind = below[0] * (2 if above == below else 1)
            kinds += [kind] if kind not in kinds else []
            text.headings.append((number, 1 + kinds.index(kind), title))
        text.lines.append(line)
    document = text.document()
    return replace(document, links=find_links(document.text))
