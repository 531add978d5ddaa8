"""Scores of documents against a query, always in [0, 1], each asked for once."""

import hashlib
import json
import os
import struct
from dataclasses import dataclass
from functools import partial
from typing import Any

from json_repair import repair_json

from pgblend.cli.models import fields
from pgblend.cli.models.cache import MemoryCache
from pgblend.cli.models.chat import Chat, ChatRequest
from pgblend.cli.models.cross_encoders import (
    CrossEncoders,
    ScoreReader,
    is_rerank_model,
    logit_models,
)
from pgblend.cli.models.openai_errors import GatewayError, bad_answer
from pgblend.cli.models.prompts import read_prompt
from pgblend.cli.models.providers import Providers
from pgblend.cli.models.retry import CallDeadline, first_answer

# A chat model as reranker, where there is no rerank model: one call scores all documents.

MOST_IN_CHAT = 50  # more, and a chat model loses count
_FULL_SCORE = 100
_RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "relevance",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"scores": {"type": "array", "items": {"type": "integer"}}},
            "required": ["scores"],
            "additionalProperties": False,
        },
    },
}


class ChatReranker:
    """Asks a chat model for scores."""

    def __init__(self, providers: Providers, chat: Chat) -> None:
        self._providers = providers
        self._chat = chat

    async def scores(
        self, model: str, query: str, documents: list[str], deadline: CallDeadline
    ) -> list[float]:
        """Return each document's score in [0, 1]."""
        if len(documents) > MOST_IN_CHAT:
            message = (
                f"{model} is a chat model, which scores at most {MOST_IN_CHAT} documents, "
                f"not {len(documents)}"
            )
            raise GatewayError(400, "too_many_documents", message, param="documents")
        asked = {
            "query": query,
            "passages": [
                {"number": number, "text": text} for number, text in enumerate(documents, 1)
            ],
        }
        messages = [
            {"role": "system", "content": read_prompt("rerank").text},
            {"role": "user", "content": json.dumps(asked, ensure_ascii=False)},
        ]
        options: dict[str, Any] = {"temperature": 0, "max_tokens": 100 + 8 * len(documents)}
        if await self._providers.takes_schema(model):
            options["response_format"] = _RESPONSE_FORMAT
        request = ChatRequest(model, messages, options, task="rerank")
        answer = await self._chat.answer_of(request, model, deadline)
        text = answer["choices"][0]["message"]["content"]
        return _read(text, model, len(documents))


def _read(text: str, model: str, count: int) -> list[float]:
    try:
        said = repair_json(text[text.find("{") :], return_objects=True) if "{" in text else None
    except RecursionError:
        raise bad_answer(f"{model} gave scores that are nested too deeply") from None
    scores = said.get("scores") if isinstance(said, dict) else None
    if not isinstance(scores, list) or len(scores) != count:
        raise bad_answer(f"{model} gave no list of {count} scores")
    if not all(type(s) in (int, float) and 0 <= s <= _FULL_SCORE for s in scores):
        raise bad_answer(f"{model} gave a score that is not a number from 0 to {_FULL_SCORE}")
    return [score / _FULL_SCORE for score in scores]


# What a caller may send to /v1/rerank: the fields of Cohere and Jina.

MAX_DOCUMENTS = 1000
_read_call = fields.reader(
    ["documents", "model", "query"],
    {
        "documents": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_DOCUMENTS,
            "items": fields.TEXT,
            "codes": {"": "invalid_documents", "maxItems": "too_many_documents"},
        },
        "model": fields.MODEL,
        "query": fields.TEXT,
        "return_documents": {},
        "timeout_ms": fields.TIMEOUT,
        "top_n": fields.whole_number(1, MAX_DOCUMENTS),
    },
)


@dataclass(frozen=True)
class RerankRequest:
    """A checked call: score each document against the query."""

    model: str
    query: str
    documents: list[str]
    top_n: int | None = None
    timeout_ms: int | None = None


def parse_rerank_request(body: bytes) -> RerankRequest:
    """Return the checked call, or raise a GatewayError that names the offending field."""
    given = _read_call(body)
    asked = given["model"], given["query"], given["documents"]
    return RerankRequest(*asked, given.get("top_n"), given.get("timeout_ms"))


Answer = dict[str, Any]
_MOST_MODELS = 1000
_MOST_TEXTS = 32  # that text-embeddings-inference takes at once, unless it is told otherwise


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
        self._ways: dict[str, int] = {}  # of models of own servers: which way they answer

    async def answer(self, request: RerankRequest, deadline: CallDeadline) -> tuple[Answer, bool]:
        """Return the body of the answer, documents best first, and whether no model was asked."""
        models = [request.model, *self._providers.policy.fallbacks.get("rerank", ())]
        return await first_answer(models, deadline, partial(self._answer_of, request))

    async def _answer_of(
        self, request: RerankRequest, model: str, deadline: CallDeadline
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
        self, model: str, query: str, documents: list[str], deadline: CallDeadline
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
        self, model: str, provider: str, query: str, documents: list[str], deadline: CallDeadline
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

    async def _ranked_texts(
        self, model: str, provider: str, query: str, documents: list[str], deadline: CallDeadline
    ) -> list[float]:
        scores: list[float] = []
        for start in range(0, len(documents), _MOST_TEXTS):
            texts = documents[start : start + _MOST_TEXTS]
            scores += await self._providers.call(
                "rerank_texts",
                model,
                deadline,
                partial(self._reader.read, model, provider, len(texts)),
                task="rerank",
                query=query,
                documents=texts,
                truncate=True,
            )
        return scores

    async def _said(
        self, model: str, _: str, query: str, documents: list[str], deadline: CallDeadline
    ) -> list[float]:
        return await self._chat.scores(model, query, documents, deadline)

    async def _scores_of_server(
        self, model: str, provider: str, query: str, documents: list[str], deadline: CallDeadline
    ) -> list[float]:
        """Return the scores of a model of one's own server.

        A reranker takes the shape of Cohere, or that of text-embeddings-inference; what takes
        neither is asked as a chat model. A model that answered one way is asked no other.
        """
        ways = (self._ranked, self._ranked_texts, self._said)
        known = self._ways.get(model)
        refusals: list[GatewayError] = []
        for place in range(len(ways)) if known is None else (known,):
            try:
                scores = await ways[place](model, provider, query, documents, deadline)
            except GatewayError as error:
                if not _reranks_nothing(error):
                    raise
                refusals.append(error)
            else:
                if len(self._ways) < _MOST_MODELS:
                    self._ways[model] = place
                return scores
        # Where nothing answers, what a server says of a call tells more than that it is not there.
        told = [error for error in refusals if error.code != "model_not_found"]
        raise (told or refusals)[-1 if told else 0]


def _reranks_nothing(error: GatewayError) -> bool:
    """Whether a server says that it has no /rerank, or none for a model.

    Ollama says 404, vLLM 400 or 404, llama.cpp 501.
    """
    refused = error.code in ("model_not_found", "provider_rejected_request")
    return refused or getattr(error.__cause__, "status_code", None) == 501


def _key(model: str, query: str, document: str) -> bytes:
    return hashlib.sha256(json.dumps((model, query, document)).encode()).digest()
