"""A search, as the command line asks for it."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class SearchRequest:
    """One search, as the command line asks for it."""

    query: str
    limit: int
    collections: list[str] | None
    filter: dict[str, Any] | None
    options: dict[str, Any]
    query_embedding: str | None = None  # as JSON

    def parameters(self) -> dict[str, object]:
        """Return what the SQL call binds."""
        return {
            "query": self.query,
            "limit": self.limit,
            "collections": self.collections,
            "filter": None if self.filter is None else json.dumps(self.filter),
            "options": json.dumps(self.options),
            "query_embedding": self.query_embedding,
        }
