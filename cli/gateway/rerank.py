"""Scores of documents against a query, always in [0, 1]."""

import math
from typing import Any

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError, bad_answer
from pgblend.cli.gateway.providers import Providers
from pgblend.cli.gateway.rerank_request import RerankRequest

# Providers whose scores are the model's logits; all others send them through a sigmoid first.
_LOGITS = {"nvidia_nim"}


class Reranker:
    """The rerank models behind one gateway."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    async def answer(self, request: RerankRequest, deadline: Deadline) -> dict[str, Any]:
        """Return the body of the answer to a call: documents best first, ties by index."""
        scores = await self._scores(request, deadline)
        order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        results = [{"index": index, "relevance_score": scores[index]} for index in order]
        return {"model": request.model, "results": results[: request.top_n]}

    async def _scores(self, request: RerankRequest, deadline: Deadline) -> list[float]:
        if request.model.startswith("local/"):
            message = f"unknown local rerank model {request.model!r}"
            raise GatewayError(404, "model_not_found", message, param="model")
        provider = await self._providers.provider_of(request.model)
        answer = await self._providers.call(
            "rerank",
            request.model,
            deadline,
            query=request.query,
            documents=request.documents,
            top_n=len(request.documents),
            return_documents=False,
        )
        scores = scores_of(answer, request.model, len(request.documents))
        return [sigmoid(score) for score in scores] if provider in _LOGITS else scores


def scores_of(answer: Any, model: str, count: int) -> list[float]:
    """Return a provider's score of each document, or raise what is wrong with the answer."""
    try:
        pairs = [(int(r["index"]), float(r["relevance_score"])) for r in answer.results]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise bad_answer(f"{model} gave an answer without scores") from None
    if sorted(index for index, _ in pairs) != list(range(count)):
        raise bad_answer(f"{model} gave {len(pairs)} scores that do not fit {count} documents")
    if not all(math.isfinite(score) for _, score in pairs):
        raise bad_answer(f"{model} gave a score that is not a finite number")
    return [score for _, score in sorted(pairs)]


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    return math.exp(logit) / (1 + math.exp(logit))
