"""The embedding model that runs inside the gateway: no key, no network, weights from a package."""

import asyncio
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pgblend.cli.gateway.errors import GatewayError

# Small enough that a query waiting behind an ingest batch still meets its deadline.
_BATCH_SIZE = 8
_MAX_THREADS = 4
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class LocalModel:
    """A sentence-transformers model, loaded at first use; one thread loads it and encodes."""

    def __init__(self, name: str, weights_package: str, dimensions: int) -> None:
        self.name = name
        self.dimensions = dimensions
        self._weights_package = weights_package
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._model: Any = None
        self._state = "not_loaded"

    @property
    def installed(self) -> bool:
        """Whether the extra pgblend[local] is there; imports nothing."""
        packages = ("sentence_transformers", self._weights_package)
        return all(importlib.util.find_spec(package) for package in packages)

    @property
    def state(self) -> str:
        """One of missing, not_loaded, loading, ready, failed."""
        return self._state if self.installed else "missing"

    async def load(self) -> None:
        """Load the model, unless that is done already; serving goes on meanwhile."""
        self._require_installed()
        await self._in_thread(self._load)

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
        for batch in _batches(order):
            # Each batch queues anew, so calls take turns, and a caller who left stops here.
            encoded, count = await self._in_thread(self._encode, [texts[i] for i in batch])
            tokens += count
            for index, vector in zip(batch, encoded, strict=True):
                vectors[index] = vector
        return vectors, tokens

    def close(self) -> None:
        """Let a running batch finish and drop those that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _require_installed(self) -> None:
        if not self.installed:
            raise GatewayError(
                424,
                "local_model_missing",
                f"{self.name} is not installed: pip install 'pgblend[local]'",
                param="model",
            )

    async def _in_thread(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _load(self) -> None:
        if self._model is not None:
            return
        self._state = "loading"
        try:
            self._model = _load_sentence_transformer(self._weights_package)
            self._state = "ready"
        except Exception as error:
            self._state = "failed"
            _log.exception("cannot load %s", self.name)
            message = f"{self.name} does not load ({type(error).__name__}); see the gateway's log"
            raise GatewayError(503, "local_model_failed", message, param="model") from error

    def _encode(self, texts: list[str]) -> tuple[list[bytes], int]:
        self._load()
        matrix = self._model.encode(
            texts, batch_size=_BATCH_SIZE, normalize_embeddings=True, show_progress_bar=False
        )
        read = self._model.tokenizer(texts, truncation=True, max_length=self._model.max_seq_length)
        tokens = sum(len(ids) for ids in read["input_ids"])
        return [row.tobytes() for row in matrix.astype("<f4")], tokens


def _batches(order: list[int]) -> Iterable[list[int]]:
    return (order[start : start + _BATCH_SIZE] for start in range(0, len(order), _BATCH_SIZE))


def _load_sentence_transformer(weights_package: str) -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one text after another; threads are torch's
    import torch
    from sentence_transformers import SentenceTransformer

    transformers_logging: Any = importlib.import_module("transformers.utils.logging")
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(min(torch.get_num_threads(), _MAX_THREADS))
    weights = importlib.import_module(weights_package)
    model = SentenceTransformer(str(weights.get_model_path()), local_files_only=True)
    model.encode(["warm-up"], show_progress_bar=False)  # the first call allocates
    return model
