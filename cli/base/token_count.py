"""Counting the tokens of many parts of a text that is encoded once."""

import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pgblend.plpy.lexical.split_text import text_pieces

if TYPE_CHECKING:
    import tiktoken


TOKENS = 100_277  # special ones included
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_FOLDER = Path(__file__).with_name("cl100k")  # its file has tiktoken's name: sha1 of its URL


def count_tokens(text: str) -> int:
    """Return how many cl100k_base tokens a text has."""
    return len(encode(text))


def encode(text: str) -> list[int]:
    """Return the tokens of a text; the names of special tokens are text like any other."""
    return _encoding().encode_ordinary(text)


def decode(tokens: list[int]) -> str:
    """Return the text of tokens; a cut inside a character gives U+FFFD."""
    return _encoding().decode(tokens)


def token_bytes(token: int) -> bytes:
    """Return the UTF-8 that a token stands for, which may begin or end within a character."""
    return _encoding().decode_single_token_bytes(token)


@cache
def _encoding() -> "tiktoken.Encoding":
    import tiktoken

    with _variable(_CACHE_VARIABLE, str(_FOLDER)):
        return tiktoken.get_encoding("cl100k_base")


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


# Where in a text its cl100k tokens end: what the splitter cuts by.

# Encoded in blocks, because a word of millions of characters takes more than linear time. They end
# between two words; without any in so many characters, a token may move by a few characters.
_BLOCK_CHARACTERS = 100_000
_BLOCK_END_CHARACTERS = 1_000
# A single space between two words. cl100k's pattern always begins a new word there. So tokens
# before and after it do not depend on what else there is.
WORD_CUT = re.compile(r"(?<=\S) (?=\S)")
_CONTINUES = bytes(range(0x80, 0xC0))  # bytes of a character in UTF-8 but its first
# For each token met: twice the characters that begin in it, and one more where it begins within
# one. Small, so that it stays in the processor's cache.
_shapes = array("H", bytes(2 * TOKENS))


def token_ends(text: str) -> list[int]:
    """Return the character offset at which each token ends.

    A token that ends inside a character counts as ending before it.
    """
    ends: list[int] = []
    for start, end in token_blocks(text):
        place = start
        for token in encode(text[start:end]):
            shape = _shapes[token] or _learn_shape(token)
            if shape & 1:
                ends[-1] = place - 1
            place += shape >> 1
            ends.append(place)
    return ends


def token_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each block that is encoded."""
    start = 0
    while start < len(text):
        end = start + _BLOCK_CHARACTERS
        if end < len(text):
            cut = WORD_CUT.search(text, end - _BLOCK_END_CHARACTERS, end)
            end = cut.start() if cut else end
        yield start, min(end, len(text))
        start = end


def _learn_shape(token: int) -> int:
    data = token_bytes(token)
    shape = 2 * len(data.translate(None, _CONTINUES)) + (data[0] in _CONTINUES)
    _shapes[token] = shape
    return shape


class TokenSpans:
    """The tokens of text[begin:end], which is encoded once; all places are those of `text`."""

    def __init__(self, text: str, begin: int = 0, end: int | None = None) -> None:
        self._text = text
        self._begin = begin
        self._end = len(text) if end is None else end
        window = text[begin : self._end]
        self.ends = token_ends(window)
        # Where blocks are torn within a word, tokens are not those of the whole.
        self._torn = [
            begin + place
            for place, _ in token_blocks(window)
            if place and not WORD_CUT.match(window, place)
        ]

    def begun_before(self, place: int) -> int:
        """Return how many tokens begin before a place."""
        offset = place - self._begin
        return min(bisect_left(self.ends, offset) + 1, len(self.ends)) if offset else 0

    def count(self, start: int, end: int) -> int:
        """Return count_tokens(text[start:end]): only the words at both ends are encoded again."""
        text = self._text
        first = self._first_cut(start, end)
        last = self._last_cut(start, end)
        if first >= last or any(start < place < end for place in self._torn):
            return count_tokens(text[start:end])
        counted = self.begun_before(last) - self.begun_before(first)
        if start < first:
            counted += count_tokens(text[start:first])
        if last < end:
            counted += count_tokens(text[last:end])
        return counted

    def _first_cut(self, start: int, end: int) -> int:
        if start == self._begin or (start > self._begin and WORD_CUT.match(self._text, start)):
            return start
        match = WORD_CUT.search(self._text, max(start, self._begin) + 1, end)
        return match.start() if match else end

    def _last_cut(self, start: int, end: int) -> int:
        if end == self._end or (end < self._end and WORD_CUT.match(self._text, end)):
            return end
        cut = min(end, self._end)
        while (cut := self._text.rfind(" ", start + 1, cut)) > 0:
            if WORD_CUT.match(self._text, cut, end):
                return cut
        return start


# How many cl100k tokens each piece of a chunk has: what contexts are budgeted with.


def piece_tokens(
    content: str, own_start: int = 0, spans: TokenSpans | None = None, start: int = 0
) -> list[int]:
    """Return the tokens of each of text_pieces(content, own_start).

    `spans` are those of a text in which the content stands from `start` on.
    """
    starts = text_pieces(content, own_start)
    if not starts:
        return []
    if spans is None:
        spans, start = TokenSpans(content), 0
    bounds = [start + place for place in (*starts, len(content))]
    counts = [last - first for first, last in pairwise(map(spans.begun_before, bounds))]
    # Other text may stand around the content than where its tokens were counted.
    alone = {0: 0, len(starts) - 1: 0}
    if own_start in starts[1:]:
        # A token may lie across this cut: both sides are counted alone. One more is counted for a
        # text that takes more tokens as a whole.
        own = starts.index(own_start)
        alone |= {own - 1: 0, own: 1}
    for piece, more in alone.items():
        counts[piece] = spans.count(bounds[piece], bounds[piece + 1]) + more
    return counts
