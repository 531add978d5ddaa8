"""The pages of a PDF between reading and writing: without heads that repeat, with whole words."""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

# Lines at the edge of a page. They are of so many the first and the last, in so much of its height.
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
# The hash of a line with its numbers left out, and these: little is kept of each page.
_Key = tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class HeadsAndFeet:
    """The heads and feet that repeat, as they were first seen; pages' numbers alone are none."""

    heads: tuple[str, ...]
    feet: tuple[str, ...]


class RunningLines:
    """Finds lines that repeat on most pages; these are handed over in order, then read again.

    Lines are alike where they differ in numbers that count pages. Books have one head on left pages
    and another on right ones: each is counted among its own.
    """

    def __init__(self) -> None:
        self._edges: list[tuple[dict[int, _Key], dict[int, _Key]]] = []
        self._repeated: tuple[set[int], ...] = ()
        self._found: tuple[dict[int, str], dict[int, str]] = ({}, {})

    def add(self, page: Sequence[Line]) -> None:
        """Take note of a page."""
        self._edges.append((_edge(page, 1), _edge(page, -1)))

    def without(self, number: int, page: Sequence[Line]) -> list[str]:
        """Return the lines of a page, once all were noted, without those that repeat."""
        if not self._repeated:
            self._repeated = tuple(
                _repeated([edges[side] for edges in self._edges]) for side in (0, 1)
            )
        dropped = set()
        for side, edge in enumerate(self._edges[number]):
            for line, (key, _) in edge.items():
                if key in self._repeated[side]:
                    dropped.add(line)
                    self._found[side].setdefault(key, page[line][0])
        return [text for line, (text, _) in enumerate(page) if line not in dropped]

    def found(self) -> HeadsAndFeet:
        """Return the heads and feet of the pages that were read again."""
        heads, feet = (
            tuple(text for text in each.values() if _WORD.search(text))[:_MOST_KEPT]
            for each in self._found
        )
        return HeadsAndFeet(heads, feet)


def _edge(page: Sequence[Line], direction: int) -> dict[int, _Key]:
    """Return the lines at the head (1) or the foot (-1) of a page by number, as their keys."""
    order = sorted(range(len(page)), key=lambda number: -direction * page[number][1])[:_LINES]
    found = {}
    for number in order:
        text, height = page[number]
        is_edge = height >= 1 - _EDGE if direction > 0 else height <= _EDGE
        if is_edge and len(text) <= _LONGEST:
            found[number] = _key(text)
    return found


def _key(text: str) -> _Key:
    words = " ".join(text.casefold().split())
    if _ROMAN.fullmatch(words):
        return hash("#"), ()
    return hash(_DIGITS.sub("#", words)), tuple(map(int, _DIGITS.findall(words)))


def _repeated(edges: Sequence[dict[int, _Key]]) -> set[int]:
    """Return the keys that most pages have, or most of the left ones, or most of the right ones."""
    found: set[int] = set()
    pages = [dict(edge.values()) for edge in edges]
    for start, step, share in ((0, 1, _SHARE), (0, 2, _SIDE_SHARE), (1, 2, _SIDE_SHARE)):
        some = pages[start::step]
        if len(some) >= _LEAST_PAGES:
            counts = Counter(key for page in some for key in page)
            found |= {
                key
                for key, count in counts.items()
                if count > share * len(some)
                and _count_pages([page.get(key) for page in some], step)
            }
    return found


def _count_pages(numbers: Sequence[tuple[int, ...] | None], step: int) -> bool:
    """Whether the numbers of a line stay from page to page, or go on as those of pages do.

    Others, of invoices that have a page each, say something.
    """
    pairs = [(one, other) for one, other in pairwise(numbers) if one is not None and other]
    wrong = sum(
        any(after - before not in (0, step) for before, after in zip(one, other, strict=True))
        for one, other in pairs
    )
    return wrong <= _SHARE * len(pairs)


# So many bytes of pages are in memory; more are in a file without a name.
_IN_MEMORY = 1 << 20


class Pages:
    """The lines of all pages, to be gone through several times, one time after another.

    They come without heads and feet that repeat, which `running` tells. A word that a page ends
    within is of this page.
    """

    def __init__(self, pages: Iterable[Sequence[Line]]) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._running = RunningLines()
        for page in pages:
            self._running.add(page)
            self._file.write(json.dumps(page).encode() + b"\n")

    def __iter__(self) -> Iterator[list[str]]:
        self._file.seek(0)
        return with_whole_ends(
            self._running.without(number, json.loads(line))
            for number, line in enumerate(self._file)
        )

    @property
    def running(self) -> HeadsAndFeet:
        """The heads and feet, once all pages were gone through."""
        return self._running.found()


# PDFium writes \ufffe or \x02 for a hyphen at a line's end, after which it joined the word.
# A longer run of letters and dashes is no word; without a bound each of its places is a beginning.
_LINE_HYPHEN = re.compile("([\\w-]{0,100})[\ufffe\x02](\\w*)")
_DIVIDED = re.compile("([\\w-]{0,100}\\w)[\ufffe\x02]\n?(\\w+)")
_COMPOUND = re.compile(r"\w+(?:-\w+)*")
# After these a hyphen stands for what the next word ends with, as in "import- und exportieren".
_LINKS = re.compile(
    "and|or|to|nor|und|oder|bis|sowie|bzw|beziehungsweise|noch|of|och|eller|og|samt"
)


def joined(lines: Sequence[str], hyphened: frozenset[str] = frozenset()) -> str:
    """Return lines as a text; words that were divided between two are whole again.

    Those that are `hyphened` (own_hyphens) keep their hyphen.
    """
    text = "\n".join(lines).replace("\ufffe\n", "\ufffe").replace("\x02\n", "\x02")
    return _LINE_HYPHEN.sub(lambda match: _whole(match, hyphened), text).strip()


def own_hyphens(pages: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return the words that lines end within and whose hyphen is their own, as the text tells.

    It has them so elsewhere, and not more often without. Or they have another hyphen, and the parts
    beside this one are words of it. `haupt- oder` are two words, unless the text has one of them.
    The pages are gone through twice.
    """
    divided = {
        (left.casefold(), right.casefold())
        for lines in pages
        for left, right in _DIVIDED.findall("\n".join(lines))
    }
    counts = _counts(pages, divided) if divided else Counter[str]()
    return frozenset(
        f"{left}{hyphen}{right}"
        for left, right in divided
        if (hyphen := _own_hyphen(left, right, counts))
    )


def _counts(pages: Iterable[Sequence[str]], divided: set[tuple[str, str]]) -> Counter[str]:
    """Count whole words, and the parts of those with hyphens, as far as they are asked for."""
    asked = {
        word
        for left, right in divided
        for part in [left.rpartition("-")[2]]
        for word in (f"{left}-{right}", left + right, part + right, part, right)
    }
    counts: Counter[str] = Counter()
    for lines in pages:
        words = _COMPOUND.findall(_DIVIDED.sub(" ", "\n".join(lines).casefold()))
        counts.update(word for word in words if word in asked)
        parts = (part for word in words if "-" in word for part in word.split("-"))
        counts.update(part for part in parts if part in asked)
    return counts


def _own_hyphen(left: str, right: str, counts: Counter[str]) -> str:
    with_hyphen, without = counts[f"{left}-{right}"], counts[f"{left}{right}"]
    if with_hyphen or without:
        return "-" if with_hyphen > without else ""
    if _LINKS.fullmatch(right):
        return "- "
    part = left.rpartition("-")[2]
    is_own = "-" in left and not counts[part + right] and counts[part] and counts[right]
    return "-" if is_own else ""


def _whole(match: re.Match[str], hyphened: frozenset[str]) -> str:
    """Join a word that was divided; before a capital or a digit the hyphen is the word's own."""
    before, after = match.groups()
    if f"{before}- {after}".casefold() in hyphened:
        return f"{before}-\n{after}"
    is_own = after[:1].isupper() or after[:1].isdigit()
    is_own = is_own or f"{before}-{after}".casefold() in hyphened
    return f"{before}-{after}" if is_own else before + after


# A word that goes on after its hyphen (also as PDFium marks it), and how it does.
_CUT = re.compile("(?<=[^\\W\\d_])[-\u00ad\ufffe\x02]\\s*$")
_REST = re.compile(r"[^\W\d_]+[^\w\s]*\s*")


def with_whole_ends(pages: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield pages; the rest of a word that one ends within is taken from the head of the next."""
    before: list[str] | None = None
    for page in pages:
        is_cut = before and page and _CUT.search(before[-1]) and page[0][:1].islower()
        if before and is_cut and (rest := _REST.match(page[0])):
            before[-1] = _CUT.sub("\ufffe", before[-1]) + rest[0].rstrip()
            page = [line for line in (page[0][rest.end() :], *page[1:]) if line]
        if before is not None:
            yield before
        before = page
    if before is not None:
        yield before
