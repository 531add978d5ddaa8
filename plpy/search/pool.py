"""What fusion makes of the lists, and what refinement makes of that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgblend.plpy.models.rerank import RerankStage
from pgblend.plpy.search.arms import candidate_arms
from pgblend.plpy.search.passages import StoredPassages


def _no_place(_: int) -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Pool:
    """The candidates of all lists: `fused` is what fuse_lists returns, by item.

    `place` tells {source, depth} of a chunk id where the graph was searched, else {}.
    """

    lists: Sequence[Mapping[str, Any]]
    fused: dict[str, Any]
    place: Callable[[int], dict[str, Any]] = _no_place

    def chunk_ids(self, items: Sequence[int]) -> list[int]:
        """Return the items' chunk ids."""
        return [self.fused["chunk_ids"][item] for item in items]

    def keys(self, items: Sequence[int], points: Sequence[float]) -> list[tuple[float, int, int]]:
        """Return (score, document id, chunk index) of items, by which ties are settled."""
        documents, indexes = self.fused["document_ids"], self.fused["chunk_indexes"]
        return [(points[item], documents[item], indexes[item]) for item in items]


@dataclass
class Ranking:
    """The order of the candidates that may be shown.

    `best` are items, `points` the scores by item, `places` the items of each stage in their order,
    `dropped` at which stage and why others are not there.
    """

    reranker: RerankStage
    best: list[int] = field(default_factory=list)
    points: Sequence[float] = ()
    places: dict[str, list[int]] = field(default_factory=dict)
    dropped: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def relevances(
        self, items: Sequence[int], pool: Pool, stored: StoredPassages
    ) -> list[float | None]:
        """Return the reranker's scores of items, else exact cosines; a zero vector has none."""
        if self.reranker.scores:
            return self.reranker.relevances(items)
        chunk_ids = pool.chunk_ids(items)
        return list(map(stored.cosines(chunk_ids).get, chunk_ids))

    def arms_of(
        self, items: Sequence[int], pool: Pool, fused_scale: str
    ) -> list[dict[str, dict[str, Any]]]:
        """Return what each arm, and the reranker, say of items."""
        fused, scores = pool.fused, self.reranker.scores
        told = [candidate_arms(item, pool.lists, fused["ranks"]) for item in items]
        for item, of_item in zip(items, told, strict=True):
            if item in scores:
                rank = self.places["rerank"].index(item) + 1
                of_item["rerank"] = {"rank": rank, "score": scores[item]}
            if fused_scale != "attainable":
                rank = fused["order"].index(item) + 1
                of_item["fused"] = {"rank": rank, "score": fused["sums"][item]}
        return told
