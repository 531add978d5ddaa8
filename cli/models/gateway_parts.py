"""All that one gateway does, put together."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgblend.cli.base.extras import DEFAULT_MODEL
from pgblend.cli.models.breaker import Observer
from pgblend.cli.models.cache import AnswerCache, EmbeddingCache, MemoryCache
from pgblend.cli.models.chat import Chat
from pgblend.cli.models.cross_encoders import CrossEncoders
from pgblend.cli.models.embedding_models import EmbeddingModels
from pgblend.cli.models.embeddings import Embedder
from pgblend.cli.models.expansion_calls import Expander
from pgblend.cli.models.gateway_options import Policy
from pgblend.cli.models.metrics import Metrics
from pgblend.cli.models.providers import Providers
from pgblend.cli.models.rerank_scores import ChatReranker, Reranker
from pgblend.cli.models.search_log import SearchLog

if TYPE_CHECKING:
    from pgblend.cli.models.database_writer import DatabaseWriter

_MEBIBYTE = 1024 * 1024
_OTHER_CACHES_SHARE = 4  # expansions and scores are small: a quarter of the embeddings' room each

_LAST_DATAGRAMS_SECONDS = 0.05  # until what the socket still holds is read


class Services:
    """The models behind one gateway, by what they are asked for."""

    def __init__(
        self,
        policy: Policy,
        *,
        cache_mebibytes: int = 64,
        models_folder: Path = Path("models"),
        database_url: str | None = None,
        keep_days: int = 90,
    ) -> None:
        cache_bytes = cache_mebibytes * _MEBIBYTE
        small_bytes = cache_bytes // _OTHER_CACHES_SHARE
        self.policy = policy
        self.metrics = Metrics()
        self.database: DatabaseWriter | None = None
        if database_url:  # else psycopg is not loaded
            from pgblend.cli.models import database_writer

            self.database = database_writer.DatabaseWriter(database_url, keep_days, self.metrics)
        observer = Observer(self.metrics, self.database.add_call if self.database else None)
        self.providers = Providers(policy, observer)
        self.embedder = Embedder(
            EmbeddingCache(cache_bytes), self.providers, EmbeddingModels(models_folder)
        )
        self.chat = Chat(self.providers, observer)
        self.expander = Expander(self.providers, self.chat, AnswerCache(small_bytes, self.database))
        self.reranker = Reranker(
            self.providers,
            CrossEncoders(models_folder),
            ChatReranker(self.providers, self.chat),
            MemoryCache(small_bytes),
        )
        self.caches = {
            "embeddings": self.embedder.cache,
            "expansions": self.expander.cache.memory,
            "scores": self.reranker.cache,
        }
        for name, cache in self.caches.items():
            self.metrics.watch_cache(name, cache)
        self._preloading: asyncio.Task[Any] | None = None

    @asynccontextmanager
    async def running(
        self, log_socket: socket.socket | None = None, token: str | None = None
    ) -> AsyncIterator[None]:
        """Do what goes on in the background; at the end write what is still to be written."""
        receiving = None
        if self.database:
            self.database.start()
            if log_socket:
                receiving = await SearchLog.listen(
                    log_socket, self.database.add_search, self.metrics, token
                )
        try:
            yield
        finally:
            if receiving:
                await asyncio.sleep(_LAST_DATAGRAMS_SECONDS)
                receiving.close()
            if self.database:
                await self.database.close()
            self.close()

    def preload(self) -> None:
        """Start loading what will be needed, in the background: of local models the default one."""
        loads: list[Coroutine[Any, Any, Any]] = [
            model.load() for model in self.embedder.local.installed if model.name == DEFAULT_MODEL
        ]
        if any(name.endswith("_API_KEY") for name in os.environ):
            loads.append(self.providers.load())
        # A failure shows in /health and in the first call.
        self._preloading = asyncio.ensure_future(asyncio.gather(*loads, return_exceptions=True))

    def health(self) -> dict[str, Any]:
        """Return what /health shows of models, providers and caches."""
        breakers = {
            name: breaker.state
            for name, breaker in self.providers.breakers.items()
            if breaker.state != "closed"
        }
        return {
            "models": {**self.embedder.local.states(), **self.reranker.local.states()},
            "providers": self.providers.state,
            "failing": breakers,
            "database": self.database.state if self.database else "none",
            "cache": self.embedder.cache.statistics(),
            "caches": {name: cache.statistics() for name, cache in self.caches.items()},
        }

    def close(self) -> None:
        """Stop what runs in the background."""
        if self._preloading:
            self._preloading.cancel()
        self.embedder.local.close()
        self.reranker.local.close()
