"""The embedding model that runs inside the gateway: no key, no network, weights from a package."""

import importlib
import importlib.util
from collections.abc import Iterable
from typing import Any

from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_weights import LocalWeights

# Small enough that a query waiting behind an ingest batch still meets its deadline.
_BATCH_SIZE = 8


class LocalModel(LocalWeights):
    """A sentence-transformers model, loaded at first use; one thread loads it and encodes."""

    def __init__(self, name: str, weights_package: str, dimensions: int) -> None:
        super().__init__(name)
        self.dimensions = dimensions
        self._weights_package = weights_package

    @property
    def installed(self) -> bool:
        """Whether the extra pgblend[local] is there; imports nothing."""
        packages = ("sentence_transformers", self._weights_package)
        return all(importlib.util.find_spec(package) for package in packages)

    async def embed(self, texts: list[str], dimensions: int | None) -> tuple[list[bytes], int]:
        """Return one normalised float32 vector a text, and how many tokens the model read."""
        self._require_installed()
        if dimensions not in (None, self.dimensions):
            raise GatewayError(
                400,
                "dimensions_not_supported",
                f"{self.name} gives {self.dimensions} dimensions, not {dimensions}",
                param="dimensions",
            )
        # Texts of like length together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        vectors = [b""] * len(texts)
        tokens = 0
        for batch in batches(order, _BATCH_SIZE):
            # Each batch queues anew, so calls take turns, and a caller who left stops here.
            encoded, count = await self._in_thread(self._encode, [texts[i] for i in batch])
            tokens += count
            for index, vector in zip(batch, encoded, strict=True):
                vectors[index] = vector
        return vectors, tokens

    def _read(self) -> Any:
        from sentence_transformers import SentenceTransformer

        weights = importlib.import_module(self._weights_package)
        model = SentenceTransformer(str(weights.get_model_path()), local_files_only=True)
        model.encode(["warm-up"], show_progress_bar=False)  # the first call allocates
        return model

    def _encode(self, texts: list[str]) -> tuple[list[bytes], int]:
        self._load()
        matrix = self._model.encode(
            texts, batch_size=_BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        read = self._model.tokenizer(texts, truncation=True, max_length=self._model.max_seq_length)
        tokens = sum(len(ids) for ids in read["input_ids"])
        return [row.tobytes() for row in matrix.astype("<f4")], tokens


def batches(order: list[int], size: int) -> Iterable[list[int]]:
    """Return a list in parts of a size."""
    return (order[start : start + size] for start in range(0, len(order), size))
