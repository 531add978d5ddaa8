"""Embeddings in OpenAI's shape: the call is checked, the cache asked, then the model."""

import asyncio
import base64
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pgblend.cli.models import fields
from pgblend.cli.models.cache import EmbeddingCache
from pgblend.cli.models.embedding_models import QUESTION_TEXTS, EmbeddingModels
from pgblend.cli.models.litellm_library import knows_model
from pgblend.cli.models.local_weights import LOCAL_PREFIX
from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.models.providers import Providers, vectors_of
from pgblend.cli.models.retry import CallDeadline

# What a caller may send to /v1/embeddings, checked before any model is touched.

MAX_INPUTS = 2048  # as OpenAI
MAX_DIMENSIONS = 65_536
_read = fields.reader(
    ["model", "input"],
    {
        "model": fields.MODEL,
        "input": {
            "type": ["string", "array"],
            "minLength": 1,
            "minItems": 1,
            "maxItems": MAX_INPUTS,
            "items": fields.TEXT,
            "codes": {
                "": "invalid_input",
                "minLength": "empty_input",
                "minItems": "empty_input",
                "maxItems": "too_many_inputs",
            },
        },
        "dimensions": fields.whole_number(1, MAX_DIMENSIONS),
        "encoding_format": {"enum": ["float", "base64", None]},
        "input_type": {"enum": ["query", "passage", None]},
        "timeout_ms": fields.TIMEOUT,
        "user": {},
    },
)


@dataclass(frozen=True)
class EmbeddingsRequest:
    """A checked call: which model, which texts, in which form the vectors are wanted."""

    model: str
    texts: list[str]
    dimensions: int | None
    encoding_format: Literal["float", "base64"]
    is_passage: bool = False
    timeout_ms: int | None = None


def parse_embeddings_request(body: bytes) -> EmbeddingsRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = _read(body)
    texts = given["input"]
    return EmbeddingsRequest(
        given["model"],
        [texts] if isinstance(texts, str) else texts,
        given.get("dimensions"),
        given.get("encoding_format", "float"),
        given.get("input_type") == "passage",
        given.get("timeout_ms"),
    )


class Embedder:
    """The embedding models behind one gateway, and the cache before them.

    A vector is its little-endian float32 bytes: what the cache keeps and base64 answers carry.
    """

    def __init__(self, cache: EmbeddingCache, providers: Providers, local: EmbeddingModels) -> None:
        self.cache = cache
        self.providers = providers
        self.local = local

    async def answer(
        self, request: EmbeddingsRequest, deadline: CallDeadline
    ) -> tuple[dict[str, Any], bool]:
        """Return the body of the answer to a call, and whether no model was asked."""
        asked = (request.model, request.dimensions, request.is_passage)
        keys = [self.cache.key(*asked, text) for text in request.texts]
        vectors = {key: self.cache.get(key) for key in keys}
        missing = {
            key: text for key, text in zip(keys, request.texts, strict=True) if vectors[key] is None
        }
        tokens = 0
        if missing:
            new, tokens = await self._embed(request, list(missing.values()), deadline)
            _check_directions(request.model, new)
            for key, vector in zip(missing, new, strict=True):
                self.cache.put(key, vector)
                vectors[key] = vector
        return _answer(request, [vectors[key] or b"" for key in keys], tokens), not missing

    async def _embed(
        self, request: EmbeddingsRequest, texts: list[str], deadline: CallDeadline
    ) -> tuple[list[bytes], int]:
        if request.model.startswith(LOCAL_PREFIX):
            return await self._embed_here(request, texts, deadline)
        return await self._embed_hosted(request, texts, deadline)

    async def _embed_here(
        self, request: EmbeddingsRequest, texts: list[str], deadline: CallDeadline
    ) -> tuple[list[bytes], int]:
        """Embed by a local model; one that keeps questions waiting is spared them for a while."""
        model = await self.local.get(request.model)
        is_question = len(texts) <= QUESTION_TEXTS and model.state == "ready"
        watched = self.providers.watched(model.name) if is_question else nullcontext()
        try:
            with watched:
                async with asyncio.timeout(deadline.callers):
                    return await model.embed(texts, request.dimensions, request.is_passage)
        except TimeoutError:
            message = f"{model.name} did not answer in time"
            raise GatewayError(504, "provider_timeout", message) from None

    async def _embed_hosted(
        self, request: EmbeddingsRequest, texts: list[str], deadline: CallDeadline
    ) -> tuple[list[bytes], int]:
        model = request.model
        provider = await self.providers.provider_of(model)
        litellm = await self.providers.load()
        # litellm drops `dimensions` from OpenAI-compatible models that it does not know. For those
        # it knows, it is right about who takes it.
        is_own = provider in self.providers.servers
        passed = is_own or (provider == "openai" and not knows_model(litellm, model))

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


def _check_directions(model: str, vectors: list[bytes]) -> None:
    """Refuse the zero vector, which is like no other: a passage that has it is never found."""
    if not all(np.frombuffer(vector, "<f4").any() for vector in vectors):
        message = f"{model} gave the zero vector, which has no direction, for a text"
        raise GatewayError(422, "zero_vector", message, param="input")


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
