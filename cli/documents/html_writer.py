"""The text of a page as it is written: lines, cells, numbers of lists, places of what it holds."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pgblend.cli.documents.document import Heading, Link, Table
from pgblend.cli.documents.html_page import Furniture
from pgblend.cli.documents.text_builder import TableRows

SPACES = re.compile(r"\s+")
# Of Chinese and Japanese, which write no spaces, a line's end within a text shows none.
_UNSPACED = "[\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff9f\U00020000-\U0003ffff]"
_WRAPPED = re.compile(rf"(?<={_UNSPACED})[ \t\r]*\n\s*(?={_UNSPACED})")


@dataclass
class _OpenTable:
    """A table while it is read, and where its rows begin."""

    node: LexborNode
    rows: list[tuple[int, LexborNode]] = field(default_factory=list)
    is_layout: bool = False

    def collected(self) -> TableRows:
        """Return the rows; those beside a cell of several rows have that cell as their group."""
        caption = next((node for node in self.node.iter() if node.tag == "caption"), None)
        rows = TableRows(_plain(caption) if caption else "")
        spanning, count = "", 0
        for offset, row in self.rows:
            nodes = [node for node in row.iter() if node.tag in ("td", "th")]
            cells = [_plain(node) for node in nodes]
            is_head = row.parent is not None and row.parent.tag == "thead"
            is_header = is_head or all(node.tag == "th" for node in nodes)
            rows.add(offset, cells, is_header, spanning if count else "")
            count = max(count - 1, 0)
            if nodes and not count:
                span = nodes[0].attributes.get("rowspan") or ""
                spanning, count = cells[0], int(span[:4]) - 1 if span.isdecimal() else 0
        return rows


def _plain(node: LexborNode) -> str:
    return SPACES.sub(" ", node.text(separator=" ")).strip()


@dataclass
class Numbering:
    """The numbers of a list: the next one, what is added for each, and how it is written."""

    next: int | None = None
    step: int = 1
    style: str = "1"

    def mark(self, value: str) -> str:
        """Return the mark of the next item; `value` is its own number, if it has one."""
        if self.next is None:
            return "- "
        if _NUMBER.fullmatch(value):
            self.next = int(value)
        number = self.next
        self.next += self.step
        return f"{_written(number, self.style)}. "


def _written(number: int, style: str) -> str:
    """Write the number of an item as letters or a Roman number, where the list says so."""
    if style in "aA" and 0 < number <= 26:
        return chr(ord(style) + number - 1)
    if style in "iI" and 0 < number < 4000:
        text = "".join(
            digits[int(digit)] for digit, digits in zip(f"{number:04}", _ROMAN, strict=True)
        )
        return text if style == "i" else text.upper()
    return str(number)


_NUMBER = re.compile(r"-?\d{1,6}")
_ROMAN = (
    ("", "m", "mm", "mmm"),
    ("", "c", "cc", "ccc", "cd", "d", "dc", "dcc", "dccc", "cm"),
    ("", "x", "xx", "xxx", "xl", "l", "lx", "lxx", "lxxx", "xc"),
    ("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"),
)


def list_numbers(node: LexborNode, tag: str) -> Numbering:
    """Return the numbers that a list begins with; those of a list without any are marks."""
    if tag != "ol":
        return Numbering()
    attributes = node.attributes
    step = -1 if "reversed" in attributes else 1
    start = attributes.get("start") or ""
    count = sum(child.tag == "li" for child in node.iter()) if step < 0 else 1
    first = int(start) if _NUMBER.fullmatch(start) else count
    return Numbering(first, step, attributes.get("type") or "1")


@dataclass
class PageWriter:
    """Collects text; line ends asked for are written once text follows, and never doubled."""

    furniture: Furniture
    drops_hidden: bool = False
    parts: list[str] = field(default_factory=list)
    depth: int = 0
    length: int = 0
    breaks: int = 0
    space: bool = False
    cell: bool = False
    bullet: str = ""
    preformatted: int = 0
    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    # How signs are pronounced: written after the words, which it would cut.
    readings: list[str] = field(default_factory=list)
    images: list[tuple[int, str]] = field(default_factory=list)
    new_images: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    # Pages within the page: nodes last as long as the trees that they are of.
    inner: list[LexborHTMLParser] = field(default_factory=list)
    numbers: list[Numbering] = field(default_factory=list)
    open_tables: list[_OpenTable] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add text of the page, with white space collapsed outside <pre>."""
        if self.preformatted:
            if text.strip("\n") or self.parts:
                self._append(text)
            return
        if "\n" in text and not text.isascii():
            text = _WRAPPED.sub("", text)
        words = SPACES.sub(" ", text)
        if words.strip():
            self.space = self.space or words.startswith(" ")
            self._append(words.strip())
            self.space = words.endswith(" ")
        elif words:
            self.space = True

    def write_after(self, mark: str) -> None:
        """Add a mark to the text before it."""
        self.space = False
        self._append(mark)

    def break_line(self, count: int) -> None:
        """Ask for line ends before the next text, unless it is the first of a list item."""
        self._write_readings()
        if not self.bullet:
            self.breaks = max(self.breaks, count)
            self.cell = False

    def place_images(self) -> None:
        """Let the images since the last block stand after the text of this one."""
        self.images += [(self.length, source) for source in self.new_images]
        self.new_images.clear()

    def open_table(self, table: LexborNode) -> None:
        """Begin a table; the one around it is no more than layout."""
        if self.open_tables:
            self.open_tables[-1].is_layout = True
        self.open_tables.append(_OpenTable(table))

    def close_table(self) -> None:
        """Keep the table that ends here: its cells' texts are read once, of no layout."""
        closed = self.open_tables.pop()
        if not closed.is_layout and (table := closed.collected().table(self.length)):
            self.tables.append(table)

    def start_cell(self) -> None:
        """Separate the next text from the table cell before it."""
        self._write_readings()
        self.cell = not self.breaks

    def _write_readings(self) -> None:
        if said := ", ".join(filter(None, self.readings)):
            self.write_after(f" ({said})")
        self.readings.clear()

    def _append(self, text: str) -> None:
        part = self._separator() + self.bullet + text
        self.parts.append(part)
        self.length += len(part)
        self.breaks, self.space, self.cell, self.bullet = 0, False, False, ""

    def _separator(self) -> str:
        if not self.parts:
            return ""
        last = self.parts[-1]
        if self.breaks:
            return "\n" * (self.breaks - len(last) + len(last.rstrip("\n")))
        return " | " if self.cell else " " * self.space

    def position(self) -> int:
        """Tell where the next text will begin."""
        return self.length + len(self._separator())

    def text(self) -> str:
        """Return everything written."""
        return "".join(self.parts)
