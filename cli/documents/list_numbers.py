"""The numbers and signs before headings and lists: Word's, and OpenDocument's with hidden text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.documents.office_file import local_name

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BULLET = "-"
_LEVELS = 9
_ROMAN = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L")),
    *((40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)
_PLACE = re.compile(r"%([1-9])")
_ORDINAL = {1: "st", 2: "nd", 3: "rd"}


@dataclass
class _Level:
    start: int = 1
    format: str = "decimal"
    text: str = ""
    is_legal: bool = False
    restart: int | None = None


@dataclass
class _List:
    """A list's levels, those of its own first; what is counted is common to all of one kind."""

    kind: str
    levels: dict[int, _Level]
    starts: dict[int, int] = field(default_factory=dict)


class ListNumbers:
    """Counts paragraphs in the order in which they are asked for."""

    def __init__(self, numbering: Any, styles: Any) -> None:
        self._styles = _style_lists(styles)
        self._linked: dict[str, int] = {}
        self._lists = {} if numbering is None else self._read_lists(numbering)
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[tuple[str, int]] = set()

    def next(self, properties: Any) -> str | None:
        """Count a paragraph: its number, BULLET, "" for one without a sign; None without a list."""
        number, level = self._place(properties)
        numbered = self._lists.get(number)
        if numbered is None or level not in numbered.levels:
            return None
        counts = self._counts.setdefault(numbered.kind, [None] * _LEVELS)
        before = counts[level]
        if level in numbered.starts and (number, level) not in self._begun:
            before = None
        self._begun.add((number, level))
        first = numbered.starts.get(level, numbered.levels[level].start)
        counts[level] = first if before is None else before + 1
        for deeper in range(level + 1, _LEVELS):
            restart = numbered.levels.get(deeper, _Level()).restart
            if restart is None or level < restart:
                counts[deeper] = None
        return _label(numbered.levels, counts, level)

    def _place(self, properties: Any) -> tuple[str, int]:
        """Return the list and the level of a paragraph, its own before its style's."""
        style = _value(properties, "pStyle") if properties is not None else ""
        number, level = self._styles.get(style or "", ("", None))
        own = properties.find(f"{W}numPr") if properties is not None else None
        if own is not None:
            number = _value(own, "numId") or number
            level = _whole(_value(own, "ilvl"), level)
        if level is None:
            level = self._linked.get(style or "", 0)
        return number, level

    def _read_lists(self, numbering: Any) -> dict[str, _List]:
        kinds: dict[str, dict[int, _Level]] = {}
        links: dict[str, str] = {}
        for kind in numbering.iterchildren(f"{W}abstractNum"):
            name = kind.get(f"{W}abstractNumId", "")
            links[name] = _value(kind, "numStyleLink")
            kinds[name] = {}
            for level in kind.iterchildren(f"{W}lvl"):
                place = _whole(level.get(f"{W}ilvl"), 0) or 0
                kinds[name][place] = _read_level(level)
                if style := _value(level, "pStyle"):
                    self._linked.setdefault(style, place)
        kind_of = {
            each.get(f"{W}numId", ""): _value(each, "abstractNumId")
            for each in numbering.iterchildren(f"{W}num")
        }
        lists = {}
        for each in numbering.iterchildren(f"{W}num"):
            name = each.get(f"{W}numId", "")
            kind = kind_of[name]
            if links.get(kind):  # the list is that of a style
                kind = kind_of.get(self._styles.get(links[kind], ("", None))[0], kind)
            lists[name] = _overridden(each, kind, kinds.get(kind, {}))
        return lists


def _overridden(number: Any, kind: str, levels: dict[int, _Level]) -> _List:
    numbered = _List(kind, dict(levels))
    for override in number.iterchildren(f"{W}lvlOverride"):
        place = _whole(override.get(f"{W}ilvl"), 0) or 0
        level = override.find(f"{W}lvl")
        if level is not None:
            numbered.levels[place] = _read_level(level)
        start = _whole(_value(override, "startOverride"), None)
        if start is not None:
            numbered.starts[place] = start
    return numbered


def _style_lists(styles: Any) -> dict[str, tuple[str, int | None]]:
    """Map the ids of styles to their list and level, those of the styles they build on too."""
    own: dict[str, tuple[str, int | None]] = {}
    bases: dict[str, str] = {}
    for style in () if styles is None else styles.iter(f"{W}style"):
        name = style.get(f"{W}styleId", "")
        bases[name] = _value(style, "basedOn")
        numbers = style.find(f"{W}pPr/{W}numPr")
        if numbers is not None:
            own[name] = (_value(numbers, "numId"), _whole(_value(numbers, "ilvl"), None))
    found = {}
    for name in bases:
        base, seen = name, set()
        while base and base not in seen and not own.get(base, ("", None))[0]:
            seen.add(base)
            base = bases.get(base, "")
        if own.get(base, ("", None))[0]:
            number, level = own[base]
            found[name] = (number, own.get(name, ("", level))[1] if base != name else level)
    return found


def _read_level(level: Any) -> _Level:
    formats = [each.get(f"{W}val", "") for each in level.iter(f"{W}numFmt")]
    custom = [each.get(f"{W}format") for each in level.iter(f"{W}numFmt") if each.get(f"{W}format")]
    return _Level(
        start=_whole(_value(level, "start"), 0) or 0,
        format=custom[0] if custom else (formats[-1] if formats else "decimal"),
        text=_value(level, "lvlText"),
        is_legal=_is_on(level.find(f"{W}isLgl")),
        restart=_whole(_value(level, "lvlRestart"), None),
    )


def _label(levels: dict[int, _Level], counts: list[int | None], level: int) -> str:
    own = levels[level]
    if own.format == "bullet":
        return BULLET
    if own.format == "none" and not _PLACE.search(own.text):
        return own.text.strip()

    def shown(match: re.Match[str]) -> str:
        place = int(match.group(1)) - 1
        other = levels.get(place, _Level())
        count = counts[place]
        kind = "decimal" if own.is_legal else other.format
        return written(other.start if count is None else count, kind)

    return _PLACE.sub(shown, own.text).strip()


def written(number: int, kind: str) -> str:
    """Write a number in one of Word's formats; those of other scripts in digits."""
    if kind in ("upperRoman", "lowerRoman") and 0 < number < 4000:
        letters = _roman(number)
        return letters if kind == "upperRoman" else letters.lower()
    if kind in ("upperLetter", "lowerLetter") and number > 0:
        letters = chr(ord("A") + (number - 1) % 26) * min((number - 1) // 26 + 1, 20)
        return letters if kind == "upperLetter" else letters.lower()
    if kind == "ordinal":
        is_teen = number % 100 in (11, 12, 13)
        return f"{number}{'th' if is_teen else _ORDINAL.get(number % 10, 'th')}"
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{number:02}"
    width = len(kind.partition(",")[0].strip()) if kind[:1] == "0" else 0
    return str(number).zfill(width)


def _roman(number: int) -> str:
    letters = ""
    for value, part in _ROMAN:
        letters += part * (number // value)
        number %= value
    return letters


def _value(parent: Any, name: str) -> str:
    child = parent.find(f"{W}{name}")
    return "" if child is None else child.get(f"{W}val", "")


def _whole(text: str | None, default: int | None) -> int | None:
    is_number = text is not None and text.isdecimal() and text.isascii() and len(text) < 10
    return int(text or "") if is_number else default


def _is_on(element: Any) -> bool:
    return element is not None and element.get(f"{W}val", "1") not in ("0", "false", "off")


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_NEWER = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}num-list-format"
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_LIST, _ITEM, _HEADER = f"{_TEXT}list", f"{_TEXT}list-item", f"{_TEXT}list-header"
_DELETED = f"{_TEXT}tracked-changes"
_BLOCKS = (f"{_TEXT}h", f"{_TEXT}p")
_ODT_LEVELS = 10
_ODT_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter"}
_ODT_FORMATS |= {"i": "lowerRoman", "I": "upperRoman"}
_ODT_PLACE = re.compile(r"%(\d{1,2})%")

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
        self._headings: _Counts = [None] * (_ODT_LEVELS + 1)
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
        start = _odt_whole(block.get(f"{_TEXT}start-value"))
        if start is None and block.get(f"{_TEXT}restart-numbering") == "true":
            start = 1
        level = _odt_whole(block.get(f"{_TEXT}outline-level")) or 1
        return _counted(self._outline, self._headings, level, start)

    def _next_item(self, item: Any) -> str:
        around = list(item.iterancestors(_LIST))
        top, level = around[-1], len(around)
        named = (each.get(f"{_TEXT}style-name") for each in around)
        style = next(filter(None, named), "")
        if top not in self._lists:
            self._lists[top] = self._begin(top, top.get(f"{_TEXT}style-name") or style)
        levels = self._styles.get(style, {})
        return _counted(
            levels, self._lists[top], level, _odt_whole(item.get(f"{_TEXT}start-value"))
        )

    def _begin(self, top: Any, style: str) -> _Counts:
        """Return what a list counts on from: nothing, or a list before it."""
        counts: _Counts | None = None
        if other := top.get(f"{_TEXT}continue-list"):
            counts = self._by_id.get(other)
        elif top.get(f"{_TEXT}continue-numbering") == "true":
            counts = self._by_style.get(style)
        counts = [None] * (_ODT_LEVELS + 1) if counts is None else counts
        self._by_style[style] = counts
        if name := top.get(_ID):
            self._by_id[name] = counts
        return counts


def _levels(style: Any) -> _Levels:
    return {_odt_whole(level.get(f"{_TEXT}level")) or 1: level for level in style}


def _counted(levels: _Levels, counts: _Counts, level: int, start: int | None) -> str:
    """Count a level on, and return its label."""
    level = min(level, _ODT_LEVELS)
    before = counts[level]
    first = start if start is not None else _start(levels, level)
    counts[level] = first if before is None or start is not None else before + 1
    counts[level + 1 :] = [None] * (_ODT_LEVELS - level)
    own = levels.get(level)
    if own is None:
        return ""
    if local_name(own).endswith(("bullet", "image")):
        return BULLET
    if not _format(own):
        return ""

    def shown(place: int) -> str:
        count = counts[place] if counts[place] is not None else _start(levels, place)
        return written(count or 0, _ODT_FORMATS.get(_format(levels.get(place)), "decimal"))

    if newer := own.get(_NEWER):
        return _ODT_PLACE.sub(lambda match: shown(min(int(match[1]), level)), newer).strip()
    depth = _odt_whole(own.get(f"{_TEXT}display-levels")) or 1
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
    start = _odt_whole(levels[level].get(f"{_TEXT}start-value")) if level in levels else None
    return 1 if start is None else start


def _odt_whole(text: str | None) -> int | None:
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
