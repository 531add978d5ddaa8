"""A bounded cache of embeddings in memory, the least recently used going first."""

import hashlib
from collections import OrderedDict

_ENTRY_OVERHEAD_BYTES = 250  # key, value object and their places in the table


class EmbeddingCache:
    """Maps (model, dimensions, text) to a vector; for the event loop only, so without a lock."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    @staticmethod
    def key(model: str, dimensions: int | None, text: str) -> bytes:
        """Return the digest under which a text's vector is kept; the text itself is not."""
        return hashlib.sha256(f"{model}\0{dimensions}\0{text}".encode()).digest()

    def get(self, key: bytes) -> bytes | None:
        """Return the vector and count a hit, or None and count a miss."""
        vector = self._entries.get(key)
        if vector is None:
            self._misses += 1
        else:
            self._hits += 1
            self._entries.move_to_end(key)
        return vector

    def put(self, key: bytes, vector: bytes) -> None:
        """Keep a vector, dropping the oldest ones until all fit."""
        self._bytes += _size(vector) - _size(self._entries.pop(key, None))
        self._entries[key] = vector
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._entries.popitem(last=False)[1])

    def statistics(self) -> dict[str, int]:
        """Return the counts that /health shows."""
        return {
            "entries": len(self._entries),
            "bytes": self._bytes,
            "max_bytes": self._max_bytes,
            "hits": self._hits,
            "misses": self._misses,
        }


def _size(vector: bytes | None) -> int:
    return 0 if vector is None else len(vector) + _ENTRY_OVERHEAD_BYTES
