"""Read pending chunks as a segment that was not written yet."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def unpack_pending(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return pending chunks as a source of postings, None where there are none.

    `columns` has, each as bytes with big-endian entries in the order of chunk ids: chunk_ids and
    document_ids (int64), chunk_indexes, lengths and record_counts (int32), and records (11 bytes a
    lexeme: term, occurrences in title, headings and body). The result has arrays of these names,
    `alive` (all true) and for each posting `terms`, `ordinals` and `frequencies` (title << 16 |
    heading << 8 | body).
    """
    if columns["chunk_ids"] is None:
        return None
    record = np.dtype([("term", ">i8"), ("title", "u1"), ("heading", "u1"), ("body", "u1")])
    records = np.frombuffer(columns["records"] or b"", record)
    counts = np.frombuffer(columns["record_counts"], ">i4")
    title, heading = records["title"].astype(np.int32), records["heading"].astype(np.int32)
    return {
        "chunk_ids": np.frombuffer(columns["chunk_ids"], ">i8").astype(np.int64),
        "document_ids": np.frombuffer(columns["document_ids"], ">i8").astype(np.int64),
        "chunk_indexes": np.frombuffer(columns["chunk_indexes"], ">i4").astype(np.int32),
        "lengths": np.frombuffer(columns["lengths"], ">i4").astype(np.int32),
        "alive": np.ones(len(counts), np.bool_),
        "terms": records["term"].astype(np.int64),
        "ordinals": np.repeat(np.arange(len(counts)), counts),
        "frequencies": title << 16 | heading << 8 | records["body"],
    }
