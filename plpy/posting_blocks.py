"""A segment's postings as blocks of bytes, each a row of the database."""

from typing import Any

from pgblend.plpy.block_size import block_size


def posting_blocks(ordinals: Any, codes: Any) -> list[bytes]:
    """Return blocks of ordinals (uint16) and codes (uint8 or uint16), which are parallel arrays.

    A block has the ordinals, then the codes, of the same postings; all but the last have the same
    number.
    """
    size = block_size(codes.itemsize)
    return [
        ordinals[start : start + size].tobytes() + codes[start : start + size].tobytes()
        for start in range(0, len(ordinals), size)
    ]
