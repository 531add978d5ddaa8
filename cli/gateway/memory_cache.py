"""A bounded cache in memory, the least recently used going first."""

from collections import OrderedDict

_ENTRY_OVERHEAD_BYTES = 250  # key, value object and their places in the table


class MemoryCache:
    """Maps the digest of a question to bytes; for the event loop only, so without a lock.

    Only who knows the whole question can compute its digest, so nobody is given an answer that
    was made of texts they do not have themselves.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    def get(self, key: bytes) -> bytes | None:
        """Return the value and count a hit, or None and count a miss."""
        value = self._entries.get(key)
        if value is None:
            self._misses += 1
        else:
            self._hits += 1
            self._entries.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Keep a value, dropping the oldest ones until all fit."""
        self._bytes += _size(value) - _size(self._entries.pop(key, None))
        self._entries[key] = value
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


def _size(value: bytes | None) -> int:
    return 0 if value is None else len(value) + _ENTRY_OVERHEAD_BYTES
