"""Where in a text its cl100k tokens end: what the splitter cuts by."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.tokens import token_array, token_byte_lengths

# Encoded in blocks, because a word of millions of characters takes more than linear time. A token
# across two blocks may move by a few characters; the splitter counts each chunk anew.
_BLOCK_CHARACTERS = 100_000


def token_ends(text: str) -> list[int]:
    """Return the character offset at which each token ends.

    A token that ends inside a character counts as ending before it.
    """
    ends: list[int] = []
    for start in range(0, len(text), _BLOCK_CHARACTERS):
        block = text[start : start + _BLOCK_CHARACTERS]
        byte_ends = np.cumsum(_byte_lengths()[token_array(block)])
        character_ends = byte_ends if block.isascii() else _to_characters(block, byte_ends)
        ends.extend((character_ends + start).tolist())
    return ends


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
