"""Which queries of a judged set settings are chosen on, and which are held back."""

import hashlib


def is_tuned_on(key: str, share: float, seed: int) -> bool:
    """Whether a query is in the part that settings are chosen on: by a digest, so always alike."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
