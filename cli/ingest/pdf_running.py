"""Running heads and feet of a PDF: lines that come again at the edges of most pages."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Lines at the edge of a page: of so many the first and the last, in so much of its height.
_LINES = 3
_EDGE = 0.15
_LEAST_PAGES = 3
_LONGEST = 200
_SHARE = 0.5
# Of the left pages, or of the right ones, so many more.
_SIDE_SHARE = 0.7
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlcdm]{1,8}", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2}")
# So many different ones are kept.
_MOST_KEPT = 20

Line = tuple[str, float]


@dataclass(frozen=True)
class Running:
    """The heads and feet that repeat, as they were first seen; pages' numbers alone are none."""

    heads: tuple[str, ...]
    feet: tuple[str, ...]


def without_running(pages: Sequence[Sequence[Line]]) -> tuple[list[list[str]], Running]:
    """Return each page's lines without those that repeat on most pages, and these.

    Lines are alike where they differ in numbers alone. Books have one head on left pages and
    another on right ones: each is counted among its own.
    """
    edges = [(_edge(page, 1), _edge(page, -1)) for page in pages]
    kept: list[list[str]] = []
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    repeated = [_repeated([edge[side] for edge in edges]) for side in (0, 1)]
    for page, edge in zip(pages, edges, strict=True):
        dropped = set()
        for side in (0, 1):
            for number, key in edge[side].items():
                if key in repeated[side]:
                    dropped.add(number)
                    found[side].setdefault(key, page[number][0])
        kept.append([text for number, (text, _) in enumerate(page) if number not in dropped])
    heads, feet = (
        tuple(text for text in each.values() if _WORD.search(text))[:_MOST_KEPT] for each in found
    )
    return kept, Running(heads, feet)


def _edge(page: Sequence[Line], direction: int) -> dict[int, str]:
    """Return the lines at the head (1) or the foot (-1) of a page by number, as their keys."""
    order = sorted(range(len(page)), key=lambda number: -direction * page[number][1])[:_LINES]
    found = {}
    for number in order:
        text, height = page[number]
        is_edge = height >= 1 - _EDGE if direction > 0 else height <= _EDGE
        if is_edge and len(text) <= _LONGEST:
            found[number] = _key(text)
    return found


def _key(text: str) -> str:
    words = " ".join(text.casefold().split())
    return "#" if _ROMAN.fullmatch(words) else _DIGITS.sub("#", words)


def _repeated(edges: Sequence[dict[int, str]]) -> set[str]:
    """Return the keys that most pages have, or most of the left ones, or most of the right ones."""
    found: set[str] = set()
    for some, share in ((edges, _SHARE), (edges[::2], _SIDE_SHARE), (edges[1::2], _SIDE_SHARE)):
        if len(some) >= _LEAST_PAGES:
            counts = Counter(key for edge in some for key in set(edge.values()))
            found |= {key for key, count in counts.items() if count > share * len(some)}
    return found
