"""Read the postings of terms from sealed segments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pgblend.plpy.block_size import block_size
from pgblend.plpy.read_block import read_block

Span = tuple[int, int, int, int]


def read_postings(
    view: Mapping[str, Any],
    terms: Sequence[int],
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> dict[int, tuple[Any, Any]]:
    """Return of each term its (rows, codes) in a view, rows ascending.

    `run` executes (statement, types, *values). A segment's directory says where in the segment's
    postings those of a term are, and so in which blocks; all blocks are read at once.
    """
    spans = term_spans(view["directories"], terms)
    nothing = np.empty(0, np.intp), np.empty(0, view["code_type"])
    found: dict[int, tuple[Any, Any]] = dict.fromkeys(terms, nothing)
    if not spans:
        return found
    sizes = [block_size(code_bytes) for code_bytes in view["code_bytes"]]
    blocks = fetch_blocks(view, spans, sizes, run)
    ordinals, codes = [], []
    for _, segment, start, end in spans:
        size = sizes[segment]
        for block in range(start // size, (end - 1) // size + 1):
            before = block * size
            part = slice(max(start - before, 0), end - before)
            of_block = blocks[segment, block]
            ordinals.append(of_block[0][part])
            codes.append(of_block[1][part])
    rows = np.concatenate(ordinals).astype(np.intp)
    all_codes = np.concatenate(codes).astype(view["code_type"])
    if len(sizes) > 1:
        segments = [segment for _, segment, _, _ in spans]
        counts = [end - start for _, _, start, end in spans]
        rows += np.repeat(view["offsets"][segments], counts)
        all_codes += np.repeat(view["code_offsets"][segments], counts)
    first = last = 0
    for place, (term, _, start, end) in enumerate(spans):
        last += end - start
        if place + 1 == len(spans) or spans[place + 1][0] != term:
            found[terms[term]] = rows[first:last], all_codes[first:last]
            first = last
    return found


def term_spans(directories: Sequence[tuple[Any, Any]], terms: Sequence[int]) -> list[Span]:
    """Return (place of the term, place of the segment, first posting, after the last), in order.

    A directory has a segment's terms, ascending, and where the postings of each start, with the
    end of the last at its end. Terms that a segment does not have are left out.
    """
    wanted = np.array(terms, np.int64)
    spans = []
    for segment, (known, starts) in enumerate(directories):
        places = known.searchsorted(wanted)
        has = known.take(places, mode="clip") == wanted if len(known) else np.zeros(0, np.bool_)
        for term in np.flatnonzero(has).tolist():
            place = places[term]
            spans.append((term, segment, int(starts[place]), int(starts[place + 1])))
    return sorted(spans)


def fetch_blocks(
    view: Mapping[str, Any],
    spans: Sequence[Span],
    sizes: Sequence[int],
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> dict[tuple[int, int], tuple[Any, Any]]:
    """Return ordinals and codes of the blocks that have these spans, by segment and block."""
    keys = [
        *dict.fromkeys(
            (segment, block)
            for _, segment, start, end in spans
            for block in range(start // sizes[segment], (end - 1) // sizes[segment] + 1)
        )
    ]
    rows = run(
        "SELECT * FROM pgblend._posting_blocks($1, $2)",
        ["bigint[]", "integer[]"],
        [view["segment_ids"][segment] for segment, _ in keys],
        [block for _, block in keys],
    )
    blocks = {}
    for row in rows:
        key = keys[row["place"] - 1]
        blocks[key] = read_block(row["data"], view["code_bytes"][key[0]])
    return blocks
