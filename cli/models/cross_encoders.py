"""The cross-encoders of one gateway's own, by name; scores between 0 and 1."""

import asyncio
import math
from collections.abc import Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgblend.cli.models.local_weights import LocalWeights, batches, find_model, onnx_file, unfit
from pgblend.cli.models.model_process import Given
from pgblend.cli.models.openai_errors import GatewayError, bad_answer
from pgblend.cli.models.retry import CallDeadline
from pgblend.plpy.models.outcome import is_numbered

if TYPE_CHECKING:
    from pgblend.cli.models.onnx_library import OnnxFolder


# Reading a provider's rerank scores, and bringing them to [0, 1] once.

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
                    f"{model} gave {score:.6g} for a score: expected 0 to 1. If its scores are"
                    f" logits, name it in {LOGITS_VARIABLE} of gateway.env; percent and other"
                    " scales are not taken"
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


# A rerank model that belongs to the gateway.

BATCH_SIZE = 8


class CrossEncoder(LocalWeights):
    """A cross-encoder in a folder; `_score` gives the scores of one small batch."""

    def __init__(self, name: str, folder: str) -> None:
        super().__init__(name, folder=folder)
        self._folder = Path(folder)

    async def scores(self, query: str, documents: list[str]) -> list[float]:
        """Return each document's score in [0, 1]: one sigmoid, whatever the model's files say."""
        await self.load()
        order = sorted(range(len(documents)), key=lambda index: len(documents[index]))
        scores = [0.0] * len(documents)
        for batch in batches(order, BATCH_SIZE):
            pairs = [(query, documents[index]) for index in batch]
            found = await self._ask(True, "_score", pairs)
            for index, score in zip(batch, found.value, strict=True):
                scores[index] = score
        return scores

    def _score(self, pairs: list[tuple[str, str]]) -> Given:
        raise NotImplementedError


# Cross-encoders in a folder by sentence-transformers.


class SentenceCrossEncoder(CrossEncoder):
    """One by sentence-transformers; one thread of its process loads it and scores."""

    extra = "torch"

    def _read(self) -> Any:
        from pgblend.cli.models.torch_library import prepare_torch

        prepare_torch()
        import sentence_transformers

        encoder = sentence_transformers.CrossEncoder(str(self._folder), local_files_only=True)
        if encoder.num_labels != 1:
            raise ValueError(f"{encoder.num_labels} labels where a reranker has 1")
        return encoder

    def _score(self, pairs: list[tuple[str, str]]) -> Given:
        import torch

        scores = self._model.predict(
            pairs,
            batch_size=BATCH_SIZE,
            show_progress_bar=False,
            activation_fn=torch.nn.Sigmoid(),
        )
        return Given([float(score) for score in scores])


# Cross-encoders in a folder by onnxruntime.

_OUTPUT = "logits"


class OnnxCrossEncoder(CrossEncoder):
    """One whose folder has an ONNX file, which gives a logit for each pair."""

    extra = "local"

    def _read(self) -> "OnnxFolder":
        from pgblend.cli.models.onnx_library import open_onnx_folder

        opened = open_onnx_folder(self._folder)
        if _OUTPUT not in opened.gives:
            given = ", ".join(opened.gives)
            raise unfit(self._folder, f"it gives {given}: that is no reranker")
        logits, _ = opened.run(_OUTPUT, "warm-up", "warm-up")  # the first call allocates
        if logits.size != 1:
            raise unfit(self._folder, f"{logits.size} labels where a reranker has 1")
        return opened

    def _score(self, pairs: list[tuple[str, str]]) -> Given:
        return Given([sigmoid(self._model.run(_OUTPUT, *pair)[0].item()) for pair in pairs])


class CrossEncoders:
    """The cross-encoders in a folder of models, else in Hugging Face's cache on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, CrossEncoder] = {}

    async def scores(
        self, model: str, query: str, documents: list[str], deadline: CallDeadline
    ) -> list[float]:
        """Return each document's score in [0, 1] by `local/<name>`."""
        encoder = self._known.get(model)
        if encoder is None:
            folder = await asyncio.to_thread(find_model, self._folder, model)
            kind = OnnxCrossEncoder if onnx_file(folder) else SentenceCrossEncoder
            encoder = self._known.setdefault(model, kind(model, str(folder)))
        try:
            async with asyncio.timeout(deadline.remaining):
                return await encoder.scores(query, documents)
        except TimeoutError:
            message = f"{model} did not answer in time"
            raise GatewayError(504, "provider_timeout", message) from None

    def states(self) -> dict[str, str]:
        """Return the state of each that was asked for."""
        return {name: encoder.state for name, encoder in self._known.items()}

    def close(self) -> None:
        """End their processes."""
        for encoder in self._known.values():
            encoder.close()
