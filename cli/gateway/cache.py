"""The cache of embeddings."""

import hashlib
import json

from pgblend.cli.gateway.memory_cache import MemoryCache


class EmbeddingCache(MemoryCache):
    """Maps (model, dimensions, question or passage, text) to a vector's bytes."""

    @staticmethod
    def key(model: str, dimensions: int | None, is_passage: bool, text: str) -> bytes:
        """Return the digest under which a text's vector is kept; the text itself is not."""
        return hashlib.sha256(json.dumps((model, dimensions, is_passage, text)).encode()).digest()
