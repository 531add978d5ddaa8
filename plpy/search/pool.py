"""What fusion makes of the lists, and what refinement makes of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.session import Json
from pgblend.plpy.search.arms import candidate_arms
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.choose import Dropped
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.relevance import Scale, chance_of_less
from pgblend.plpy.search.rerank import RerankStage

if TYPE_CHECKING:
    from pgblend.plpy.search.graph import Places
    from pgblend.plpy.search.rules import Ruled


class Pool(NamedTuple):
    """The candidates of all lists.

    `places`: how they were found where a graph was searched; `ruled`: what rules changed.
    """

    lists: Sequence[ArmList]
    fused: Fused
    places: "Places | None" = None
    ruled: "Ruled | None" = None

    @property
    def own_points(self) -> Sequence[float]:
        """Return the points by item, without rules: relevance goes by them."""
        return self.ruled.points if self.ruled else self.fused.points

    @property
    def own_order(self) -> Sequence[int]:
        """Return the items in their order without rules."""
        return self.ruled.order if self.ruled else self.fused.order

    def keys(self, items: Sequence[int], points: Sequence[float]) -> list[tuple[float, int, int]]:
        """Return (score, document id, chunk index) of items, by which ties are settled."""
        documents, indexes = self.fused.document_ids, self.fused.chunk_indexes
        return [(points[item], documents[item], indexes[item]) for item in items]


@dataclass(eq=False, repr=False)
class Ranking:
    """The order of the candidates that may be shown.

    `best` are items, `points` the scores by item, `places` the items of each stage in their order,
    `dropped` at which stage and why others are not there, of `looked_at` candidates.
    """

    reranker: RerankStage
    scale: Scale
    best: Sequence[int] = ()
    points: Sequence[float] = ()
    places: dict[str, Sequence[int]] = field(default_factory=dict)
    dropped: Dropped = field(default_factory=dict)
    looked_at: int = 0

    def relevances(
        self, items: Sequence[int], pool: Pool, stored: StoredPassages
    ) -> list[float | None]:
        """Return the reranker's scores of items, else what the scale says of them.

        Cosines are exact; a zero vector has none.
        """
        scale = self.scale
        if self.reranker.scores:
            return self.reranker.relevances(items)
        if scale.curve is not None and scale.signals is not None:
            points = pool.own_points
            return list(scale.curve.chances([points[item] for item in items], scale.signals))
        chunk_ids = pool.fused.ids(items)
        cosines = map(stored.cosines(chunk_ids).get, chunk_ids)
        if scale.chance is None:
            return list(cosines)
        return [chance_of_less(cosine, *scale.chance) for cosine in cosines]

    def addends_of(self, pool: Pool) -> Mapping[int, Mapping[str, float]]:
        """Return what scores of items add up: of those that were reranked, or are pinned."""
        addends: dict[int, Mapping[str, float]] = dict(self.reranker.addends)
        for item in pool.ruled.pinned if pool.ruled else ():
            own = addends.get(item, {"fused": pool.fused.points[item]})
            addends[item] = {**own, "pinned": 1 - sum(own.values())}
        return addends

    @property
    def basis(self) -> str | None:
        """Return what relevances are."""
        return "rerank" if self.reranker.scores else self.scale.basis

    def told_scale(self) -> dict[str, Json]:
        """Return what relevances are, and what curves are fitted on, for explanations."""
        signals = self.scale.signals
        return {"basis": self.basis, **(signals._asdict() if signals else {})}

    def least_gain(self, coverage: float | None) -> float | None:
        """Return the gain at which a list of some coverage ends; None where it does not."""
        if coverage is None or self.basis != "calibrated":
            return None
        return self.scale.threshold(coverage)

    def arms_of(
        self, items: Sequence[int], pool: Pool, fused_scale: str
    ) -> list[dict[str, dict[str, Json]]]:
        """Return what each arm, and the reranker, say of items."""
        fused, scores = pool.fused, self.reranker.scores
        told = [candidate_arms(item, pool.lists, fused.ranks) for item in items]
        for item, of_item in zip(items, told, strict=True):
            if item in scores:
                rank = self.places["rerank"].index(item) + 1
                of_item["rerank"] = {"rank": rank, "score": scores[item]}
            if fused_scale != "attainable":
                rank = fused.order.index(item) + 1
                of_item["fused"] = {"rank": rank, "score": fused.sums[item]}
        return told
