"""A merged segment as the arguments of pgblend._write_segment."""

from typing import Any

from pgblend.plpy.posting_blocks import posting_blocks


def segment_arguments(merged: dict[str, Any]) -> list[Any]:
    """Return [rows, length], the arrays of the segment and the blocks of its postings, as bytes.

    `merged` is what merge_postings returns; the arrays are little-endian, in the order of the
    table's columns.
    """
    row_arrays = [
        merged["chunk_ids"].astype("<i8").tobytes(),
        merged["document_ids"].astype("<i8").tobytes(),
        merged["chunk_indexes"].astype("<i4").tobytes(),
        merged["lengths"].astype("<i4").tobytes(),
        merged["own_lengths"].astype("<i4").tobytes(),
        merged["code_book"].astype("<i8").tobytes(),
        merged["terms"].astype("<i8").tobytes(),
        (merged["counts"] - 1).astype("<u2").tobytes(),
    ]
    return [
        [len(merged["chunk_ids"]), int(merged["lengths"].sum())],
        row_arrays,
        posting_blocks(merged["ordinals"], merged["codes"]),
    ]
