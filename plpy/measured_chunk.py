"""A chunk with the tokens of its pieces added up."""

import math
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from pgblend.plpy.text_pieces import text_pieces

# Tokens that nobody counted are taken for so many times what is estimated.
CAUTION = 1.25


def measured_chunk(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chunk with what a budget needs to know of it.

    `starts` are the offsets of its pieces and its end, `sums` the tokens before each of them,
    `whole` the tokens of all of it, `own` the piece where its own text begins, `is_counted` whether
    these are counts: without piece_tokens, or with those of another text, they are estimates from
    token_count, a quarter higher and in proportion to the characters.
    """
    content = chunk["content"]
    starts = text_pieces(content, chunk["own_start"])
    tokens = chunk["piece_tokens"] or []
    is_counted = len(tokens) == len(starts) and bool(starts)
    bounds = [*starts, len(content)]
    if is_counted:
        sums = list(accumulate(tokens, initial=0))
        whole = chunk["token_count"]
    else:
        rate = CAUTION * max(chunk["token_count"], 1) / max(len(content), 1)
        sums = [math.ceil(bound * rate) for bound in bounds]
        whole = sums[-1]
    own = starts.index(chunk["own_start"]) if chunk["own_start"] in starts else len(starts)
    return {
        **chunk, "starts": bounds, "sums": sums, "whole": whole, "own": own,
        "is_counted": is_counted,
    }  # fmt: skip
