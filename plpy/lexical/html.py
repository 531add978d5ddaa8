"""HTML of a table's column as text: what a reader sees, by the standard library alone."""

import re
from collections.abc import Iterable
from html import unescape
from html.parser import HTMLParser

_DROPPED = frozenset(
    ("audio", "canvas", "head", "noscript", "object", "script", "style", "svg", "template", "video")
)
_PARAGRAPH_NAMES = (
    "address article aside blockquote center details dialog div dl fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section summary table ul"
)
_EMPTY_NAMES = "area base br col embed hr img input link meta param source track wbr"
_PARAGRAPHS = frozenset(_PARAGRAPH_NAMES.split())
_LINES = frozenset(("br", "caption", "dd", "dt", "legend", "li", "option", "tr"))
_CELLS = frozenset(("td", "th"))
_EMPTY = frozenset(_EMPTY_NAMES.split())
_PREFORMATTED = frozenset(("pre", "textarea"))
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_LONE_DASH = re.compile(r"^- *\n+(?=\S)", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
# Of a title: an innermost pair of tags of these, and what is between them.
_EMPHASIS = re.compile(
    r"<(a|abbr|b|big|cite|code|em|font|i|mark|p|q|s|small|span|strong|su[bp]|u)(?:\s[^<>]*)?>"
    r"((?:[^<]|<(?![a-z/]))*)</\1\s*>",
    re.IGNORECASE,
)
_DEEPEST = 8  # pairs within pairs that a title may have
_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def html_text(pages: Iterable[str | None], title: str) -> tuple[str, str]:
    """Return the title, and the texts of columns with blank lines between them, or else the title.

    NULL columns are none.
    """
    title = _title_text(title)
    texts = (visible_text(page) for page in pages if page)
    return title, "\n\n".join(text for text in texts if text) or title


def _title_text(title: str) -> str:
    """Return a title without pairs of tags and entities.

    Other tags stay: beside pages of HTML many a title is plain, such as "The <canvas> element".
    """
    for _ in range(_DEEPEST):
        title = _EMPHASIS.sub(r"\2", title)
    return " ".join(unescape(_LINE_BREAK.sub(" ", title)).split())


def visible_text(html: str) -> str:
    """Return what of a piece of HTML is seen: no scripts, styles, comments and hidden elements.

    Blocks stand apart by a blank line, items of lists begin with a dash. Cells of a row stand
    beside each other. Entities are what they stand for; pictures are their alternative text.
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    """Collects the parts of a text; white space that follows white space is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden = ""  # the element within which nothing is seen
        self._depth = 0  # of elements of its name in there
        self._preformatted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            self._depth += tag == self._hidden
            return
        attributes = dict(attrs)
        if tag == "img":
            self.handle_data(f" {attributes.get('alt') or ''} ")
        elif tag not in _EMPTY and (tag in _DROPPED or _is_hidden(attributes)):
            self._hidden, self._depth = tag, 1
            return
        self._break(tag)
        if tag == "li":
            self._parts.append("- ")
        self._preformatted += tag in _PREFORMATTED

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # In HTML the slash has no meaning but where the element is empty anyway.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._depth -= tag == self._hidden
            if not self._depth:
                self._hidden = ""
            return
        if tag in _PREFORMATTED and self._preformatted:
            self._preformatted -= 1
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data if self._preformatted else _SPACES.sub(" ", data))

    def text(self) -> str:
        """Return what was collected."""
        text = _BLANK_LINES.sub("\n\n", "".join(_joined(self._parts)))
        return _LONE_DASH.sub("- ", text).strip()

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._parts.append("\n\n")
        elif tag in _LINES:
            self._parts.append("\n")
        elif tag in _CELLS:
            self._parts.append(" ")


def _joined(parts: list[str]) -> Iterable[str]:
    """Yield parts; one white space at a border, none after a line's end or before the next."""
    before = "\n"
    for place, part in enumerate(parts):
        after = parts[place + 1] if place + 1 < len(parts) else "\n"
        if part == " " and after[:1] in " \n":
            continue
        if part[:1] == " " and before in " \n" and part.strip():
            part = part[1:] if not part.startswith("  ") else part
        elif part == " " and before in " \n":
            continue
        yield part
        before = part[-1:] or before


def _is_hidden(attributes: dict[str, str | None]) -> bool:
    return "hidden" in attributes or bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
