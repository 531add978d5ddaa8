"""What the gateway remembers: embeddings and answers, within limits of memory."""

import hashlib
import json
from collections import OrderedDict
from typing import Any, Protocol

# A bounded cache in memory, the least recently used going first.

_ENTRY_OVERHEAD_BYTES = 250  # key, value object and their places in the table


class MemoryCache:
    """Maps the digest of a question to bytes; for the event loop only, so without a lock.

    Only who knows the whole question can compute its digest. So nobody is given an answer that was
    made of texts they do not have themselves.
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


# Answers of chat models that are asked for again: in memory, and in a table where there is one.


class AnswerTable(Protocol):
    """Where answers outlive the gateway."""

    async def find(self, key: bytes) -> bytes | None:
        """Return the JSON of an answer, None where there is none or no time to look."""
        ...

    def keep(self, key: bytes, answer: bytes) -> None:
        """Take the JSON of an answer; it is written later."""
        ...


class AnswerCache:
    """Maps the digest of a question to its answer."""

    def __init__(self, max_bytes: int, table: AnswerTable | None = None) -> None:
        self.memory = MemoryCache(max_bytes)
        self._table = table

    @staticmethod
    def key(*parts: str) -> bytes:
        """Return the sha256 of a question's parts (prompt version, model, query, language)."""
        return hashlib.sha256(json.dumps(parts).encode()).digest()

    async def get(self, key: bytes) -> dict[str, Any] | None:
        """Return the answer, None where it is not known."""
        content = self.memory.get(key)
        if content is None and self._table:
            content = await self._table.find(key)
            if content is not None:
                self.memory.put(key, content)
        if content is None:
            return None
        answer: dict[str, Any] = json.loads(content)
        return answer

    def put(self, key: bytes, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        content = json.dumps(answer).encode()
        self.memory.put(key, content)
        if self._table:
            self._table.keep(key, content)


class EmbeddingCache(MemoryCache):
    """Maps (model, dimensions, question or passage, text) to a vector's bytes."""

    @staticmethod
    def key(model: str, dimensions: int | None, is_passage: bool, text: str) -> bytes:
        """Return the digest under which a text's vector is kept; the text itself is not."""
        return hashlib.sha256(json.dumps((model, dimensions, is_passage, text)).encode()).digest()
