"""What of a page of the web is not its subject: navigation, menus, banners about cookies.

Elements and roles say so, else the names that programs which make sites give to classes. What such
a name is given to must also consist of links, since a restaurant has a menu too.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pgblend.cli.documents.dates import moment_of

# When a page was published and changed, as it says of itself.

# Names of <meta> (name, property, itemprop, http-equiv), without : . - _, the surest first.
_PUBLISHED = (
    *("articlepublishedtime", "ogpublishedtime", "datepublished", "citationpublicationdate"),
    *("parselypubdate", "pubdate", "publishdate", "dctermsissued", "dcdateissued", "dctermsdate"),
    *("dcdate", "citationdate", "date", "dctermscreated", "dcdatecreated", "datecreated"),
)
_MODIFIED = (
    *("articlemodifiedtime", "ogupdatedtime", "datemodified", "dctermsmodified"),
    *("dcdatemodified", "lastmodified", "lastmod", "revised"),
)
_DATE_NAMES = ("property", "name", "itemprop", "http-equiv")
_SLASHES = re.compile(r"^(\d{4})[/.](\d\d?)[/.](\d\d?)")
_MOST_OBJECTS = 1000  # of linked data


def page_dates(tree: LexborHTMLParser) -> dict[str, str]:
    """Return `published` and `modified`, each where the page tells a date that can be read.

    Its <meta> comes first, then linked data (schema.org), then <time>. Of several that is what is
    marked as the page's, the first of its article, or the only one.
    """
    stated: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        for name in _DATE_NAMES:
            key = re.sub("[:._-]", "", (node.attributes.get(name) or "").lower())
            _keep(stated, key, node.attributes.get("content"))
    for name, value in _linked_data(tree):
        _keep(stated, name.lower(), value)
    found = {
        kind: date
        for kind, names in (("published", _PUBLISHED), ("modified", _MODIFIED))
        if (date := next((stated[name] for name in names if name in stated), None))
    }
    if not found:
        times = _times(tree)
        return {"published": times} if times else {}
    return found


def _keep(stated: dict[str, str], key: str, value: Any) -> None:
    """Note the first date of a name, as ISO 8601 where it is written with slashes."""
    text = value.strip() if isinstance(value, str) else ""
    text = _SLASHES.sub(lambda m: f"{m[1]}-{m[2]:0>2}-{m[3]:0>2}", text)
    if key and key not in stated and moment_of(text):
        stated[key] = text


def _linked_data(tree: LexborHTMLParser) -> Iterator[tuple[str, Any]]:
    """Yield the dates of schema.org's objects: those of the page before those that it holds."""
    for node in tree.css('script[type="application/ld+json"]'):
        try:
            objects = [json.loads(node.text())]
        except (ValueError, RecursionError):
            continue
        for one in objects:  # which grows meanwhile
            if isinstance(one, dict):
                yield from ((name, one[name]) for name in _OF_SCHEMA if name in one)
            if isinstance(one, dict | list) and len(objects) < _MOST_OBJECTS:
                objects += one.values() if isinstance(one, dict) else one


_OF_SCHEMA = ("datePublished", "dateModified", "dateCreated")


def _times(tree: LexborHTMLParser) -> str:
    """Return the date that a page shows as its own; "" where none stands out."""
    marked = tree.css("time[pubdate], [itemprop=datePublished]")
    of_article = tree.css("article time[datetime], main time[datetime]")
    all_there = tree.css("time[datetime]")
    for nodes in (marked, of_article, all_there if len(all_there) == 1 else []):
        for node in nodes:
            stated: dict[str, str] = {}
            _keep(stated, "time", _value(node))
            if stated:
                return stated["time"]
    return ""


def _value(node: LexborNode) -> str:
    return node.attributes.get("datetime") or node.attributes.get("content") or node.text()


_ROLES = frozenset(("navigation", "menubar", "menu", "search", "doc-pagelist"))
_NAMES = re.compile(
    r"(?:^|[-_])(?:"
    r"(?:top|sub|site|side|main|page|post|doc|prev|header|footer|mw|wy|bottom)?nav"
    r"(?:bar|igation|header|footer|list|panel|path|row|links?|tree|item|s)?"
    r"|menu(?:bar|s)?|sidebar|sidenav|breadcrumbs?|crumbs?|pagination|pager|prevnext|prev-next"
    r"|related|skip(?:-?(?:link|nav|to-content))?|jump-link|toctree|tabs|footer|topbar|toolbar"
    r"|site-header|masthead|widgets?|widget-area|share|sharing|social|editsection|catlinks|printfooter|portlet"
    r"|table-of-contents|on-this-page|lang(?:uage)?s?(?:-(?:switcher|list|links))?|siteinfo"
    r")(?:$|[-_])"
)
_CONSENT = re.compile(r"cookie|consent|gdpr|onetrust|cmplz|cybot", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# So much of a block's text is in links where it is a menu.
_LINKED = 0.6
_FARTHEST_ABOVE = 20
_LONGEST_BANNER = 2000
_LONGEST_ROW = 400
# The name of a site and its motto, beside its menu.
_LONGEST_BRAND = 200
_GENERATED = re.compile(
    r"(?:(?:this|document|documentation|page|site|report|was|is|automatically|proudly)\s)*"
    r"(?:generated|built|created|powered|made) (?:by|with|using)\b",
    re.IGNORECASE,
)
_RELATIONS = frozenset(("next", "prev", "previous", "up", "start", "contents", "index", "first"))
_RELATION_KEYS = frozenset("nphu")
# What rows of links say that lead through a manual, in the languages that manuals are read in.
_STEP_WORDS = (
    "next prev previous up home top back first last contents index toc start forward "
    "weiter zurück nach oben startseite inhalt inhaltsverzeichnis suivant précédent sommaire "
    "accueil siguiente anterior inicio arriba índice avanti indietro successivo precedente "
    "volgende vorige próximo nächste vorherige nächstes vorheriges "
    "chapter page section article post topic lesson part kapitel seite node"
)
_STEPS = frozenset(_STEP_WORDS.split())
_WORD = re.compile(r"[^\W\d_]+")
_PERMALINKS = frozenset(
    ("\u00b6", "#", "\u00a7", "\U0001f517", "permalink", "permalink to this heading")
)
_EDITS = frozenset(
    ("edit this page", "edit on github", "view page source", "view source", "improve this page")
)
_CONTROL_WORDS = (
    "copy copied copy-code copy-to-clipboard close dismiss menu open-menu close-menu toggle "
    "toggle-navigation toggle-menu toggle-sidebar expand collapse search hide show back-to-top "
    "scroll-to-top print share edit \u00d7 x ok toggle-theme toggle-dark-mode primary-menu "
    "on-this-page table-of-contents accept accept-all"
)
_CONTROLS = frozenset(_CONTROL_WORDS.split())
# How the names of buttons begin that show a picture alone and only work the page.
_CONTROL_START_WORDS = (
    "toggle switch copy close open expand collapse show hide scroll menu search previous next "
    "back dismiss share print edit play pause settings"
)
_CONTROL_STARTS = frozenset(_CONTROL_START_WORDS.split())
_ROWS = frozenset(("p", "div", "table", "ul", "ol", "center", "span", "tr"))
_NO_BANNERS = frozenset(("a", "span", "p", "h1", "h2", "h3", "code", "li", "td"))
_SUBJECTS = frozenset(("main", "article", "section", "blockquote", "aside"))
_TOPS = frozenset(("html", "body", "main", "article"))


class Furniture:
    """Tells what of a page is no subject of it; knows the page's headings."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._main_headings = len(tree.css("h1"))
        self._has_headings = tree.css_first("h1, h2") is not None

    def has(self, node: LexborNode, tag: str, is_above: bool) -> bool:
        """Whether an element is there for finding one's way, not for what the page is about.

        `is_above` says that no heading was read yet.
        """
        if tag in _TOPS:
            return False
        attributes = node.attributes
        if tag == "nav" or attributes.get("role") in _ROLES:
            return not self._has_main_heading(node)
        if tag in ("header", "footer") or attributes.get("role") == "contentinfo":
            return self._is_of_site(node)
        if tag == "a":
            return _is_mark(node)
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".strip()
        if names and _CONSENT.search(names) and self._is_banner(node):
            return True
        if names and any(_NAMES.search(name) for name in _plain_names(names)):
            is_other = _leads_elsewhere(node) or _names_generator(node)
            return is_other and not self._has_main_heading(node)
        if tag in _ROWS and _is_row_of_steps(node):
            return True
        return tag in ("ul", "ol") and is_above and self._has_headings and _is_menu(node)

    def _has_main_heading(self, node: LexborNode) -> bool:
        """Whether an element has the page's subject in it, or its only main heading."""
        if node.css_first("main, article") is not None:
            return True
        own = len(node.css("h1"))
        return bool(own) and own == self._main_headings

    def _is_of_site(self, node: LexborNode) -> bool:
        """Whether a header or footer is that of the site, and not of an article."""
        if _is_within_subject(node) or self._has_main_heading(node):
            return False
        has_menu = node.css_first("nav, [role=navigation], [role=search], form") is not None
        is_brand = node.tag == "header" and has_menu and _own_size(node) < _LONGEST_BRAND
        return is_brand or _linked_share(node) >= _LINKED or _names_generator(node)

    def _is_banner(self, node: LexborNode) -> bool:
        if node.tag in _NO_BANNERS or len(node.text()) > _LONGEST_BANNER:
            return False
        is_asked = node.css_first("button, input, a, [role=button]") is not None
        return is_asked and not self._has_main_heading(node)


def is_control(text: str) -> bool:
    """Whether a button only works the page: Copy, Close, Menu."""
    return "-".join(text.casefold().split()) in _CONTROLS


def is_picture_alone(node: LexborNode) -> bool:
    """Whether an element may be a picture that only its name tells: a button, a link, a drawing.

    Links within a page are the marks beside its headings.
    """
    role = node.attributes.get("role")
    is_link = node.tag == "a" and "#" not in (node.attributes.get("href") or "#")
    # The title of a drawing elsewhere than in a button is read by itself.
    return role == "button" or ((is_link or role == "img") and node.css_first("title") is None)


def button_name(node: LexborNode) -> str:
    """Return the name of a button that shows no text, unless the button only works the page."""
    title = node.css_first("svg title")
    drawn = title.text() if title is not None else ""
    if node.text().replace(drawn, "", 1).strip() or node.css_first('img[alt]:not([alt=""])'):
        return ""
    name = " ".join((node.attributes.get("aria-label") or drawn).split())
    is_work = is_control(name) or name.casefold().partition(" ")[0] in _CONTROL_STARTS
    return "" if is_work else name


def names_drawing(title: LexborNode) -> bool:
    """Whether a title is read as that of a drawing; one in a button is the button's name."""
    above, is_drawing = title.parent, False
    for _ in range(_FARTHEST_ABOVE):
        if above is None:
            break
        if above.tag == "button" or above.attributes.get("role") == "button":
            return False
        if above.tag == "svg":
            is_drawing = above.attributes.get("aria-hidden") != "true"
        above = above.parent
    return is_drawing


def _plain_names(names: str) -> list[str]:
    return [_CAMEL.sub("-", name).lower() for name in names.split()]


def _own_size(node: LexborNode) -> int:
    """Return how much text an element has that is in no menu."""
    return _size(node) - sum(map(_size, node.css("nav, form, ul, [role=navigation]")))


def _is_mark(link: LexborNode) -> bool:
    """Whether a link is but the mark beside a heading that leads to it, or leads past a menu."""
    text = " ".join(link.text().split()).casefold()
    target = link.attributes.get("href") or ""
    if text in _EDITS or "#" not in target:
        return text in _EDITS
    names = link.attributes.get("class") or ""
    return text in _PERMALINKS or "skip" in names or text.startswith(("skip to", "jump to"))


def _leads_elsewhere(node: LexborNode) -> bool:
    """Whether an element consists of links, or has titles beside those to the next pages."""
    if _linked_share(node) >= _LINKED:
        return True
    return _size(node) < _LONGEST_ROW and any(map(_is_step, node.css("a")))


def _names_generator(node: LexborNode) -> bool:
    """Whether an element says no more than which program made the page."""
    text = " ".join(node.text(separator=" ").split())
    return len(text) < _LONGEST_BRAND and _GENERATED.match(text) is not None


def _linked_share(node: LexborNode) -> float:
    """Return how much of an element's text below its titles is in links; 1 where there is none."""
    titles = sum(map(_size, node.css("h1, h2, h3, h4, h5, h6, legend")))
    size = _size(node) - titles
    linked = sum(_size(link) for link in node.css("a, button, label, input, option"))
    return linked / size if size > 0 else 1.0


def _size(node: LexborNode) -> int:
    return len("".join(node.text().split()))


def _is_row_of_steps(node: LexborNode) -> bool:
    """Whether an element is a row such as "Prev | Up | Home | Next", with the pages' titles."""
    links = node.css("a")
    if not 1 < len(links) <= 12 or len(node.text()) > _LONGEST_ROW:
        return False
    steps = sum(map(_is_step, links))
    own = _own_words(node, links)
    return (steps >= 2 or (steps == 1 and len(links) == 2)) and own <= _STEPS


def _is_step(link: LexborNode) -> bool:
    attributes = link.attributes
    if (attributes.get("rel") or "").lower() in _RELATIONS:
        return True
    if (attributes.get("accesskey") or "").lower() in _RELATION_KEYS:
        return True
    words = set(_WORD.findall(link.text().casefold()))
    return bool(words) and words <= _STEPS


def _own_words(node: LexborNode, links: list[LexborNode]) -> set[str]:
    """Return the words of an element that are in none of its links."""
    text = node.text(separator=" ").casefold()
    for link in links:
        text = text.replace(link.text(separator=" ").casefold(), " ", 1)
    return set(_WORD.findall(text))


def _is_menu(node: LexborNode) -> bool:
    """Whether a list above the page's headings is of nothing but links."""
    items = [child for child in node.iter() if child.tag == "li"]
    return len(items) >= 3 and _linked_share(node) >= 0.95 and not _is_within_subject(node)


def _is_within_subject(node: LexborNode) -> bool:
    above = node.parent
    while above is not None and above.tag not in ("body", "html"):
        if above.tag in _SUBJECTS:
            return True
        above = above.parent
    return False
