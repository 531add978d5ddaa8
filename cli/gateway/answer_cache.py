"""A bounded cache of answers in memory, the least recently used going first."""

import hashlib
import json
from collections import OrderedDict
from typing import Any

_ENTRY_OVERHEAD_BYTES = 250  # key, value object and their places in the table


class AnswerCache:
    """Maps the digest of a question to its answer; for the event loop only, so without a lock.

    Only who knows the whole question can compute the digest, so nobody reads another one's texts.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    @staticmethod
    def key(*parts: str) -> bytes:
        """Return the sha256 of a question's parts (prompt version, model, query, language)."""
        return hashlib.sha256("\0".join(parts).encode()).digest()

    def get(self, key: bytes) -> dict[str, Any] | None:
        """Return the answer and count a hit, or None and count a miss."""
        content = self._entries.get(key)
        if content is None:
            self._misses += 1
            return None
        self._hits += 1
        self._entries.move_to_end(key)
        answer: dict[str, Any] = json.loads(content)
        return answer

    def put(self, key: bytes, answer: dict[str, Any]) -> None:
        """Keep an answer, dropping the oldest ones until all fit."""
        content = json.dumps(answer).encode()
        self._bytes += _size(content) - _size(self._entries.pop(key, None))
        self._entries[key] = content
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


def _size(content: bytes | None) -> int:
    return 0 if content is None else len(content) + _ENTRY_OVERHEAD_BYTES
