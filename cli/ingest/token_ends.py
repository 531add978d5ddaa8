"""Where in a text its cl100k tokens end: what the splitter cuts by."""

import re
from array import array
from collections.abc import Iterator

from pgblend.cli.tokens import TOKENS, encode, token_bytes

# Encoded in blocks, because a word of millions of characters takes more than linear time. They end
# between two words; without any in so many characters, a token may move by a few characters.
_BLOCK_CHARACTERS = 100_000
_BLOCK_END_CHARACTERS = 1_000
# A single space between two words: cl100k's pattern always begins a new word there, so that tokens
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
