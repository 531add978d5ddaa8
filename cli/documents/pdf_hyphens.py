"""Words of a PDF that a line, a column or a page ends within: whole again, or with their hyphen."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

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
