"""Rerank models that run inside the gateway: cross-encoders by sentence-transformers."""

import asyncio
import importlib.util
from pathlib import Path
from typing import Any

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_model import batches
from pgblend.cli.gateway.local_weights import LocalWeights

_PREFIX = "local/"
_BATCH_SIZE = 8


class CrossEncoder(LocalWeights):
    """A cross-encoder in a folder; one thread loads it and scores."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self._folder = folder

    @property
    def installed(self) -> bool:
        """Whether the extra pgblend[local] is there; imports nothing."""
        return importlib.util.find_spec("sentence_transformers") is not None

    async def scores(self, query: str, documents: list[str]) -> list[float]:
        """Return each document's score in [0, 1]: one sigmoid, whatever the model's files say."""
        self._require_installed()
        order = sorted(range(len(documents)), key=lambda index: len(documents[index]))
        scores = [0.0] * len(documents)
        for batch in batches(order, _BATCH_SIZE):
            pairs = [(query, documents[index]) for index in batch]
            for index, score in zip(batch, await self._in_thread(self._score, pairs), strict=True):
                scores[index] = score
        return scores

    def _read(self) -> Any:
        import sentence_transformers

        encoder = sentence_transformers.CrossEncoder(str(self._folder), local_files_only=True)
        if encoder.num_labels != 1:
            raise ValueError(f"{encoder.num_labels} labels where a reranker has 1")
        return encoder

    def _score(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

        self._load()
        scores = self._model.predict(
            pairs,
            batch_size=_BATCH_SIZE,
            show_progress_bar=False,
            activation_fn=torch.nn.Sigmoid(),
        )
        return [float(score) for score in scores]


class CrossEncoders:
    """The cross-encoders in a folder of models, else in Hugging Face's cache on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, CrossEncoder] = {}

    async def scores(
        self, model: str, query: str, documents: list[str], deadline: Deadline
    ) -> list[float]:
        """Return each document's score in [0, 1] by `local/<name>`."""
        encoder = self._known.get(model)
        if encoder is None:
            folder = await asyncio.to_thread(self._find, model.removeprefix(_PREFIX))
            encoder = self._known.setdefault(model, CrossEncoder(model, folder))
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
        """Stop their threads."""
        for encoder in self._known.values():
            encoder.close()

    def _find(self, name: str) -> Path:
        folder = self._folder / name
        if (folder / "config.json").is_file():
            return folder
        try:
            from huggingface_hub import snapshot_download

            return Path(snapshot_download(name, local_files_only=True))
        except (ImportError, ValueError, OSError):
            message = f"there is no local rerank model {name!r}; put its files into {folder}"
            raise GatewayError(404, "model_not_found", message, param="model") from None
