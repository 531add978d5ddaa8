"""What fusion makes of the lists, and what refinement makes of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.catalog import Graph
from pgblend.plpy.base.ports import (
    AgesRequest,
    CosinesRequest,
    Distance,
    DistancesRequest,
    Edge,
    Holder,
    HoldersRequest,
    LanguagesRequest,
    NamedDocument,
    NamesRequest,
    NeighboursRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagePort,
    PassagesRequest,
    PassingRequest,
    VectorsRequest,
)
from pgblend.plpy.base.session import Database, Json
from pgblend.plpy.search.arms import candidate_arms
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.choose import Dropped
from pgblend.plpy.search.relevance import Scale, chance_of_less
from pgblend.plpy.search.rerank import RerankStage

if TYPE_CHECKING:
    from pgblend.plpy.graph.walk import Walk
    from pgblend.plpy.search.graph import Places
    from pgblend.plpy.search.rules import Ruled


# What a search reads of its candidates, by their ids.

# q/|q| + weight · mean(p/|p|), Rocchio's feedback, in the arithmetic of the vectors themselves.
_FILL = "array_fill({}::real, ARRAY[vector_dims($1)])::vector"
_MEAN = f"avg(l2_normalize(p.embedding::vector)) * {_FILL.format('$3')}"
_MOVED = (
    f"SELECT (l2_normalize($1) + coalesce({_MEAN}, {_FILL.format(0)}))::text AS vector"
    " FROM unnest($2) AS p (embedding)"
)
_MOVED_TYPES = ["vector", "text[]", "double precision"]


@dataclass(eq=False, repr=False)
class StoredPassages:
    """What a search reads of passages, each once.

    `vector` is the query's and `space` the embedding space, where there are any; the collections,
    filter and language are those of the search; `deadline` is the search's own, on the monotonic
    clock.
    """

    port: PassagePort
    vector: str | None = None
    space: str | None = None
    collection_ids: Sequence[int] = ()
    filter: str | None = None
    language: str | None = None
    deadline: float = inf
    known_cosines: dict[int, float | None] = field(default_factory=dict)
    known_texts: dict[int, Passage] = field(default_factory=dict)

    def left_ms(self) -> float:
        """Return how many milliseconds are left for a request."""
        return max(self.deadline - monotonic(), 0.0) * 1000

    def texts(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return the passages that are there by chunk id."""
        known = self.known_texts
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        if unread:
            request = PassagesRequest(unread, self.collection_ids, self.left_ms())
            found = self.port.passages(request)
            known.update((one.chunk_id, one) for one in found)
        return known

    def holders(self, chunk_ids: Sequence[int], contents: Sequence[str]) -> Sequence[Holder]:
        """Return those of the chunks that have one of the contents, with their documents."""
        return self.port.holders(HoldersRequest(chunk_ids, contents, self.left_ms()))

    def ages_days(self, chunk_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the passages are, in their order."""
        return self.port.ages_days(AgesRequest(chunk_ids, self.left_ms()))

    def languages(self, document_ids: Sequence[int]) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""
        return self.port.languages(LanguagesRequest(document_ids, self.left_ms()))

    def passing(self, chunk_ids: Sequence[int], filters: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return for each filter (JSON) those of the passages that pass it."""
        return self.port.passing(PassingRequest(chunk_ids, filters, self.left_ms()))

    def distances(
        self, chunk_ids: Sequence[int], keys: Sequence[str], origins: Sequence[str]
    ) -> Sequence[Distance]:
        """Return how far values of passages are from origins (JSON)."""
        return self.port.distances(DistancesRequest(chunk_ids, keys, origins, self.left_ms()))

    def named_documents(self, names: Sequence[str]) -> Sequence[NamedDocument]:
        """Return the documents searched that have some source keys or URIs."""
        return self.port.named_documents(NamesRequest(names, self.collection_ids, self.left_ms()))

    def moved_cosines(
        self, db: Database, chunk_ids: Sequence[int], passages: Sequence[int], weight: float
    ) -> dict[int, float]:
        """Return cosines to the query's vector moved towards passages (Rocchio's feedback).

        It is moved by `db`'s own arithmetic to q/|q| + weight · mean(p/|p|); by passages without
        vectors nowhere. Chunks without a vector are left out, and a zero vector has no cosine.
        """
        if self.vector is None or self.space is None:
            return {}
        self.cosines(chunk_ids)  # explanations show them
        vectors = self.vectors(passages)
        towards = [vectors[passage] for passage in passages if passage in vectors]
        moved = db.run(_MOVED, _MOVED_TYPES, self.vector, towards, weight)[0]["vector"]
        request = CosinesRequest(self.space, moved, chunk_ids, self.left_ms())
        found = self.port.cosines(request).items()
        return {chunk_id: cosine for chunk_id, cosine in found if cosine is not None}

    def cosines(self, chunk_ids: Sequence[int]) -> dict[int, float | None]:
        """Return exact cosines to the query's vector; none without one, NULL for a zero vector."""
        if self.vector is None:
            return {}
        known = self.known_cosines
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        if unread and self.space is not None:
            request = CosinesRequest(self.space, self.vector, unread, self.left_ms())
            known.update(self.port.cosines(request))
        return {chunk_id: known[chunk_id] for chunk_id in chunk_ids if chunk_id in known}

    def vectors(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Return the passages' vectors as texts."""
        if not chunk_ids or self.space is None:
            return {}
        return self.port.vectors(VectorsRequest(self.space, chunk_ids, self.left_ms()))

    def walk(self, nodes: Sequence[int], sources: int, graph: Graph) -> "Walk":
        """Return the ways to nodes within some steps of others, and whether that was cut.

        Of too many nodes those of the heaviest edges are taken, and each remembers so many of its
        nearest `sources`.
        """
        from pgblend.plpy.graph.walk import Walk, breadth_first  # of few searches

        most_edges = max(4 * graph["node_limit"], 4000)  # of one step
        cut = []

        def step(frontier: Sequence[int]) -> Sequence[Edge]:
            asked = graph["direction"], graph["edge_types"], most_edges + 1
            request = NeighboursRequest(frontier, *asked, self.left_ms())
            edges = self.port.neighbours(request)
            cut.append(len(edges) > most_edges)
            return edges[:most_edges]

        found, full = breadth_first(nodes, graph["depth"], step, graph["node_limit"], sources)
        return Walk(found, full or any(cut))

    def node_passages(self, nodes: Sequence[int]) -> Sequence[NodePassage]:
        """Return the passages that stand for nodes."""
        if not nodes:
            return []
        of_search = self.collection_ids, self.filter, self.language, self.vector, self.space
        return self.port.node_passages(NodesRequest(nodes, *of_search, self.left_ms()))


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
