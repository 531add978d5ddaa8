"""Where in a text its cl100k tokens end: what the splitter cuts by."""

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.tokens import token_array, token_byte_lengths

# Encoded in blocks, because a word of millions of characters takes more than linear time. They end
# between two words; without any in so many characters, a token may move by a few characters.
_BLOCK_CHARACTERS = 100_000
_BLOCK_END_CHARACTERS = 1_000
# A single space between two words: cl100k's pattern always begins a new word there, so that tokens
# before and after it do not depend on what else there is.
WORD_CUT = re.compile(r"(?<=\S) (?=\S)")


def token_ends(text: str) -> list[int]:
    """Return the character offset at which each token ends.

    A token that ends inside a character counts as ending before it.
    """
    ends: list[int] = []
    for start, end in token_blocks(text):
        block = text[start:end]
        byte_ends = np.cumsum(_byte_lengths()[token_array(block)])
        character_ends = byte_ends if block.isascii() else _to_characters(block, byte_ends)
        ends.extend((character_ends + start).tolist())
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


def _to_characters(text: str, byte_ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn offsets in a text's UTF-8 into offsets of its characters, rounded down."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    continues = np.append((data & 0xC0) == 0x80, False)
    characters_begun = np.append(0, np.cumsum(~continues[:-1]))
    inside: NDArray[np.int64] = continues[byte_ends].astype(np.int64)
    whole: NDArray[np.int64] = characters_begun[byte_ends] - inside
    return whole


@cache
def _byte_lengths() -> NDArray[np.int64]:
    return np.array(token_byte_lengths(), dtype=np.int64)
