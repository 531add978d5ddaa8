"""How many cl100k tokens each piece of a chunk has: what contexts are budgeted with."""

from bisect import bisect_left

from pgblend.cli.ingest.token_ends import token_ends
from pgblend.cli.tokens import count_tokens
from pgblend.plpy.text_pieces import text_pieces


def piece_tokens(content: str, own_start: int = 0) -> list[int]:
    """Return the tokens of each of text_pieces(content, own_start)."""
    starts = text_pieces(content, own_start)
    if not starts:
        return []
    bounds = [*starts[1:], len(content)]
    begins = [0, *token_ends(content)[:-1]]
    places = [bisect_left(begins, bound) for bound in bounds]
    counts = [after - before for before, after in zip([0, *places], places, strict=False)]
    if own_start in starts[1:]:
        # A token may lie across this cut: both sides are counted alone, and one more for a text
        # that takes more tokens as a whole.
        index = starts.index(own_start)
        for piece, more in ((index - 1, 0), (index, 1)):
            counts[piece] = count_tokens(content[starts[piece] : bounds[piece]]) + more
    return counts
