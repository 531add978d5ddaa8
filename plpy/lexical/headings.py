"""Headings within a text: where Markdown marks them, and what their words count more."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

# Three blanks may stand before a mark: what stands further in is code.
MARK = (
    r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})(?P<info>.*)|(?P<marks>#{1,6})[ \t]+(?P<text>\S.*)"
    r"|(?P<line>={3,}|-{3,})[ \t\r]*$)"
)
# How a line begins that is no title above a line of = or -.
NO_TITLE = re.compile(r"\s{4}|\s*(?:[-*+>|#`~]|$)")
LONGEST = 200
TITLE = 3  # how many times a word of the title counts (title_weight)
CLOSING = re.compile(r"(?:[ \t]+#+)?\s*$")
ADDRESS = re.compile(r"\]\([^)]*\)")


class OwnHeading(NamedTuple):
    """A heading that begins at `offset` of a text, with its level from 1."""

    offset: int
    level: int
    text: str


def markdown_headings(text: str) -> list[OwnHeading]:
    """Return the headings of a Markdown text in order; what is between fences is none.

    One # begins a comment in many languages. So such a line counts with nothing but blank lines
    beside it, or at the text's beginning.
    """
    found: list[OwnHeading] = []
    if "#" not in text and "===" not in text and "---" not in text:
        return found
    fence = ""
    for match in re.finditer(MARK, text, re.MULTILINE):
        mark = match["fence"]
        if fence:
            if mark and mark.startswith(fence) and not match["info"].strip():
                fence = ""
        elif mark:
            fence = mark if mark[0] == "~" or "`" not in match["info"] else ""
        elif match["marks"]:
            level = len(match["marks"])
            if level > 1 or _stands_alone(text, match.start(), match.end()):
                found.append(OwnHeading(match.start(), level, CLOSING.sub("", match["text"])))
        elif heading := _underlined(text, match.start(), match["line"][0]):
            found.append(heading)
    return levelled(found)


def marked(headings: Sequence[OwnHeading], start: int, end: int) -> str:
    """Write the headings of a part of the text as a chunk has them (own_headings).

    A line each, marked as in Markdown.
    """
    first, last = (bisect_left(headings, (place,)) for place in (start, end))
    return "\n".join(f"{'#' * min(each.level, 6)} {each.text}" for each in headings[first:last])


def levelled(headings: Sequence[OwnHeading]) -> list[OwnHeading]:
    """Return headings one level deeper where several have level 1: none of these is a title."""
    deeper = [each.level for each in headings].count(1) > 1
    return [each._replace(level=each.level + deeper) for each in headings]


def heading_words(title: str, heading: str, text: str, own_headings: str) -> tuple[str, str]:
    """Return the headings above a chunk's text, and the words that those within it add to it.

    A word of a heading within counts twice more at level 3 or below, 3 times at 2, 4 times at 1.
    With the text itself that is 3 to 5. So no text's short last passage has a word before a
    heading's. One that is the title counts as such already, so TITLE times less. A heading that the
    text begins with is within it, not above. Whoever writes chunks says what headings are. So one
    counts only where it stands in the text, each behind the one before.
    """
    if not own_headings:
        return heading, ""
    lines = [line.partition(" ")[::2] for line in own_headings.split("\n")]
    first = lines[0][1]
    if heading == first or heading.endswith(f" > {first}"):
        heading = heading[: -len(first)]
    text, at, within = " ".join(text.split()), 0, list[str]()
    for marks, words in lines:
        found = text.find(sought := " ".join(words.split()), at)
        if found >= 0:
            at = found + len(sought)
            within += [words] * (_more(len(marks)) - TITLE * (words == title))
    return heading, ADDRESS.sub("]", "\n".join(within))


def _more(level: int) -> int:
    return max(5 - level, 2)


def _line_before(text: str, start: int) -> tuple[int, str]:
    """Return where the line before the one at `start` begins, and what stands there."""
    begin = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return begin, text[begin : max(start - 1, 0)]


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = _line_before(text, start)[1]
    after = text[end + 1 : end + 1 + LONGEST].split("\n", 1)[0]
    if before.strip():
        return False
    return not after.strip() or (not text[:start].strip() and not after.startswith("#"))


def _underlined(text: str, line: int, mark: str) -> OwnHeading | None:
    """Return the heading above a line of = or -, where it is a paragraph of one line."""
    start, title = _line_before(text, line)
    if len(title) > LONGEST or NO_TITLE.match(title) or _line_before(text, start)[1].strip():
        return None
    return OwnHeading(start, 1 if mark == "=" else 2, title.strip())
