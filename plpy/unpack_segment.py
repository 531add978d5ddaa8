"""Read the arrays of a sealed segment."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def unpack_segment(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment's arrays from its stored bytes (little-endian).

    `alive` is a mask of the rows that are not deleted, `code_bytes` the size of a code in
    the segment's postings: 2 where there are more than 256 distinct frequencies. `terms` ascend,
    `starts` says where the postings of each start, with the end of the last at its end.
    """
    lengths = np.frombuffer(columns["lengths"], "<i4")
    code_book = np.frombuffer(columns["code_book"], "<i8")
    df = np.frombuffer(columns["document_frequencies"], "<u2").astype(np.int64) + 1
    alive = np.ones(len(lengths), np.bool_)
    alive[np.frombuffer(columns["dead"], "<i4")] = False
    return {
        "id": columns["id"],
        "config": columns["text_search_config"],
        "chunk_ids": np.frombuffer(columns["chunk_ids"], "<i8"),
        "document_ids": np.frombuffer(columns["document_ids"], "<i8"),
        "chunk_indexes": np.frombuffer(columns["chunk_indexes"], "<i4"),
        "lengths": lengths,
        "own_lengths": np.frombuffer(columns["own_lengths"], "<i4"),
        "code_book": code_book,
        "code_bytes": 1 if len(code_book) <= 256 else 2,
        "terms": np.frombuffer(columns["terms"], "<i8"),
        "starts": np.concatenate(([0], np.cumsum(df))),
        "alive": alive,
    }
