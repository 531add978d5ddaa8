"""How many cl100k tokens each piece of a chunk has: what contexts are budgeted with."""

from itertools import pairwise

from pgblend.cli.ingest.token_spans import TokenSpans
from pgblend.plpy.lexical.split import text_pieces


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
        # A token may lie across this cut: both sides are counted alone, and one more for a text
        # that takes more tokens as a whole.
        own = starts.index(own_start)
        alone |= {own - 1: 0, own: 1}
    for piece, more in alone.items():
        counts[piece] = spans.count(bounds[piece], bounds[piece + 1]) + more
    return counts
