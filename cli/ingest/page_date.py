"""When a page was published and changed, as it says of itself."""

import json
import re
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from pgblend.cli.ingest.dates import moment_of

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
_NAMES = ("property", "name", "itemprop", "http-equiv")
_SLASHES = re.compile(r"^(\d{4})[/.](\d\d?)[/.](\d\d?)")
_MOST_OBJECTS = 1000  # of linked data


def page_dates(tree: LexborHTMLParser) -> dict[str, str]:
    """Return `published` and `modified`, each where the page tells a date that can be read.

    Its <meta> comes first, then linked data (schema.org), then <time>: what is marked as the
    page's, the first of its article, or the only one that there is.
    """
    stated: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        for name in _NAMES:
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
