"""Passages of source code: cut at functions and classes, with what is around them as context."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from pgblend.cli.ingest.document import Document, Scope
from pgblend.cli.tokens import count_tokens

_LONGEST_SIGNATURE = 160
# Definitions are put together up to this share of a passage: one that is longer stands alone, for
# a vector of many is near to none of them (docs/decisions/ingest.md).
_TOGETHER = 4


def code_bounds(document: Document, limit: int) -> list[int]:
    """Return where parts of code begin and end, each of whole functions and classes.

    What is larger than a quarter of `limit` tokens is cut at what is within it; smaller neighbours
    are put together up to that.
    """
    limit //= _TOGETHER
    text = document.text
    cuts: dict[int, list[int]] = {}
    for scope in document.scopes:
        cuts.setdefault(scope.depth, []).extend(_lines_around(text, scope))
    levels = [sorted(set(cuts[depth])) for depth in sorted(cuts)]
    bounds, tokens, start = [0], 0, 0
    for end, size in _whole(text, 0, len(text), levels, limit):
        if tokens + size > limit and start > bounds[-1]:
            bounds.append(start)
            tokens = 0
        tokens += size
        start = end
    return [*bounds, len(text)] if text else [0]


def _lines_around(text: str, scope: Scope) -> tuple[int, int]:
    end = text.find("\n", max(scope.end - 1, scope.start))
    return text.rfind("\n", 0, scope.start) + 1, len(text) if end < 0 else end + 1


def _whole(
    text: str, start: int, end: int, levels: list[list[int]], limit: int
) -> Iterator[tuple[int, int]]:
    """Yield what stays whole: where it ends, and its tokens."""
    size = count_tokens(text[start:end])
    if not levels or size <= limit:
        yield end, size
        return
    cuts = levels[0]
    inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, end)]
    for first, last in pairwise([start, *inner, end]):
        yield from _whole(text, first, last, levels[1:], limit)


class CodeContext:
    """Tells what is around a place in code: the path of its file, the classes and functions."""

    def __init__(self, document: Document) -> None:
        self._path = document.source_key
        self._scopes = document.scopes
        self._starts = [scope.start for scope in document.scopes]
        self._around: list[int] = []
        stack: list[int] = []
        for number, scope in enumerate(document.scopes):
            while stack and self._scopes[stack[-1]].end <= scope.start:
                stack.pop()
            self._around.append(stack[-1] if stack else -1)
            stack.append(number)

    def of(self, place: int) -> str:
        """Return the path, then the first lines of what the place lies within, from outside."""
        number = bisect_left(self._starts, place) - 1
        lines: list[str] = []
        while number >= 0:
            scope = self._scopes[number]
            if scope.end > place:
                lines.insert(0, scope.signature[:_LONGEST_SIGNATURE])
            number = self._around[number]
        return "\n".join(filter(None, [self._path, *lines]))
