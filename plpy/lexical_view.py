"""The sealed segments of a search as one space of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def lexical_view(segments: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the arrays of segments: row i of segment s becomes row offsets[s] + i.

    The result has `offsets`, `code_offsets` and `code_types` by segment id, `chunk_ids`,
    `document_ids`, `chunk_indexes`, `lengths`, `own_lengths` and `alive` by row, `total_length` of
    the live rows and `frequencies`: for each code of each segment the occurrences in title, heading
    and body, the chunk's own and those that repeat the chunk before.
    Segments never change but for deletions, so a session can keep views, and in them what it
    derived: `postings` by term and `norms`.
    """
    sizes = [len(segment["lengths"]) for segment in segments]
    codes = [len(segment["code_book"]) for segment in segments]
    lengths = joined([segment["lengths"] for segment in segments], np.int32)
    alive = joined([segment["alive"] for segment in segments], np.bool_)
    return {
        "offsets": starts_by_id(segments, sizes),
        "code_offsets": starts_by_id(segments, codes),
        "code_types": {segment["id"]: segment["code_type"] for segment in segments},
        "chunk_ids": joined([segment["chunk_ids"] for segment in segments], np.int64),
        "document_ids": joined([segment["document_ids"] for segment in segments], np.int64),
        "chunk_indexes": joined([segment["chunk_indexes"] for segment in segments], np.int32),
        "lengths": lengths,
        "own_lengths": joined([segment["own_lengths"] for segment in segments], np.int32),
        "alive": alive,
        "total_length": int(lengths[alive].sum()),
        "frequencies": fields(joined([segment["code_book"] for segment in segments], np.int64)),
        "postings": {},
        "norms": {},
    }


def starts_by_id(segments: Sequence[dict[str, Any]], sizes: Sequence[int]) -> dict[int, int]:
    """Return where each segment begins, by its id."""
    starts = np.cumsum([0, *sizes])[:-1].tolist()
    return {segment["id"]: start for segment, start in zip(segments, starts, strict=True)}


def joined(arrays: Sequence[Any], kind: Any) -> Any:
    """Concatenate arrays, none of them giving an empty one."""
    return np.concatenate(arrays) if arrays else np.empty(0, kind)


def fields(code_book: Any) -> Any:
    """Return the six counts of packed frequencies: title, heading, body, and those repeated."""
    return code_book[:, None] >> np.arange(40, -1, -8) & 255
