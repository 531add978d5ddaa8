"""What a search reads of its candidates, by their ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

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
from pgblend.plpy.base.session import Database

if TYPE_CHECKING:
    from pgblend.plpy.graph.walk import Walk

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

    `vector` is the query's and `space` the embedding space, where there are any. The collections,
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
        self, db: Database, weight: float, chunk_ids: Sequence[int], passages: Sequence[int]
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
