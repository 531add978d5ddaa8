"""Rerank models that belong to the gateway: cross-encoders by sentence-transformers."""

import asyncio
from pathlib import Path
from typing import Any

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_weights import LocalWeights, batches
from pgblend.cli.gateway.model_folder import find_model

_BATCH_SIZE = 8


class CrossEncoder(LocalWeights):
    """A cross-encoder in a folder; one thread of its process loads it and scores."""

    extra = "torch"

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self._folder = folder

    async def scores(self, query: str, documents: list[str]) -> list[float]:
        """Return each document's score in [0, 1]: one sigmoid, whatever the model's files say."""
        await self.load()
        order = sorted(range(len(documents)), key=lambda index: len(documents[index]))
        scores = [0.0] * len(documents)
        for batch in batches(order, _BATCH_SIZE):
            pairs = [(query, documents[index]) for index in batch]
            found = await self._ask(True, "_score", pairs)
            for index, score in zip(batch, found, strict=True):
                scores[index] = score
        return scores

    def _read(self) -> Any:
        from pgblend.cli.gateway.torch_library import prepare_torch

        prepare_torch()
        import sentence_transformers

        encoder = sentence_transformers.CrossEncoder(str(self._folder), local_files_only=True)
        if encoder.num_labels != 1:
            raise ValueError(f"{encoder.num_labels} labels where a reranker has 1")
        return encoder

    def _score(self, pairs: list[tuple[str, str]]) -> list[float]:
        import torch

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
            folder = await asyncio.to_thread(find_model, self._folder, model)
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
        """End their processes."""
        for encoder in self._known.values():
            encoder.close()
