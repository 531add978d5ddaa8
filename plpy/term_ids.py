"""Term ids of lexemes."""

import struct
from collections.abc import Collection
from hashlib import blake2b


def term_ids(lexemes: Collection[str]) -> list[int]:
    """Return for each lexeme its 64-bit id, as pack_lexemes writes it (BLAKE2b, signed)."""
    digests = [blake2b(lexeme.encode(), digest_size=8).digest() for lexeme in lexemes]
    return list(struct.unpack(f">{len(digests)}q", b"".join(digests)))
