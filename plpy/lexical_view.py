"""The sealed segments of a search as one space of rows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgblend.plpy.field_counts import field_counts


def lexical_view(segments: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the arrays of segments: row i of segment s becomes row offsets[s] + i.

    Segments lie by text search configuration, then id. The result has by segment `segment_ids`,
    `offsets`, `bounds` (first row, after the last), `code_offsets`, `code_counts`, `code_bytes` and
    `directories` (terms, and where the postings of each start); by row
    `chunk_ids`, `document_ids`, `chunk_indexes`, `lengths`, `own_lengths` and `alive`; `ranges` of
    rows by configuration; and `frequencies`: for each code the occurrences in title, headings and
    body, the chunk's own and those that repeat the chunk before, codes being of `code_type`.

    Segments never change but for deletions, so a session can keep views, and in them what it
    derived: `live` rows, `documents`, `postings` by term, `norms`, `impacts` by term, `sums`, zeros
    to add scores up in, and a `sieve` of terms.
    """
    ordered = sorted(segments, key=lambda segment: (segment["config"], segment["id"]))
    starts = np.cumsum([0, *(len(segment["lengths"]) for segment in ordered)])
    code_starts = np.cumsum([0, *(len(segment["code_book"]) for segment in ordered)])
    code_type = np.min_scalar_type(code_starts[-1])
    bounds = list(pairwise(starts.tolist()))
    ranges: dict[str, tuple[int, int]] = {}
    for segment, (start, end) in zip(ordered, bounds, strict=True):
        ranges[segment["config"]] = (ranges.get(segment["config"], (start, end))[0], end)

    def joined(name: str, kind: Any) -> Any:
        return np.concatenate([np.empty(0, kind), *(segment[name] for segment in ordered)])

    return {
        "segment_ids": [segment["id"] for segment in ordered],
        "offsets": starts[:-1],
        "bounds": bounds,
        "ranges": ranges,
        "code_offsets": code_starts[:-1].astype(code_type),
        "code_counts": np.diff(code_starts),
        "code_type": code_type,
        "code_bytes": [segment["code_bytes"] for segment in ordered],
        "directories": [(segment["terms"], segment["starts"]) for segment in ordered],
        "chunk_ids": joined("chunk_ids", np.int64),
        "document_ids": joined("document_ids", np.int64),
        "chunk_indexes": joined("chunk_indexes", np.int32),
        "lengths": joined("lengths", np.int32),
        "own_lengths": joined("own_lengths", np.int32),
        "alive": joined("alive", np.bool_),
        "frequencies": field_counts(joined("code_book", np.int64)),
        "live": None,
        "documents": None,
        "postings": {},
        "kept_postings": 0,
        "norms": None,
        "impacts": {},
        "sums": None,
        "sieve": None,
    }
