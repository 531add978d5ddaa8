"""Scores of documents against a query, always in [0, 1], each asked for once."""

import hashlib
import json
import os
import struct
from functools import partial
from typing import Any

from pgblend.cli.gateway.chat_reranker import ChatReranker
from pgblend.cli.gateway.cross_encoders import CrossEncoders
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.fallback import first_answer
from pgblend.cli.gateway.memory_cache import MemoryCache
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.rerank_request import RerankRequest
from pgblend.cli.gateway.rerank_scores import ScoreReader, is_rerank_model, logit_models

Answer = dict[str, Any]
_MOST_MODELS = 1000


class Reranker:
    """The rerank models behind one gateway, and the cache of their scores.

    A score is kept by model, query and document: it does not depend on the other documents. (A
    chat model sees them together, but is told to judge each for itself.)
    """

    def __init__(
        self,
        providers: Providers,
        local: CrossEncoders,
        chat: ChatReranker,
        cache: MemoryCache,
    ) -> None:
        self.cache = cache
        self.local = local
        self._providers = providers
        self._chat = chat
        self._reader = ScoreReader(logit_models(os.environ))
        self._only_chat: set[str] = set()  # models of own servers that do not rerank

    async def answer(self, request: RerankRequest, deadline: Deadline) -> tuple[Answer, bool]:
        """Return the body of the answer, documents best first, and whether no model was asked."""
        models = [request.model, *self._providers.policy.fallbacks.get("rerank", ())]
        return await first_answer(models, deadline, partial(self._answer_of, request))

    async def _answer_of(
        self, request: RerankRequest, model: str, deadline: Deadline
    ) -> tuple[Answer, bool]:
        keys = [_key(model, request.query, document) for document in request.documents]
        known = {key: self.cache.get(key) for key in keys}
        missing = {
            key: document
            for key, document in zip(keys, request.documents, strict=True)
            if known[key] is None
        }
        if missing:
            documents = list(missing.values())
            scores = await self._scores(model, request.query, documents, deadline)
            for key, score in zip(missing, scores, strict=True):
                known[key] = struct.pack("<d", score)
                self.cache.put(key, known[key] or b"")
        all_scores = [struct.unpack("<d", known[key] or b"")[0] for key in keys]
        order = sorted(range(len(keys)), key=lambda index: (-all_scores[index], index))
        results = [{"index": index, "relevance_score": all_scores[index]} for index in order]
        return {"model": model, "results": results[: request.top_n]}, not missing

    async def _scores(
        self, model: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        if model.startswith("local/"):
            return await self.local.scores(model, query, documents, deadline)
        litellm = await self._providers.load()
        provider = await self._providers.provider_of(model)
        if provider in self._providers.servers:
            return await self._scores_of_server(model, provider, query, documents, deadline)
        if not is_rerank_model(litellm, model, provider):
            return await self._chat.scores(model, query, documents, deadline)
        return await self._ranked(model, provider, query, documents, deadline)

    async def _ranked(
        self, model: str, provider: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        return await self._providers.call(
            "rerank",
            model,
            deadline,
            partial(self._reader.read, model, provider, len(documents)),
            query=query,
            documents=documents,
            top_n=len(documents),
            return_documents=False,
        )

    async def _scores_of_server(
        self, model: str, provider: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        """Return the scores of a model of one's own server: a reranker's, else a chat model's."""
        if model in self._only_chat:
            return await self._chat.scores(model, query, documents, deadline)
        try:
            return await self._ranked(model, provider, query, documents, deadline)
        except GatewayError as error:
            if not _reranks_nothing(error):
                raise
            refusal = error
        try:
            scores = await self._chat.scores(model, query, documents, deadline)
        except GatewayError as error:
            # A server without chat: what it says of reranking is the reason.
            raise (refusal if error.code == "model_not_found" else error) from None
        if len(self._only_chat) < _MOST_MODELS:
            self._only_chat.add(model)
        return scores


def _reranks_nothing(error: GatewayError) -> bool:
    """Whether a server says that it has no /rerank, or none for a model.

    Ollama says 404, vLLM 400 or 404, llama.cpp 501.
    """
    refused = error.code in ("model_not_found", "provider_rejected_request")
    return refused or getattr(error.__cause__, "status_code", None) == 501


def _key(model: str, query: str, document: str) -> bytes:
    return hashlib.sha256(json.dumps((model, query, document)).encode()).digest()
