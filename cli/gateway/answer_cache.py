"""Answers of chat models that are asked for again: in memory, and in a table where there is one."""

import hashlib
import json
from typing import Any, Protocol

from pgblend.cli.gateway.memory_cache import MemoryCache


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
