"""A rerank model that belongs to the gateway."""

from pathlib import Path

from pgblend.cli.gateway.local_weights import LocalWeights, batches

BATCH_SIZE = 8


class CrossEncoder(LocalWeights):
    """A cross-encoder in a folder; `_score` gives the scores of one small batch."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self._folder = folder

    async def scores(self, query: str, documents: list[str]) -> list[float]:
        """Return each document's score in [0, 1]: one sigmoid, whatever the model's files say."""
        await self.load()
        order = sorted(range(len(documents)), key=lambda index: len(documents[index]))
        scores = [0.0] * len(documents)
        for batch in batches(order, BATCH_SIZE):
            pairs = [(query, documents[index]) for index in batch]
            found = await self._ask(True, "_score", pairs)
            for index, score in zip(batch, found, strict=True):
                scores[index] = score
        return scores

    def _score(self, pairs: list[tuple[str, str]]) -> list[float]:
        raise NotImplementedError
