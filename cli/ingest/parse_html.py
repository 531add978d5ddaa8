"""HTML: readable text without scripts, styles and navigation."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pgblend.cli.ingest.document import Heading, Link, ParseError, Table
from pgblend.cli.ingest.tables import TableRows, with_captions
from pgblend.cli.ingest.title import stated_title, top_heading

_DROPPED_NAMES = (
    "head script style noscript template nav svg math iframe object canvas select button audio "
    "video dialog"
)
_BLOCK_NAMES = (
    "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table "
    "tbody tfoot thead tr ul"
)
_LINE_NAMES = "li dt dd tr tbody thead tfoot caption div body html"
# End by themselves, so that opening many does not nest.
_UNNESTED_NAMES = (
    "area base br col embed hr img input link meta source track wbr p li dt dd tr td th thead "
    "tbody tfoot option optgroup colgroup"
)
_DROPPED = frozenset(_DROPPED_NAMES.split())
_BLOCKS = frozenset(_BLOCK_NAMES.split())
# Blocks that stand apart by a blank line; the others begin on a new line.
_PARAGRAPHS = _BLOCKS - frozenset(_LINE_NAMES.split())
_UNNESTED = frozenset(_UNNESTED_NAMES.split())
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SPACES = re.compile(r"\s+")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_MAX_DEPTH = 10_000


@dataclass(frozen=True)
class Page:
    """What a page of HTML says; `images` are sources of <img> and where their texts belong.

    The title is <title>, else a single <h1> before all other headings, else "". Links and images
    of navigation are left out.
    """

    text: str
    title: str
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    images: tuple[tuple[int, str], ...]
    tables: tuple[Table, ...]


def parse_html(source: str) -> tuple[str, str, tuple[Heading, ...]]:
    """Return text, title and headings of a page."""
    page = parse_page(source)
    return page.text, page.title, page.headings


def parse_page(source: str) -> Page:
    """Return what a page says."""
    _check_depth(source)
    tree = LexborHTMLParser(source)
    writer = _Writer()
    if tree.root is not None:
        _write(tree.root, writer)
    writer.place_images()
    text = writer.text()
    title_node = tree.css_first("head > title")
    title = stated_title(title_node.text()) if title_node else ""
    title = title or top_heading(writer.headings)
    return Page(
        text,
        title,
        tuple(writer.headings),
        tuple(writer.links),
        tuple(writer.images),
        with_captions(writer.tables, text, writer.headings),
    )


def _check_depth(source: str) -> None:
    """Refuse a page whose elements nest so deep that parsing takes minutes (quadratic time)."""
    depth = 0
    for match in _TAG.finditer(source):
        if match.group(2).lower() not in _UNNESTED:
            depth = max(depth - 1, 0) if match.group(1) else depth + 1
            if depth > _MAX_DEPTH:
                raise ParseError(f"its elements nest deeper than {_MAX_DEPTH:,} levels")


@dataclass
class _OpenTable:
    """A table while it is read; `cell` stands beside so many `rows` more."""

    rows: TableRows
    cell: str = ""
    count: int = 0
    is_layout: bool = False

    def add_row(self, offset: int, row: LexborNode) -> None:
        """Add a row of the page; one below a cell of several rows has that cell as its group."""
        nodes = [node for node in row.iter() if node.tag in ("td", "th")]
        cells = [_plain(node) for node in nodes]
        is_head = row.parent is not None and row.parent.tag == "thead"
        is_header = is_head or all(node.tag == "th" for node in nodes)
        group = self.cell if self.count else ""
        self.count = max(self.count - 1, 0)
        self.rows.add(offset, cells, is_header, group)
        if nodes and not self.count:
            span = nodes[0].attributes.get("rowspan") or ""
            self.cell, self.count = cells[0], int(span) - 1 if span.isdecimal() else 0


def _plain(node: LexborNode) -> str:
    return _SPACES.sub(" ", node.text(separator=" ")).strip()


@dataclass
class _Writer:
    """Collects text; line ends asked for are written once text follows, and never doubled."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    breaks: int = 0
    space: bool = False
    cell: bool = False
    bullet: str = ""
    preformatted: int = 0
    headings: list[Heading] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    images: list[tuple[int, str]] = field(default_factory=list)
    new_images: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    open_tables: list[_OpenTable] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add text of the page, with white space collapsed outside <pre>."""
        if self.preformatted:
            if text.strip("\n") or self.parts:
                self._append(text)
            return
        words = _SPACES.sub(" ", text)
        if words.strip():
            self.space = self.space or words.startswith(" ")
            self._append(words.strip())
            self.space = words.endswith(" ")
        elif words:
            self.space = True

    def break_line(self, count: int) -> None:
        """Ask for line ends before the next text, unless it is the first of a list item."""
        if not self.bullet:
            self.breaks = max(self.breaks, count)
            self.cell = False

    def place_images(self) -> None:
        """Let the images since the last block stand after the text of this one."""
        self.images += [(self.length, source) for source in self.new_images]
        self.new_images.clear()

    def open_table(self, table: LexborNode) -> None:
        """Begin to collect the rows of a table; those around it are no more than layout."""
        for outer in self.open_tables:
            outer.is_layout = True
        caption = next((node for node in table.iter() if node.tag == "caption"), None)
        rows = TableRows(_plain(caption) if caption else "")
        self.open_tables.append(_OpenTable(rows))

    def close_table(self) -> None:
        """Keep the table that ends here."""
        closed = self.open_tables.pop()
        if not closed.is_layout and (table := closed.rows.table(self.length)):
            self.tables.append(table)

    def start_cell(self) -> None:
        """Separate the next text from the table cell before it."""
        self.cell = not self.breaks

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


def _write(root: LexborNode, writer: _Writer) -> None:
    """Walk the tree with a stack of our own: pages may nest deeper than Python's."""
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    heading_start = 0
    while stack:
        node, leaving = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            writer.write(node.text_content or "")
            continue
        if leaving:
            _leave(node, tag, writer, heading_start)
            continue
        if tag in _DROPPED:
            continue
        if tag in _HEADINGS:
            writer.break_line(2)
            heading_start = writer.position()
        if tag == "a" and (target := (node.attributes.get("href") or "").strip()):
            writer.links.append(Link(writer.position(), target[:2001], "path"))
        if tag == "img":
            # Where a picture is loaded when it comes into view, src is what stands there before.
            source = node.attributes.get("data-src") or node.attributes.get("src") or ""
            writer.new_images.append(source.strip())
        _enter(tag, writer)
        if tag == "table":
            writer.open_table(node)
        elif tag == "tr" and writer.open_tables:
            writer.open_tables[-1].add_row(writer.position(), node)
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))


def _enter(tag: str, writer: _Writer) -> None:
    if tag in _BLOCKS:
        writer.place_images()
        writer.break_line(2 if tag in _PARAGRAPHS else 1)
    if tag == "li":
        writer.bullet = "- "
    elif tag in ("td", "th"):
        writer.start_cell()
    elif tag == "br":
        writer.break_line(1)
    elif tag == "pre":
        writer.preformatted += 1
    elif tag == "hr":
        writer.break_line(2)


def _leave(node: LexborNode, tag: str, writer: _Writer, heading_start: int) -> None:
    if tag == "table":
        writer.close_table()
    elif tag == "pre":
        writer.preformatted -= 1
    elif tag == "li":
        writer.bullet = ""
    if tag in _HEADINGS:
        text = _SPACES.sub(" ", node.text()).strip()
        if text:
            writer.headings.append(Heading(heading_start, int(tag[1]), text))
    if tag in _BLOCKS:
        writer.place_images()
        writer.break_line(2 if tag in _PARAGRAPHS else 1)
