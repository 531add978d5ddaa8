"""One block of a segment's postings."""

from typing import Any

import numpy as np


def read_block(data: bytes, code_bytes: int) -> tuple[Any, Any]:
    """Return the ordinals and the codes of a block (see posting_blocks)."""
    count = len(data) // (2 + code_bytes)
    return np.frombuffer(data, "<u2", count), np.frombuffer(data, f"<u{code_bytes}", -1, 2 * count)
