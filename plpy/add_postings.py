"""A sealed segment with its postings, as a source to merge."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgblend.plpy.read_block import read_block


def add_postings(segment: dict[str, Any], blocks: Sequence[bytes]) -> dict[str, Any]:
    """Return an unpacked segment with `terms`, `ordinals` and `frequencies` of each posting.

    `blocks` are all of the segment's, in order. Bytes that do not fit the segment raise a
    ValueError.
    """
    pairs = [read_block(data, segment["code_bytes"]) for data in blocks or [b""]]
    ordinals, codes = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    counts = np.diff(segment["starts"])
    if not len(ordinals) == len(codes) == counts.sum():
        raise ValueError(f"{len(ordinals)} postings where there should be {counts.sum()}")
    if (ordinals >= len(segment["alive"])).any() or (codes >= len(segment["code_book"])).any():
        raise ValueError("postings of rows or codes that it does not have")
    return {
        **segment,
        "terms": np.repeat(segment["terms"], counts),
        "ordinals": ordinals,
        "frequencies": segment["code_book"][codes],
    }
