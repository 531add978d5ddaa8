"""All that one gateway does, put together."""

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from pgblend.cli.gateway.answer_cache import AnswerCache
from pgblend.cli.gateway.cache import EmbeddingCache
from pgblend.cli.gateway.chat import Chat
from pgblend.cli.gateway.embeddings import Embedder
from pgblend.cli.gateway.expansion import Expander
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.rerank import Reranker

_MEBIBYTE = 1024 * 1024
_ANSWER_CACHE_BYTES = 16 * _MEBIBYTE


class Services:
    """The models behind one gateway, by what they are asked for."""

    def __init__(self, *, provider_timeout_seconds: float = 60, cache_mebibytes: int = 64) -> None:
        self.providers = Providers(provider_timeout_seconds)
        self.answers = AnswerCache(_ANSWER_CACHE_BYTES if cache_mebibytes else 0)
        self.embedder = Embedder(EmbeddingCache(cache_mebibytes * _MEBIBYTE), self.providers)
        self.chat = Chat(self.providers)
        self.reranker = Reranker(self.providers)
        self.expander = Expander(self.providers, self.chat, self.answers)
        self._preloading: asyncio.Task[Any] | None = None

    def preload(self) -> None:
        """Start loading what will be needed, in the background."""
        loads: list[Coroutine[Any, Any, Any]] = [
            model.load() for model in self.embedder.local_models.values() if model.installed
        ]
        if any(name.endswith("_API_KEY") for name in os.environ):
            loads.append(self.providers.load())
        # A failure shows in /health and in the first call.
        self._preloading = asyncio.ensure_future(asyncio.gather(*loads, return_exceptions=True))

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._preloading:
            self._preloading.cancel()
        self.embedder.close()
