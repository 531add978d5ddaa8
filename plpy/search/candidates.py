"""The lists of a search, the candidates that they make, and what is read of these by their ids."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, inf
from time import monotonic
from typing import TYPE_CHECKING

from pgblend.plpy.base.catalog import Graph
from pgblend.plpy.base.ports import (
    AgesRequest,
    CandidateList,
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
from pgblend.plpy.lexical.configuration import Meaning

if TYPE_CHECKING:
    from pgblend.plpy.graph.walk import Walk


@dataclass(slots=True, eq=False, repr=False)
class ArmList:
    """What one arm found, and what that counts in fusion.

    `arm` is what the list is called (an expanded query has several of a kind). `notes` has more of
    a rank, from 1. `every_word` tells that passages have every word of the text, and `known` how
    much of it. `asked` is how many words it asks for. `named` tells that the first passage's
    document is called so. `question` is the sub-question that was searched, None for the query and
    its variants.
    """

    arm: str
    kind: str
    weight: float
    found: CandidateList
    notes: Mapping[int, Mapping[str, Json]] = field(default_factory=dict)
    every_word: bool = False
    named: bool = False
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    question: str | None = None
    known: float = 0.0
    asked: int = 0

    @property
    def by_vector(self) -> bool:
        """Tell whether scores are cosines."""
        return self.kind == "vector"


@dataclass(slots=True, eq=False, repr=False)
class Fused:
    """The passages of all lists, each once, by (document id, chunk index), and their fused scores.

    So a stable sort by score leaves ties in that order. `ranks[list][item]` starts at 1; None where
    the list lacks the item.

    By item: `sums`, what fusion gave with all that follows, of at most `attainable`; `points`, the
    same in [0, 1]; `bonus`; factors (None without their settings): `recency`, `language`, `boost`
    and `decay`.
    `order` has the items, best first. By list: `normal` scores by item in convex fusion, 0 where
    the list lacks the item; else None. And `weights`, of which parts are shares of the `total` (0:
    of their sum). `feedback` has the chunk ids that the query's vector was moved to, `unmoved` the
    vector list's normal scores before. Both are None without feedback.
    """

    chunk_ids: Sequence[int] = ()
    document_ids: Sequence[int] = ()
    chunk_indexes: Sequence[int] = ()
    ranks: Sequence[Sequence[int | None]] = ()
    sums: Sequence[float] = ()
    attainable: float = 1.0
    points: Sequence[float] = ()
    order: Sequence[int] = ()
    bonus: Sequence[float] = ()
    recency: Sequence[float] | None = None
    language: Sequence[float] | None = None
    boost: Sequence[float] | None = None
    decay: Sequence[float] | None = None
    normal: Sequence[Sequence[float]] | None = None
    weights: Sequence[float] = ()
    total: float = 0.0
    feedback: Sequence[int] | None = None
    unmoved: Sequence[float] | None = None

    @property
    def whole(self) -> float:
        """Return what the weights are shares of."""
        return self.total or fsum(self.weights) or 1.0

    def ids(self, items: Sequence[int]) -> list[int]:
        """Return the items' chunk ids."""
        return [self.chunk_ids[item] for item in items]


def candidate_arms(
    item: int, lists: Sequence[ArmList], ranks: Sequence[Sequence[int | None]]
) -> dict[str, dict[str, Json]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them.
    """
    return {
        of_list.arm: {
            "rank": rank,
            "score": of_list.found.scores[rank - 1],
            **of_list.notes.get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }


def corrected_notes(
    corrections: Sequence[str | None], method: str
) -> dict[int, Mapping[str, Json]]:
    """Return method and corrections, a JSON text or None, of each rank."""
    notes: dict[str | None, Mapping[str, Json]] = {
        text: {"method": method, **({"corrections": json.loads(text)} if text else {})}
        for text in set(corrections)
    }
    return {rank: notes[text] for rank, text in enumerate(corrections, 1)}


def corrected_words(note: Mapping[str, Json]) -> dict[str, list[str]]:
    """Return what the fuzzy arm took for each unknown word, from a rank's note."""
    told = note.get("corrections")
    return told if isinstance(told, dict) else {}


def corrected_lexemes(note: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the lexemes that the fuzzy arm took for unknown words, from a rank's note."""
    return tuple(lexeme for of_word in corrected_words(note).values() for lexeme in of_word)


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
    clock. `tells_copies`: it is asked whether other passages repeat those that are read.
    """

    port: PassagePort
    vector: str | None = None
    space: str | None = None
    collection_ids: Sequence[int] = ()
    filter: str | None = None
    language: str | None = None
    deadline: float = inf
    tells_copies: bool = True
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
            others_in = self.collection_ids if self.tells_copies else ()
            request = PassagesRequest(unread, others_in, self.left_ms())
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
