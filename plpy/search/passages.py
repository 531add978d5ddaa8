"""What a search reads of its candidates, by their ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from time import monotonic

from pgblend.plpy.graph.walk import Walk, breadth_first
from pgblend.plpy.ports import (
    AgesRequest,
    CosinesRequest,
    Edge,
    Holder,
    HoldersRequest,
    LanguagesRequest,
    NeighboursRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagePort,
    PassagesRequest,
    VectorsRequest,
)
from pgblend.plpy.session import Database, Rows
from pgblend.plpy.settings.catalog import Graph

_DOCUMENT = "SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0"
# Most texts stand once, which a look tells for each collection; many take longer than to read all.
_MAY_REPEAT = """
    cardinality($1) * cardinality($2) > 60 OR EXISTS (SELECT FROM unnest($2) AS s (id)
    CROSS JOIN LATERAL (SELECT FROM pgblend_data.chunk AS r WHERE r.collection_id = s.id
    AND r.content_hash = c.content_hash COLLATE "C" AND r.id <> c.id OFFSET 0) AS r)"""
# OFFSET 0 keeps each row a look-up by its key: statistics that call the tables empty, as ANALYZE
# makes them beside a long transaction, would make it a join of all rows with all.
_ROWS = f"""
    SELECT c.id AS chunk_id, c.content, c.text_search_config, c.start_offset, c.end_offset,
        c.start_line, c.end_line, c.pages, (d.metadata || c.metadata)::text AS metadata,
        c.document_id, o.name AS collection, d.source_key, d.uri, d.title,
        {_MAY_REPEAT} AS may_repeat
    FROM unnest($1) AS u (chunk_id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = u.chunk_id OFFSET 0) AS c
    CROSS JOIN LATERAL ({_DOCUMENT}) AS d
    INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id"""
_HOLDERS = f"""
    SELECT c.id AS chunk_id, c.content, d.id AS document_id, o.name AS collection,
        d.source_key, d.uri, d.title FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL ({_DOCUMENT}) AS d
    INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id
    WHERE c.id = ANY($1) AND c.content = ANY($2)"""
_AGES = "SELECT pgblend._document_ages($1) AS ages"
_LANGUAGES = """
    SELECT d.text_search_config AS language
    FROM unnest($1) WITH ORDINALITY AS u (document_id, place)
    LEFT JOIN LATERAL (
        SELECT d.* FROM pgblend_data.document AS d WHERE d.id = u.document_id OFFSET 0) AS d
        ON true ORDER BY u.place"""
_EDGES = (
    "SELECT n.node, n.neighbour, n.is_reverse, n.edge_type, n.weight"
    " FROM pgblend._neighbours($1, $2, $3, $4) AS n"
)
_EDGE_TYPES = ["bigint[]", "text", "text[]", "integer"]
_NODES = "SELECT p.* FROM pgblend._node_passages($1, $2, $3, $4, $5, $6) AS p"
_NODE_TYPES = ["bigint[]", "bigint[]", "jsonb", "text", "vector", "text"]
_COLUMN = """
    SELECT e.chunk_id, {column} AS value
    FROM pgblend_data.embedding_{space} AS e WHERE e.chunk_id = ANY($1)"""
_COSINE = "nullif(1 - (e.embedding <=> $2), 'NaN')"
_VECTOR = "e.embedding::text"
# q/|q| + weight · mean(p/|p|), Rocchio's feedback, in the arithmetic of the vectors themselves.
_FILL = "array_fill({}::real, ARRAY[vector_dims($1)])::vector"
_MEAN = f"avg(l2_normalize(p.embedding::vector)) * {_FILL.format('$3')}"
_MOVED = (
    f"SELECT (l2_normalize($1) + coalesce({_MEAN}, {_FILL.format(0)}))::text AS vector"
    " FROM unnest($2) AS p (embedding)"
)
_MOVED_TYPES = ["vector", "text[]", "double precision"]


class PassageNode:
    """The port of this server; each method is one statement."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def passages(self, request: PassagesRequest) -> list[Passage]:
        """Return the passages that are there."""
        values = request.chunk_ids, request.collection_ids
        return [Passage(**row) for row in self.db.run(_ROWS, ["bigint[]", "bigint[]"], *values)]

    def holders(self, request: HoldersRequest) -> list[Holder]:
        """Return those of the passages that have one of the texts."""
        values = request.chunk_ids, request.contents
        return [Holder(**row) for row in self.db.run(_HOLDERS, ["bigint[]", "text[]"], *values)]

    def ages_days(self, request: AgesRequest) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        rows = self.db.run(_AGES, ["bigint[]"], request.document_ids)
        ages: Sequence[float | None] = rows[0]["ages"]
        return ages

    def languages(self, request: LanguagesRequest) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""
        return [
            row["language"] for row in self.db.run(_LANGUAGES, ["bigint[]"], request.document_ids)
        ]

    def cosines(self, request: CosinesRequest) -> dict[int, float | None]:
        """Return exact cosines of those that have a vector; NULL for a zero vector."""
        values = request.chunk_ids, request.vector
        rows = self._column(_COSINE, request.space, ["bigint[]", "vector"], *values)
        return {row["chunk_id"]: row["value"] for row in rows}

    def vectors(self, request: VectorsRequest) -> dict[int, str]:
        """Return the passages' vectors as texts."""
        rows = self._column(_VECTOR, request.space, ["bigint[]"], request.chunk_ids)
        return {row["chunk_id"]: row["value"] for row in rows}

    def neighbours(self, request: NeighboursRequest) -> list[Edge]:
        """Return the edges of nodes, the heaviest first."""
        asked = request.nodes, request.direction, request.edge_types, request.most
        return [Edge(**row) for row in self.db.run(_EDGES, _EDGE_TYPES, *asked)]

    def node_passages(self, request: NodesRequest) -> list[NodePassage]:
        """Return the passages that stand for nodes."""
        values = [
            *(request.nodes, request.collection_ids, request.filter, request.language),
            *(request.vector, request.space),
        ]
        return [NodePassage(**row) for row in self.db.run(_NODES, _NODE_TYPES, *values)]

    def _column(
        self, column: str, space: str, types: list[str], *values: Sequence[int] | str
    ) -> Rows:
        statement = _COLUMN.format(column=column, space=space)  # a space's name needs no quotes
        return self.db.run(statement, types, *values)


@dataclass
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

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        return self.port.ages_days(AgesRequest(document_ids, self.left_ms()))

    def languages(self, document_ids: Sequence[int]) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""
        return self.port.languages(LanguagesRequest(document_ids, self.left_ms()))

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

    def walk(self, nodes: Sequence[int], sources: int, graph: Graph) -> Walk:
        """Return the ways to nodes within some steps of others, and whether that was cut.

        Of too many nodes those of the heaviest edges are taken, and each remembers so many of its
        nearest `sources`.
        """
        most_edges = max(4 * graph["node_limit"], 4000)  # of one step
        cut = []

        def step(frontier: Sequence[int]) -> Sequence[Edge]:
            asked = graph["direction"], graph["edge_types"], most_edges + 1
            request = NeighboursRequest(frontier, *asked, self.left_ms())
            edges = self.port.neighbours(request)
            cut.append(len(edges) > most_edges)
            return edges[:most_edges]

        found, full = breadth_first(nodes, graph["depth"], step, graph["node_limit"], sources)
        ways = [
            (node, distance, seed)
            for node, of_node in found.items()
            for distance, seed, _ in of_node
        ]
        return Walk(ways, full or any(cut))

    def node_passages(self, nodes: Sequence[int]) -> Sequence[NodePassage]:
        """Return the passages that stand for nodes."""
        if not nodes:
            return []
        of_search = self.collection_ids, self.filter, self.language, self.vector, self.space
        return self.port.node_passages(NodesRequest(nodes, *of_search, self.left_ms()))
