"""The numbers and signs that OpenDocument texts show before headings and lists, and hidden text."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pgblend.cli.documents.docx_numbers import BULLET, written
from pgblend.cli.documents.office_file import local_name

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_NEWER = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}num-list-format"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_LIST, _ITEM, _HEADER = f"{_TEXT}list", f"{_TEXT}list-item", f"{_TEXT}list-header"
_DELETED = f"{_TEXT}tracked-changes"
_BLOCKS = (f"{_TEXT}h", f"{_TEXT}p")
_LEVELS = 10
_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter"}
_FORMATS |= {"i": "lowerRoman", "I": "upperRoman"}
_PLACE = re.compile(r"%(\d{1,2})%")

# A list's levels by number, from 1; and what was counted at each of them.
_Levels = dict[int, Any]
_Counts = list[int | None]


def write_numbers(content: Any, parts: Iterable[Any]) -> None:
    """Write before each paragraph of a list, and each heading, the number or sign that it shows."""
    numbers = _OdtNumbers(parts)
    for block in content.iter(*_BLOCKS):
        if next(block.iterancestors(_DELETED), None) is None:
            label = numbers.next(block)
            if label and any(text.strip() for text in block.itertext()):
                block.text = f"{label} {block.text or ''}"


class _OdtNumbers:
    """Counts blocks in their order."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self._styles: dict[str, _Levels] = {}
        self._outline: _Levels = {}
        self._unnumbered: set[str] = set()
        for part in parts:
            for style in part.iter(f"{_TEXT}list-style"):
                self._styles[style.get(f"{_STYLE}name", "")] = _levels(style)
            for style in part.iter(f"{_TEXT}outline-style"):
                self._outline = _levels(style)
            for style in part.iter(f"{_STYLE}style"):
                if style.get(f"{_STYLE}list-style-name") == "":
                    self._unnumbered.add(style.get(f"{_STYLE}name", ""))
        self._headings: _Counts = [None] * (_LEVELS + 1)
        self._lists: dict[Any, _Counts] = {}
        self._by_id: dict[str, _Counts] = {}
        self._by_style: dict[str, _Counts] = {}
        self._begun: set[Any] = set()

    def next(self, block: Any) -> str:
        """Count a block; return its label, "" without one."""
        item = next(block.iterancestors(_ITEM, _HEADER), None)
        if item is not None:
            if item.tag == _HEADER or item in self._begun:
                return ""
            self._begun.add(item)
            return self._next_item(item)
        is_heading = block.tag == _BLOCKS[0] and block.get(f"{_TEXT}is-list-header") != "true"
        if not is_heading or block.get(f"{_TEXT}style-name", "") in self._unnumbered:
            return ""
        start = _whole(block.get(f"{_TEXT}start-value"))
        if start is None and block.get(f"{_TEXT}restart-numbering") == "true":
            start = 1
        level = _whole(block.get(f"{_TEXT}outline-level")) or 1
        return _counted(self._outline, self._headings, level, start)

    def _next_item(self, item: Any) -> str:
        around = list(item.iterancestors(_LIST))
        top, level = around[-1], len(around)
        named = (each.get(f"{_TEXT}style-name") for each in around)
        style = next(filter(None, named), "")
        if top not in self._lists:
            self._lists[top] = self._begin(top, top.get(f"{_TEXT}style-name") or style)
        levels = self._styles.get(style, {})
        return _counted(levels, self._lists[top], level, _whole(item.get(f"{_TEXT}start-value")))

    def _begin(self, top: Any, style: str) -> _Counts:
        """Return what a list counts on from: nothing, or a list before it."""
        counts: _Counts | None = None
        if other := top.get(f"{_TEXT}continue-list"):
            counts = self._by_id.get(other)
        elif top.get(f"{_TEXT}continue-numbering") == "true":
            counts = self._by_style.get(style)
        counts = [None] * (_LEVELS + 1) if counts is None else counts
        self._by_style[style] = counts
        if name := top.get(_ID):
            self._by_id[name] = counts
        return counts


def _levels(style: Any) -> _Levels:
    return {_whole(level.get(f"{_TEXT}level")) or 1: level for level in style}


def _counted(levels: _Levels, counts: _Counts, level: int, start: int | None) -> str:
    """Count a level on, and return its label."""
    level = min(level, _LEVELS)
    before = counts[level]
    first = start if start is not None else _start(levels, level)
    counts[level] = first if before is None or start is not None else before + 1
    counts[level + 1 :] = [None] * (_LEVELS - level)
    own = levels.get(level)
    if own is None:
        return ""
    if local_name(own).endswith(("bullet", "image")):
        return BULLET
    if not _format(own):
        return ""

    def shown(place: int) -> str:
        count = counts[place] if counts[place] is not None else _start(levels, place)
        return written(count or 0, _FORMATS.get(_format(levels.get(place)), "decimal"))

    if newer := own.get(_NEWER):
        return _PLACE.sub(lambda match: shown(min(int(match[1]), level)), newer).strip()
    depth = _whole(own.get(f"{_TEXT}display-levels")) or 1
    places = [
        place
        for place in range(max(level - depth + 1, 1), level + 1)
        if place == level or _format(levels.get(place))
    ]
    prefix, suffix = (own.get(f"{_STYLE}num-{name}", "") for name in ("prefix", "suffix"))
    return f"{prefix}{'.'.join(map(shown, places))}{suffix}".strip()


def _format(level: Any) -> str:
    return "" if level is None else level.get(f"{_STYLE}num-format", "")


def _start(levels: _Levels, level: int) -> int:
    start = _whole(levels[level].get(f"{_TEXT}start-value")) if level in levels else None
    return 1 if start is None else start


def _whole(text: str | None) -> int | None:
    is_number = text is not None and text.isdecimal() and text.isascii() and len(text) < 10
    return int(text or "") if is_number else None


# Text that nobody sees: of a style, or in a section, that is switched off.

_DISPLAY = f"{_TEXT}display"


def drop_hidden(content: Any, parts: Iterable[Any]) -> bool:
    """Take out what is switched off, and tell whether there were words in it."""
    hidden = set(_hidden_styles(parts))
    found = False
    for element in list(content.iter(f"{_TEXT}section", f"{_TEXT}span", *_BLOCKS)):
        is_off = element.get(_DISPLAY) == "none" or element.get(f"{_TEXT}style-name") in hidden
        if is_off:
            found = found or any(text.strip() for text in element.itertext())
            element.clear(keep_tail=True)
    return found


def _hidden_styles(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        for style in part.iter(f"{_STYLE}style"):
            properties = style.find(f"{_STYLE}text-properties")
            if properties is not None and properties.get(_DISPLAY) == "none":
                yield style.get(f"{_STYLE}name", "")
