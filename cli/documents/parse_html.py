"""HTML: what a reader of the page can see, without scripts, styles and navigation."""

import re
from dataclasses import dataclass
from itertools import islice

from lxml.html import fragment_fromstring
from selectolax.lexbor import LexborHTMLParser, LexborNode

from pgblend.cli.documents.document import (
    Heading,
    Link,
    ParseError,
    Table,
    stated_title,
    top_heading,
)
from pgblend.cli.documents.formula import formula_text, with_raised
from pgblend.cli.documents.html_page import (
    Furniture,
    button_name,
    is_control,
    is_picture_alone,
    names_drawing,
    page_dates,
)
from pgblend.cli.documents.html_writer import SPACES, PageWriter, list_numbers
from pgblend.cli.documents.text_builder import with_captions

# What stands in <audio> and <video> is for browsers without them; a <datalist> shows while typing.
_DROPPED_NAMES = (
    "head script style noscript template audio video datalist annotation annotation-xml rp "
    "rt rtc noframes noembed"
)
_BLOCK_NAMES = (
    "address article aside blockquote body caption dd details div dl dt fieldset figcaption figure "
    "dialog footer form h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li listing main menu "
    "nav object ol option p plaintext pre search section select summary svg table tbody textarea "
    "tfoot thead tr ul xmp"
)
_LINE_NAMES = "li dt dd tr tbody thead tfoot caption div body html option select svg textarea"
# End by themselves, so that opening many does not nest.
_UNNESTED_NAMES = (
    "area base br col embed hr img input link meta source track wbr p li dt dd tr td th thead "
    "tbody tfoot option optgroup colgroup"
)
_FORMULAS = frozenset(("math", "m:math", "mml:math"))
# KaTeX, MathJax and MediaWiki draw each formula a second time, hidden from screen readers.
_DRAWN_FORMULAS = frozenset(("span", "img", "svg"))
_DROPPED = frozenset(_DROPPED_NAMES.split())
_BLOCKS = frozenset(_BLOCK_NAMES.split())
# Blocks that stand apart by a blank line; the others begin on a new line.
_PARAGRAPHS = _BLOCKS - frozenset(_LINE_NAMES.split())
_UNNESTED = frozenset(_UNNESTED_NAMES.split())
_LINE_STARTS = frozenset(("hr", "text"))
# What programs put around the text of each cell.
_FILLING = frozenset(("p", "div"))
_LISTS = frozenset(("ol", "ul", "menu"))
_PREFORMATTED = frozenset(("listing", "plaintext", "pre", "textarea", "xmp"))
# What leads to another page, and the attribute that names it.
_LINKED = {"a": "href", "frame": "src", "iframe": "src"}
# Have a box of their own within a line.
_BOXES = frozenset(("marquee", "meter", "progress"))
# What is put after the text of an element.
_AFTER = {"q": "\u201d"}
_KANA = "[\u3041-\u30ff]"
# Elements that may be navigation.
_FURNITURE_NAMES = (
    "nav header footer aside section div address form table ul ol p center span tr dialog a"
)
_FURNITURE = frozenset(_FURNITURE_NAMES.split())
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
# LaTeX2HTML puts its links between comments, in no element of their own.
_NAVIGATION_PANEL = re.compile(
    r"<!--\s*Navigation Panel\s*-->.*?<!--\s*End of Navigation Panel\s*-->", re.DOTALL
)
_MARK = re.compile(r"\s*[\u00b6\U0001f517]\s*$")
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_MAX_DEPTH = 10_000
# Deeper elements are not looked at as menus: each look goes through all that is in them.
_DEEPEST_MENU = 60
# How mails hide the words that mailboxes show beside the subject.
_HIDDEN = re.compile(r"(?:^|;)\s*display\s*:\s*none\b", re.IGNORECASE)
_SHADOW = ("shadowrootmode", "shadowroot")
# Fields whose value a reader sees, else what stands there until one is typed.
_SHOWN_FIELDS = frozenset(
    ("", "text", "search", "email", "url", "tel", "number", "date", "datetime-local", "month")
)
_BUTTONS = frozenset(("button", "submit", "reset"))
# Pages that are written as XML: an element of theirs may end where it begins.
_XML = re.compile(
    # No comment goes over the end of another: else each of many might be parted in two ways.
    r"<\?xml\b|(?:<!DOCTYPE[^>]*>|<!--(?:(?!-->).)*-->|\s)*<(?:html|svg)\b[^>]*\sxmlns\s*=",
    re.DOTALL | re.IGNORECASE,
)
_HEAD_CHARACTERS = 4000
_SELF_ENDED = re.compile(r"<([A-Za-z][\w:.-]*)((?:\s[^<>]*)?)/>")
_WITHOUT_END = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input"),
        *("link", "meta", "param", "source", "track", "wbr"),
    )
)


@dataclass(frozen=True)
class HtmlPage:
    """What a page of HTML says; `images` are sources of <img> and where their texts belong.

    The title is <title>, else a single <h1> before all other headings, else "". Links and images
    of navigation are left out. `dates` are when it was published and modified (page_dates).
    """

    text: str
    title: str
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    images: tuple[tuple[int, str], ...]
    tables: tuple[Table, ...]
    dates: dict[str, str]


def parse_html(source: str) -> tuple[str, str, tuple[Heading, ...]]:
    """Return text, title and headings of a page."""
    page = parse_page(source)
    return page.text, page.title, page.headings


def parse_page(source: str, is_mail: bool = False) -> HtmlPage:
    """Return what a page says; what a mail hides stays hidden, since no script runs in it."""
    _check_depth(source)
    source = _NAVIGATION_PANEL.sub("", source) if "avigation Panel" in source else source
    source = _ended(source) if _XML.match(source[:_HEAD_CHARACTERS].lstrip()) else source
    tree = LexborHTMLParser(with_raised(source))
    writer = PageWriter(Furniture(tree), drops_hidden=is_mail)
    if tree.root is not None:
        _write(tree.root, writer)
    writer.place_images()
    text = writer.text()
    title_node = tree.css_first("head > title")
    title = stated_title(title_node.text()) if title_node else ""
    title = title or top_heading(writer.headings)
    return HtmlPage(
        text,
        title,
        tuple(writer.headings),
        tuple(writer.links),
        tuple(writer.images),
        with_captions(writer.tables, text, writer.headings),
        page_dates(tree),
    )


def _ended(source: str) -> str:
    """Write XML's `<title/>` as HTML has it: there it would take all that follows as its text."""

    def with_end(match: re.Match[str]) -> str:
        name, rest = match.groups()
        return match.group() if name.lower() in _WITHOUT_END else f"<{name}{rest}></{name}>"

    return _SELF_ENDED.sub(with_end, source)


def _check_depth(source: str) -> None:
    """Refuse a page whose elements nest so deep that parsing takes minutes (quadratic time)."""
    depth = 0
    for match in _TAG.finditer(source):
        if match.group(2).lower() not in _UNNESTED:
            depth = max(depth - 1, 0) if match.group(1) else depth + 1
            if depth > _MAX_DEPTH:
                raise ParseError(f"its elements nest deeper than {_MAX_DEPTH:,} levels")


def _write(root: LexborNode, writer: PageWriter) -> None:
    """Walk the tree with a stack of our own: pages may nest deeper than Python's."""
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    heading = (0, 0)
    while stack:
        node, leaving = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            writer.write(node.text_content or "")
            continue
        if leaving:
            writer.depth -= 1
            _leave(node, tag, writer, heading)
            continue
        if _is_left_out(node, tag, writer):
            continue
        if tag in _FORMULAS:
            _write_formula(node, writer)
            continue
        if tag in _HEADINGS:
            writer.break_line(2)
            heading = (writer.position(), len(writer.parts))
        named = _LINKED.get(tag)
        if named and (target := (node.attributes.get(named) or "").strip()):
            writer.links.append(Link(writer.position(), target[:2001], "path"))
        _enter(tag, node, writer)
        if tag == "table":
            writer.open_table(node)
        elif tag == "tr" and writer.open_tables:
            writer.open_tables[-1].rows.append((writer.position(), node))
        writer.depth += 1
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(_children(node, tag, writer)))


def _write_formula(node: LexborNode, writer: PageWriter) -> None:
    """Write a formula in one line; some are set on a line of their own."""
    is_apart = node.attributes.get("display") == "block"
    writer.break_line(is_apart)
    writer.write(formula_text(fragment_fromstring(node.html or "<math></math>")))
    writer.break_line(is_apart)


def _is_left_out(node: LexborNode, tag: str, writer: PageWriter) -> bool:
    """Whether an element is not seen, or is not what the page is about."""
    if tag in _DROPPED:
        return not _is_shadow(node, tag)
    if writer.drops_hidden and _HIDDEN.search(node.attributes.get("style") or ""):
        return True
    if tag == "button":
        return is_control(node.text())
    if tag == "title":
        return not names_drawing(node)
    if tag in _DRAWN_FORMULAS and node.attributes.get("aria-hidden") == "true":
        return node.parent is not None and node.parent.css_first("math") is not None
    if tag not in _FURNITURE or writer.depth > _DEEPEST_MENU:
        return False
    return writer.furniture.has(node, tag, is_above=not writer.headings)


def _is_shadow(node: LexborNode, tag: str) -> bool:
    """Whether a template is the shadow root of the element that it stands in: it is shown."""
    return tag == "template" and any(name in node.attributes for name in _SHADOW)


def _children(node: LexborNode, tag: str, writer: PageWriter) -> list[LexborNode]:
    """Return what stands in an element; that of frames and shadow roots has a tree of its own."""
    source = None
    if tag == "template":
        source = (node.html or "").partition(">")[2].rpartition("</template")[0]
    elif tag == "iframe":
        source = node.attributes.get("srcdoc") or ""
    elif tag == "slot" and _has_light_children(node):
        return []
    if source is None:
        return list(node.iter(include_text=True))
    tree = LexborHTMLParser(with_raised(source))
    writer.inner.append(tree)
    return [tree.body] if tree.body is not None else []


def _has_light_children(slot: LexborNode) -> bool:
    """Whether a slot may be filled by the element around: what stands in it is shown if not."""
    return "name" not in slot.attributes


def _fills_cell(node: LexborNode) -> bool:
    """Whether a paragraph is all that a table's cell has: it is no line of its own."""
    while node.tag in _FILLING and (parent := node.parent) is not None:
        if len(list(islice(filter(_is_shown, parent.iter(include_text=True)), 2))) > 1:
            return False
        if parent.tag in ("td", "th"):
            return True
        node = parent
    return False


def _is_shown(node: LexborNode) -> bool:
    tag = node.tag or ""
    return bool((node.text_content or "").strip()) if tag == "-text" else not tag.startswith("-")


def _enter(tag: str, node: LexborNode, writer: PageWriter) -> None:
    if tag in _BLOCKS and not (writer.open_tables and _fills_cell(node)):
        writer.place_images()
        writer.break_line(2 if tag in _PARAGRAPHS else 1)
    if tag in _LISTS:
        writer.numbers.append(list_numbers(node, tag))
    elif tag == "li":
        value = node.attributes.get("value") or ""
        writer.bullet = writer.numbers[-1].mark(value) if writer.numbers else "- "
    elif tag in ("td", "th"):
        writer.start_cell()
    elif tag == "br":
        writer.break_line(1)
    elif tag in _PREFORMATTED:
        writer.preformatted += 1
    elif tag in _LINE_STARTS:
        writer.break_line(2 if tag == "hr" else 1)
    else:
        _enter_inline(tag, node, writer)


def _enter_inline(tag: str, node: LexborNode, writer: PageWriter) -> None:
    """Write what elements show that is in their attributes, or put around their text."""
    attributes = node.attributes
    if tag == "img":
        # Where a picture is loaded when it comes into view, src is what stands there before.
        source = attributes.get("data-src") or attributes.get("src") or ""
        writer.new_images.append(source.strip())
    if tag in ("img", "area"):
        writer.write(f" {attributes.get('alt') or ''} ")
    elif tag == "input":
        writer.write(f" {_field_text(node)} ")
    elif tag == "optgroup":
        writer.break_line(1)
        writer.write(attributes.get("label") or "")
    elif tag == "q":
        writer.write("\u201c")
    elif tag == "ruby":
        writer.readings.append(_reading(node))
    elif tag == "button":
        writer.break_line(1)
        writer.write(button_name(node))
    elif tag in _BOXES:
        writer.write(" ")
    elif writer.depth <= _DEEPEST_MENU and is_picture_alone(node):
        writer.write(f" {button_name(node)} ")


def _reading(ruby: LexborNode) -> str:
    """Return how the signs of a word are pronounced; kana stand side by side."""
    said = [SPACES.sub(" ", node.text()).strip() for node in ruby.css("rt")]
    return re.sub(rf"(?<={_KANA}) (?={_KANA})", "", " ".join(filter(None, said)))


def _field_text(node: LexborNode) -> str:
    """Return what a reader sees of an input."""
    attributes = node.attributes
    kind = (attributes.get("type") or "").lower()
    if kind == "image":
        return attributes.get("alt") or ""
    value = attributes.get("value") or ""
    if kind in _BUTTONS:
        return "" if is_control(value) else value
    return value or attributes.get("placeholder") or "" if kind in _SHOWN_FIELDS else ""


def _leave(node: LexborNode, tag: str, writer: PageWriter, heading: tuple[int, int]) -> None:
    if tag == "table":
        writer.close_table()
    elif tag in _PREFORMATTED:
        writer.preformatted -= 1
    elif tag in _LISTS:
        writer.numbers.pop()
    elif tag == "li":
        writer.bullet = ""
    elif tag in _BOXES:
        writer.write(" ")
    elif tag in _AFTER:
        writer.write_after(_AFTER[tag])
    if tag in _HEADINGS:
        has_readings = node.css_first("ruby") is not None
        said = "".join(writer.parts[heading[1] :]) if has_readings else node.text()
        text = _MARK.sub("", SPACES.sub(" ", said)).strip()
        if text:
            writer.headings.append(Heading(heading[0], int(tag[1]), text))
    if tag in _BLOCKS and not (writer.open_tables and _fills_cell(node)):
        writer.place_images()
        writer.break_line(2 if tag in _PARAGRAPHS else 1)
