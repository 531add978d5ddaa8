"""Read the postings of terms from sealed segments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pgblend.plpy.block_size import block_size
from pgblend.plpy.read_block import read_block
from pgblend.plpy.report_damage import report_damage

Span = tuple[int, int, int, int]


def read_postings(
    view: Mapping[str, Any],
    terms: Sequence[int],
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> dict[int, tuple[Any, Any]]:
    """Return of each term its (rows, codes) in a view, rows ascending.

    `run` executes (statement, types, *values). A segment's directory says where in the segment's
    postings those of a term are, and so in which blocks; all blocks are read at once. What does not
    fit the segment ends in report_damage.
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
    segments = np.array([segment for _, segment, _, _ in spans])
    counts = [end - start for _, _, start, end in spans]
    check_postings(view, np.repeat(segments, counts), rows, all_codes, run)
    if len(sizes) > 1:
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
        segment, block = keys[row["place"] - 1]
        size, code_bytes = sizes[segment], view["code_bytes"][segment]
        count = min(size, int(view["directories"][segment][1][-1]) - block * size)
        expected, data = count * (2 + code_bytes), row["data"]
        if data is None or len(data) != expected:
            reason = f"block {block} has {len(data or b'')} bytes where there should be {expected}"
            report_damage(run, "segment", view["segment_ids"][segment], reason)
        blocks[segment, block] = read_block(data, code_bytes)
    return blocks


def check_postings(
    view: Mapping[str, Any],
    segments: Any,
    rows: Any,
    codes: Any,
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> None:
    """Report postings of rows or codes that their segments (a place each) do not have."""
    row_counts = np.diff([*view["offsets"], len(view["lengths"])])
    beyond = (rows >= row_counts[segments]) | (codes >= view["code_counts"][segments])
    if beyond.any():
        segment_id = view["segment_ids"][segments[beyond.argmax()]]
        report_damage(run, "segment", segment_id, "postings of rows or codes that it does not have")
