"""Term ids of lexemes."""

import hashlib
from collections.abc import Iterable


def term_ids(lexemes: Iterable[str]) -> list[int]:
    """Return for each lexeme its 64-bit id, as pack_lexemes writes it (BLAKE2b, signed)."""
    digests = (hashlib.blake2b(lexeme.encode(), digest_size=8).digest() for lexeme in lexemes)
    return [int.from_bytes(digest, "big", signed=True) for digest in digests]
