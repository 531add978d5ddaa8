"""What a search has found: the candidates of all lists, their ranking, a page and its rows."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.ports import Sample
from pgblend.plpy.base.session import Json
from pgblend.plpy.search.candidates import ArmList, Fused, StoredPassages, candidate_arms
from pgblend.plpy.search.query import Query
from pgblend.plpy.search.relevance import Scale, chance_of_less
from pgblend.plpy.search.store import Highlights, StorePort

if TYPE_CHECKING:
    from pgblend.plpy.search.query import Log


NO_SCALE = Scale(None)


class Ranking(NamedTuple):
    """The order of the candidates that may be shown; without a query there is none.

    The best `looked_at` candidates are looked at, of which `needed` are to be good. `distinct` are
    items that repeat nothing; `dropped` says at which stage and why others are not there. `targets`
    are what a reranker reads, None before; `scores` are its scores by item, `addends` what the
    blended ones add up. `best` are the items that are good enough, `points` the scores of all.
    `places` has the items of each stage in their order.
    """

    scale: Scale = NO_SCALE
    needed: int = 0
    looked_at: int = 0
    distinct: Sequence[int] = ()
    dropped: Mapping[int, dict[str, Json]] = {}
    targets: Sequence[int] | None = None
    scores: Mapping[int, float] = {}
    addends: Mapping[int, Mapping[str, float]] = {}
    best: Sequence[int] = ()
    points: Sequence[float] = ()
    places: Mapping[str, Sequence[int]] = {}

    def relevances(self, items: Sequence[int], pool: "Pool") -> list[float | None]:
        """Return the reranker's scores of items (None: it saw none), else what the scale says.

        Cosines are exact; a zero vector has none.
        """
        scale = self.scale
        if self.scores:
            return list(map(self.scores.get, items))
        if scale.curve is not None and scale.signals is not None:
            points = pool.own_points
            return list(scale.curve.chances([points[item] for item in items], scale.signals))
        chunk_ids = pool.fused.ids(items)
        cosines = map(pool.stored.cosines(chunk_ids).get, chunk_ids)
        if scale.chance is None:
            return list(cosines)
        return [chance_of_less(cosine, *scale.chance) for cosine in cosines]

    def addends_of(self, pool: "Pool") -> Mapping[int, Mapping[str, float]]:
        """Return what scores of items add up: of those that were reranked, or are pinned."""
        addends: dict[int, Mapping[str, float]] = dict(self.addends)
        for item in pool.pinned:
            own = addends.get(item, {"fused": pool.fused.points[item]})
            addends[item] = {**own, "pinned": 1 - fsum(own.values())}
        return addends

    @property
    def basis(self) -> str | None:
        """Return what relevances are."""
        return "rerank" if self.scores else self.scale.basis

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
        self, items: Sequence[int], pool: "Pool", fused_scale: str
    ) -> list[dict[str, dict[str, Json]]]:
        """Return what each arm, and the reranker, say of items."""
        fused, scores = pool.fused, self.scores
        told = [candidate_arms(item, pool.lists, fused.ranks) for item in items]
        for item, of_item in zip(items, told, strict=True):
            if item in scores:
                rank = self.places["rerank"].index(item) + 1
                of_item["rerank"] = {"rank": rank, "score": scores[item]}
            if fused_scale != "attainable":
                rank = fused.order.index(item) + 1
                of_item["fused"] = {"rank": rank, "score": fused.sums[item]}
        return told


class Page(NamedTuple):
    """Consecutive items of a ranking, the first at place `start` from 0, with relevances."""

    start: int
    items: Sequence[int]
    relevances: Sequence[float | None]


NO_PAGE = Page(0, (), ())
NO_RANKING = Ranking()
NOT_FUSED = Fused()


class Places(NamedTuple):
    """How passages were found: `hits` by the other lists, others at a distance in the graph."""

    hits: frozenset[int]
    distances: Mapping[int, int]

    def of(self, chunk_id: int) -> dict[str, Json]:
        """Return {source, depth} of a passage (S3).

        Source is vector for what only the other lists found, graph for what only the graph did,
        hybrid for both. Depth is 0 for a hit of the other lists, else the distance.
        """
        if chunk_id not in self.hits:
            return {"source": "graph", "depth": self.distances[chunk_id]}
        return {"source": "hybrid" if chunk_id in self.distances else "vector", "depth": 0}


class Ruled(NamedTuple):
    """What rules did to a pool.

    `points` and `order` are those without rules, `pinned` items that come first, `changes` by item
    what rules changed.
    """

    points: Sequence[float]
    order: Sequence[int]
    pinned: Sequence[int]
    changes: Mapping[int, Sequence[Mapping[str, Json]]]

    def pinned_first(
        self, items: Sequence[int], points: Sequence[float]
    ) -> tuple[list[int], Sequence[float]]:
        """Return items and the points of all items, pinned ones first, with points of 1."""
        if not self.pinned:
            return list(items), points
        there, raised = set(items), list(points)
        for item in self.pinned:
            raised[item] = 1.0
        first = [item for item in self.pinned if item in there]
        return [*first, *(item for item in items if item not in first)], raised


class Row(NamedTuple):
    """A row of blend.search_result, its columns in their order; JSON is text."""

    rank: int
    score: float
    relevance: float | None
    document_id: int
    chunk_id: int
    collection: str
    uri: str | None
    title: str | None
    snippet: str
    content: str
    start_line: int | None
    end_line: int | None
    pages: Sequence[int] | None
    metadata: str
    source_key: str
    context_before: str | None
    context_after: str | None
    arms: str
    degraded: Sequence[str]
    details: str


class Pool(NamedTuple):
    """What a search has found so far: each stage returns it with what it adds.

    `stored` reads passages. `lists` are those of the arms, `expansion` is what became of that,
    `sample` is for facets. `highlights` is what snippets mark. `found` counts what arms and graph
    found: rules pin others and hide some; None where the words were out of time. `places` tells how
    passages were found where a graph was searched, `ruled` what rules changed. `by_vector`: vectors
    stand in for words that are nowhere; `draft` is what an experiment made of two pools.
    """

    stored: StoredPassages
    lists: Sequence[ArmList] = ()
    expansion: str | None = None
    sample: Sample | None = None
    fused: Fused = NOT_FUSED
    highlights: Highlights | None = None
    found: int | None = 0
    places: Places | None = None
    ruled: Ruled | None = None
    ranking: Ranking = NO_RANKING
    page: Page = NO_PAGE
    rows: Sequence[Row] = ()
    by_vector: bool = False
    draft: "Draft | None" = None

    @property
    def own_points(self) -> Sequence[float]:
        """Return the points by item, without rules: relevance goes by them."""
        return self.ruled.points if self.ruled else self.fused.points

    @property
    def own_order(self) -> Sequence[int]:
        """Return the items in their order without rules."""
        return self.ruled.order if self.ruled else self.fused.order

    @property
    def pinned(self) -> Sequence[int]:
        """Return the items that rules put first."""
        return self.ruled.pinned if self.ruled else ()

    @property
    def is_seen(self) -> bool:
        """Tell whether all candidates are looked at."""
        return self.ranking.looked_at >= len(self.fused.order)

    def keys(self, items: Sequence[int], points: Sequence[float]) -> list[tuple[float, int, int]]:
        """Return (score, document id, chunk index) of items, by which ties are settled."""
        documents, indexes = self.fused.document_ids, self.fused.chunk_indexes
        return [(points[item], documents[item], indexes[item]) for item in items]


class Side(NamedTuple):
    """The search by one of the two profiles of an experiment, and what it found."""

    query: Query
    pool: Pool
    log: "Log"


class Draft(NamedTuple):
    """What two searches made one page of: {id, profile, rival}, and what details say of ids."""

    experiment: Mapping[str, Json]
    sides: Sequence[Side]
    told_of: Mapping[int, dict[str, Json]]

    def told(self) -> dict[str, Json]:
        """Return the experiment, and the stages of the search by the rival."""
        return {**self.experiment, "stages": [one.told() for one in self.sides[1].log.stages]}


def empty_pool(query: Query, store: StorePort) -> Pool:
    """Return what a search begins with."""
    ids, narrowed = query.collection_ids, query.filter
    where = query.space_name, ids, narrowed, query.settings.language
    tells_copies = "details" not in query.spared and query.settings.dedup != "off"
    return Pool(StoredPassages(store, None, *where, query.deadline, tells_copies=tells_copies))
