"""The numbers that Word makes for paragraphs: of headings, clauses and lists."""

import re
from dataclasses import dataclass, field
from typing import Any

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
