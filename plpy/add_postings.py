"""A sealed segment with its postings, as a source to merge."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def add_postings(segment: dict[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return an unpacked segment with `terms`, `ordinals` and `frequencies` of each posting.

    `stored` has, as bytes in the order of terms: terms (big-endian int64), counts (big-endian
    int32), ordinals and codes. Bytes that do not fit the segment raise an IndexError or a
    ValueError.
    """
    counts = np.frombuffer(stored["counts"] or b"", ">i4")
    return {
        **segment,
        "terms": np.repeat(np.frombuffer(stored["terms"] or b"", ">i8").astype(np.int64), counts),
        "ordinals": np.frombuffer(stored["ordinals"] or b"", "<u2"),
        "frequencies": segment["code_book"][
            np.frombuffer(stored["codes"] or b"", segment["code_type"])
        ],
    }
