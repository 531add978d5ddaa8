"""Org: the text with its headings; drawers, keywords and marks are no words."""

import re

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document
from pgblend.cli.ingest.line_text import LineText

_HEADING = re.compile(
    r"^(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED|HOLD)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?"
    r"(.*?)(?:[ \t]+(:[\w@#%:]+:))?[ \t]*$"
)
_KEYWORD = re.compile(r"^[ \t]*#\+([\w-]+)(?:\[[^\]]*\])?:[ \t]*(.*)$", re.IGNORECASE)
_BLOCK = re.compile(r"^[ \t]*#\+(begin|end)_(\w+).*$", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*#(?:[ \t]|$)")
_DRAWER = re.compile(r"^[ \t]*:[\w-]+:[ \t]*$")
_RULE = re.compile(r"^[ \t]*\|[-+]+\|?[ \t]*$")
_ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$")
_LINK = re.compile(r"\[\[([^\]]+)\](?:\[([^\]]+)\])?\]")
_NOTE = re.compile(r"\[fn:([\w-]*)(?::([^\]]*))?\]")
_MARK = re.compile(r"(?<![\w*/_=~+])([*/_=~+])(?=\S)((?:(?!\1).)+?)(?<=\S)\1(?![\w*/_=~+])")
_TARGET = re.compile(r"<<<?[^<>]+>>>?")
_METADATA = {"title": "title", "author": "author", "date": "date", "filetags": "tags",
             "description": "description", "keywords": "keywords", "language": "language",
             "subtitle": "subtitle", "email": "email", "category": "category"}  # fmt: skip
# What stands in these blocks is written as it is; comments are shown nowhere.
_LITERAL = frozenset(("src", "example", "export"))
_SHOWN_KEYWORDS = frozenset(("caption",))


def parse_org(data: bytes) -> Document:
    """Read an Org file."""
    reader = _Reader()
    for line in decode(data).split("\n"):
        reader.take(line)
    return reader.text.document()


class _Reader:
    """Reads a file line by line."""

    def __init__(self) -> None:
        self.text = LineText()
        self._block = ""
        self._in_drawer = False

    def take(self, line: str) -> None:
        """Take a line."""
        if match := _BLOCK.match(line):
            is_end = match[1].lower() == "end"
            self._block = "" if is_end else self._block or match[2].lower()
            self.text.add()
        elif self._block:
            self._take_in_block(line)
        elif self._in_drawer or _DRAWER.match(line):
            self._in_drawer = line.strip().upper() != ":END:"
            self.text.add()
        elif match := _HEADING.match(line):
            self.text.add_heading(self._shown(match[2]), len(match[1]))
        elif match := _KEYWORD.match(line):
            _take_keyword(self.text, match[1].lower(), match[2].strip())
        elif _COMMENT.match(line) or _RULE.match(line):
            self.text.add()
        else:
            row = _ROW.match(line)
            said = self._shown(row[1] if row else line)
            self.text.add(" | ".join(map(str.strip, said.split("|"))) if row else said)

    def _take_in_block(self, line: str) -> None:
        if self._block == "comment":
            self.text.add()
        else:
            self.text.add(line if self._block in _LITERAL else self._shown(line))

    def _shown(self, line: str) -> str:
        line = _TARGET.sub("", _LINK.sub(self._link, line))
        line = _NOTE.sub(lambda match: f" ({match[2]})" if match[2] else f"[{match[1]}]", line)
        for _ in range(2):  # */both/*
            line = _MARK.sub(r"\2", line)
        return line

    def _link(self, match: re.Match[str]) -> str:
        target = match[1].removeprefix("file:")
        self.text.add_link(target.partition("::")[0])
        return match[2] or target


def _take_keyword(text: LineText, name: str, value: str) -> None:
    """Note what a keyword says of the text; a caption is shown."""
    if name == "include" and value:
        file = value.split('"')[1] if value.count('"') > 1 else value.split()[0]
        text.tell_file(file)
    if name in _METADATA and value:
        key = _METADATA[name]
        text.metadata.setdefault(key, value.strip(":").split(":") if key == "tags" else value)
    text.add(value if name in _SHOWN_KEYWORDS else "")
