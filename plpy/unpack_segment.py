"""Read the arrays of a sealed segment."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def unpack_segment(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment's arrays from its stored bytes (little-endian).

    `alive` is a mask of the rows that are not deleted, `code_type` the type of codes in the
    segment's postings: 16 bits where there are more than 256 distinct frequencies.
    """
    lengths = np.frombuffer(columns["lengths"], "<i4")
    code_book = np.frombuffer(columns["code_book"], "<i8")
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
        "code_type": "u1" if len(code_book) <= 256 else "<u2",
        "alive": alive,
    }
