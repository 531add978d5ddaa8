"""An embedding model that belongs to the gateway: no key, no network."""

import asyncio
from collections.abc import Iterator
from typing import ClassVar

from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_weights import LocalWeights, batches

# What a search asks at once, variants and all; an ingest sends a hundred.
QUESTION_TEXTS = 8


class EmbeddingModel(LocalWeights):
    """Vectors of texts; `_encode` gives those of one small batch, in the model's process."""

    batch_size: ClassVar[int]

    async def embed(
        self, texts: list[str], dimensions: int | None, is_passage: bool
    ) -> tuple[list[bytes], int]:
        """Return one normalised float32 vector a text, and how many tokens the model read.

        Some models set another prefix before a passage than before a question.
        """
        await self.load()
        if dimensions not in (None, self.dimensions):
            raise GatewayError(
                400,
                "dimensions_not_supported",
                f"{self.name} gives {self.dimensions} dimensions, not {dimensions}",
                param="dimensions",
            )
        # Texts of like length together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        waiting = iter(batches(order, self.batch_size))
        vectors = [b""] * len(texts)
        try:
            # Each batch queues anew, so calls take turns, and a caller who left stops here.
            async with asyncio.TaskGroup() as group:
                lanes = [
                    group.create_task(self._embed_batches(waiting, texts, is_passage, vectors))
                    for _ in range(self.threads)
                ]
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return vectors, sum(lane.result() for lane in lanes)

    async def _embed_batches(
        self,
        waiting: Iterator[list[int]],
        texts: list[str],
        is_passage: bool,
        vectors: list[bytes],
    ) -> int:
        """Embed batches until none waits; return how many tokens the model read."""
        is_question = len(texts) <= QUESTION_TEXTS
        tokens = 0
        for batch in waiting:
            encoded, count = await self._ask(
                is_question, "_encode", [texts[index] for index in batch], is_passage
            )
            tokens += count
            for index, vector in zip(batch, encoded, strict=True):
                vectors[index] = vector
        return tokens

    def _encode(self, texts: list[str], is_passage: bool) -> tuple[list[bytes], int]:
        raise NotImplementedError
