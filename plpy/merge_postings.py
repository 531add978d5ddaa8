"""Merge postings of several sources into one segment."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def merge_postings(sources: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Merge sources into the arrays of one new segment, leaving out rows that are not alive.

    A source has `chunk_ids`, `document_ids`, `chunk_indexes`, `lengths`, `own_lengths` and `alive`
    (one entry a row), and for each posting `terms`, `ordinals` (the row) and `frequencies` (six
    counts in one number, as unpack_pending has them).

    Returns the rows' arrays in the order of chunk_ids, the `code_book` of distinct frequencies and,
    one entry a term, `terms`, `counts` and `starts` into `ordinals` (uint16) and `codes` (uint8, or
    uint16 where there are more than 256 distinct frequencies).
    """
    alive = [np.flatnonzero(source["alive"]) for source in sources]
    row_arrays = {
        name: np.concatenate(
            [source[name][rows] for source, rows in zip(sources, alive, strict=True)]
        )
        for name in ("chunk_ids", "document_ids", "chunk_indexes", "lengths", "own_lengths")
    }
    by_chunk = np.argsort(row_arrays["chunk_ids"], kind="stable")
    ordinal_of_row = np.empty(len(by_chunk), np.int64)
    ordinal_of_row[by_chunk] = np.arange(len(by_chunk))

    terms, ordinals, frequencies = [], [], []
    offset = 0
    for source, rows in zip(sources, alive, strict=True):
        new_row = np.full(len(source["chunk_ids"]), -1)
        new_row[rows] = ordinal_of_row[offset : offset + len(rows)]
        offset += len(rows)
        moved = new_row[source["ordinals"]]
        kept = moved >= 0
        terms.append(source["terms"][kept])
        ordinals.append(moved[kept])
        frequencies.append(source["frequencies"][kept])
    all_terms = np.concatenate(terms)
    all_ordinals = np.concatenate(ordinals)
    by_term = np.lexsort((all_ordinals, all_terms))
    all_frequencies = np.concatenate(frequencies)[by_term]
    code_book = np.unique(all_frequencies)
    codes = code_book.searchsorted(all_frequencies)
    distinct, starts, counts = np.unique(all_terms[by_term], return_index=True, return_counts=True)
    return {
        **{name: values[by_chunk] for name, values in row_arrays.items()},
        "code_book": code_book,
        "terms": distinct,
        "starts": starts,
        "counts": counts,
        "ordinals": all_ordinals[by_term].astype("<u2"),
        "codes": codes.astype("u1" if len(code_book) <= 256 else "<u2"),
    }
