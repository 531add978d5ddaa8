"""A merged segment as the arguments of pgblend._write_segment."""

from typing import Any


def segment_arguments(merged: dict[str, Any]) -> list[Any]:
    """Return rows and length, row arrays, terms, starts, counts, ordinals, codes, bytes a code.

    `merged` is what merge_postings returns; row arrays are little-endian bytes. Arrays of numbers
    are their text, which PL/Python hands over faster than lists.
    """
    row_arrays = [
        merged["chunk_ids"].astype("<i8").tobytes(),
        merged["document_ids"].astype("<i8").tobytes(),
        merged["chunk_indexes"].astype("<i4").tobytes(),
        merged["lengths"].astype("<i4").tobytes(),
        merged["own_lengths"].astype("<i4").tobytes(),
        merged["code_book"].astype("<i8").tobytes(),
    ]
    return [
        [len(merged["chunk_ids"]), int(merged["lengths"].sum())],
        row_arrays,
        *(array_text(merged[name]) for name in ("terms", "starts", "counts")),
        merged["ordinals"].tobytes(),
        merged["codes"].tobytes(),
        merged["codes"].itemsize,
    ]


def array_text(values: Any) -> str:
    """Return whole numbers as the text of an SQL array."""
    return "{" + ",".join(map(str, values.tolist())) + "}"
