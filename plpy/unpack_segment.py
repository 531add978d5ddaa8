"""Read the arrays of a sealed segment."""

from collections.abc import Mapping
from typing import Any

import numpy as np

ROW_ARRAYS = {
    "chunk_ids": "<i8",
    "document_ids": "<i8",
    "chunk_indexes": "<i4",
    "lengths": "<i4",
    "own_lengths": "<i4",
}


def unpack_segment(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return a segment's arrays from its stored bytes (little-endian).

    `alive` is a mask of the rows that are not deleted, `code_bytes` the size of a code in
    the segment's postings: 2 where there are more than 256 distinct frequencies. `terms` ascend,
    `starts` says where the postings of each start, with the end of the last at its end. Bytes that
    do not fit each other raise a ValueError.
    """
    rows = {name: np.frombuffer(columns[name], kind) for name, kind in ROW_ARRAYS.items()}
    code_book = np.frombuffer(columns["code_book"], "<i8")
    df = np.frombuffer(columns["document_frequencies"], "<u2").astype(np.int64) + 1
    terms = np.frombuffer(columns["terms"], "<i8")
    dead = np.frombuffer(columns["dead"], "<i4")
    for name, values in rows.items():
        if len(values) != columns["n"]:
            raise ValueError(f"{len(values)} {name} where there should be {columns['n']}")
    if len(terms) != len(df):
        raise ValueError(f"{len(df)} document_frequencies where there should be {len(terms)}")
    for name, ids in (("chunk_ids", rows["chunk_ids"]), ("terms", terms)):
        if not (ids[1:] > ids[:-1]).all():
            raise ValueError(f"{name} do not ascend")
    if ((dead < 0) | (dead >= columns["n"])).any():
        raise ValueError(f"dead has rows that are none of {columns['n']}")
    alive = np.ones(columns["n"], np.bool_)
    alive[dead] = False
    return {
        "id": columns["id"],
        "config": columns["text_search_config"],
        **rows,
        "code_book": code_book,
        "code_bytes": 1 if len(code_book) <= 256 else 2,
        "terms": terms,
        "starts": np.concatenate(([0], np.cumsum(df))),
        "alive": alive,
    }
