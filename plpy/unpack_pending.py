"""Read pending chunks as a segment that was not written yet."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def unpack_pending(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return pending chunks as a source of postings, None where there are none.

    `columns` has, each as bytes with big-endian entries in the order of chunk ids: chunk_ids and
    document_ids (int64), chunk_indexes, lengths, own_lengths and record_counts (int32), and records
    (14 bytes a lexeme, see pack_lexemes). The result has arrays of these names, `alive` (all true)
    and for each posting `terms`, `ordinals`, `counts` (six: by field, of its own and repeated) and
    `frequencies` (the same six in one number, the first in the highest byte of 48 bits).
    """
    if columns["chunk_ids"] is None:
        return None
    record = np.dtype(
        {
            "names": ["term", "counts", "last_8"],
            "formats": [">i8", ("u1", 6), ">i8"],
            "offsets": [0, 8, 6],
        }
    )
    records = np.frombuffer(columns["records"] or b"", record)
    counts = np.frombuffer(columns["record_counts"], ">i4")
    return {
        "chunk_ids": np.frombuffer(columns["chunk_ids"], ">i8").astype(np.int64),
        "document_ids": np.frombuffer(columns["document_ids"], ">i8").astype(np.int64),
        "chunk_indexes": np.frombuffer(columns["chunk_indexes"], ">i4").astype(np.int32),
        "lengths": np.frombuffer(columns["lengths"], ">i4").astype(np.int32),
        "own_lengths": np.frombuffer(columns["own_lengths"], ">i4").astype(np.int32),
        "alive": np.ones(len(counts), np.bool_),
        "terms": records["term"].astype(np.int64),
        "ordinals": np.repeat(np.arange(len(counts)), counts),
        "counts": records["counts"],
        "frequencies": records["last_8"].astype(np.int64) & (1 << 48) - 1,
    }
