"""Reading a provider's rerank scores, and bringing them to [0, 1] once."""

import math
from collections.abc import Container, Mapping
from typing import Any

from pgblend.cli.gateway.errors import bad_answer
from pgblend.plpy.models.answer import is_numbered

# Their scores are the model's logits; all others send them through a sigmoid first.
_LOGITS = {"nvidia_nim"}
_RERANK_PROVIDERS = {
    "azure_ai",
    "bedrock",
    "cohere",
    "deepinfra",
    "fireworks_ai",
    "hosted_vllm",
    "huggingface",
    "infinity",
    "jina_ai",
    "litellm_proxy",
    "nvidia_nim",
    "together_ai",
    "vertex_ai",
    "voyage",
    "watsonx",
}
_TOLERANCE = 1e-6
LOGITS_VARIABLE = "PGBLEND_RERANK_LOGITS"


def is_rerank_model(litellm: Any, model: str, provider: str) -> bool:
    """Whether a provider ranks with a model, as against chatting with it."""
    facts = litellm.model_cost.get(model) or litellm.model_cost.get(model.partition("/")[2]) or {}
    mode = facts.get("mode")
    return mode == "rerank" if mode else provider in _RERANK_PROVIDERS


def logit_models(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the models whose scores are logits: names in PGBLEND_RERANK_LOGITS, by commas."""
    given = environment.get(LOGITS_VARIABLE, "").split(",")
    return frozenset(name.strip() for name in given if name.strip())


class ScoreReader:
    """Reads scores on the scale that a model is known to have, whatever it answered before."""

    def __init__(self, logits: Container[str] = ()) -> None:
        self._logits = logits  # models

    def read(self, model: str, provider: str, count: int, answer: Any) -> list[float]:
        """Return the score of each document, or raise what is wrong with the answer."""
        scores = scores_of(answer, model, count)
        if provider in _LOGITS or model in self._logits:
            return [sigmoid(score) for score in scores]
        for score in scores:
            if not -_TOLERANCE <= score <= 1 + _TOLERANCE:
                raise bad_answer(
                    f"{model} gave {score:.6g} for a score: expected 0 to 1; if its scores are"
                    f" logits, name it in {LOGITS_VARIABLE} of gateway.env"
                )
        return [min(1.0, max(0.0, score)) for score in scores]


def scores_of(answer: Any, model: str, count: int) -> list[float]:
    """Return the scores in an answer in the documents' order."""
    try:
        scores = {r["index"]: r["relevance_score"] for r in answer.results}
        found = len(answer.results)
    except (AttributeError, KeyError, TypeError):
        raise bad_answer(f"{model} gave an answer without scores") from None
    if found != count or not is_numbered(scores, count):
        raise bad_answer(f"{model} gave {found} scores that do not fit {count} documents")
    if not all(_is_finite(score) for score in scores.values()):
        raise bad_answer(f"{model} gave a score that is not a finite number")
    return [float(scores[index]) for index in range(count)]


def _is_finite(score: object) -> bool:
    try:
        return type(score) in (int, float) and math.isfinite(score)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of hundreds of digits
        return False


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), without overflow."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    return math.exp(logit) / (1 + math.exp(logit))
