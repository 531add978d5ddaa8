"""What a search reads of its candidates, by their ids."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pgblend.plpy.ports import (
    CosinesRequest,
    Holder,
    HoldersRequest,
    MovedCosines,
    MovedRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagePort,
    VectorsRequest,
    Walk,
    WalkRequest,
)
from pgblend.plpy.session import Database, Row, Rows
from pgblend.plpy.settings.catalog import Graph

_DOCUMENT = "SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0"
# OFFSET 0 keeps each row a look-up by its key: statistics that call the tables empty, as ANALYZE
# makes them beside a long transaction, would make it a join of all rows with all.
_ROWS = " ".join(
    [
        "SELECT c.id AS chunk_id, c.content, c.text_search_config, c.start_offset, c.end_offset,",
        "c.start_line, c.end_line, c.pages, (d.metadata || c.metadata)::text AS metadata,",
        "c.document_id, o.name AS collection, d.source_key, d.uri, d.title",
        "FROM unnest($1) AS u (chunk_id)",
        "CROSS JOIN LATERAL",
        "(SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = u.chunk_id OFFSET 0) AS c",
        f"CROSS JOIN LATERAL ({_DOCUMENT}) AS d",
        "INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id",
    ]
)
_HOLDERS = " ".join(
    [
        "SELECT c.id AS chunk_id, c.content, d.id AS document_id, o.name AS collection,",
        "d.source_key, d.uri, d.title FROM pgblend_data.chunk AS c",
        f"CROSS JOIN LATERAL ({_DOCUMENT}) AS d",
        "INNER JOIN pgblend_data.collection AS o ON o.id = d.collection_id",
        "WHERE c.id = ANY($1) AND c.content = ANY($2)",
    ]
)
_AGES = "SELECT pgblend._document_ages($1) AS ages"
_WALK = "SELECT w.nodes, w.depths, w.seeds_of, w.is_cut FROM pgblend._walk({}) AS w"
_WALKED = _WALK.format("$1, $2, $3, $4, $5, $6")
_WALK_TYPES = ["bigint[]", "integer", "text", "text[]", "integer", "integer"]
_NODES = "SELECT p.* FROM pgblend._node_passages($1, $2, $3, $4, $5, $6) AS p"
_NODE_TYPES = ["bigint[]", "bigint[]", "jsonb", "text", "vector", "text"]
_TABLE = "FROM pgblend_data.embedding_{space} AS e"  # a space's name needs no quotes
_WHERE = "WHERE e.chunk_id = ANY($1)"
_COLUMN = f"SELECT e.chunk_id, {{column}} AS value {_TABLE} {_WHERE}"
_COSINE = "nullif(1 - (e.embedding <=> {vector}), 'NaN')"
_OWN = _COSINE.format(vector="$2")
_VECTOR = "e.embedding::text"
_FILL = "array_fill({}::real, ARRAY[vector_dims($2)])::vector"
_MEAN = f"avg(l2_normalize(e.embedding::vector)) * {_FILL.format('$4')}"
_TOWARDS = f"l2_normalize($2) + coalesce({_MEAN}, {_FILL.format(0)}) AS embedding"
_MOVED = " ".join(
    [
        f"WITH moved AS MATERIALIZED (SELECT {_TOWARDS} {_TABLE} WHERE e.chunk_id = ANY($3))",
        f"SELECT array_agg(e.chunk_id) AS chunk_ids, array_agg({_OWN}) AS own,",
        f"array_agg({_COSINE.format(vector='m.embedding')}) AS moved",
        f"{_TABLE} CROSS JOIN moved AS m {_WHERE}",
    ]
)
_MOVED_TYPES = ["bigint[]", "vector", "bigint[]", "double precision"]


class PassageNode:
    """The port of this server; each method is one statement."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def passages(self, chunk_ids: Sequence[int]) -> list[Passage]:
        """Return the passages that are there."""
        return [Passage(**row) for row in self.db.run(_ROWS, ["bigint[]"], chunk_ids)]

    def holders(self, request: HoldersRequest) -> list[Holder]:
        """Return those of the passages that have one of the texts."""
        values = request.chunk_ids, request.contents
        return [Holder(**row) for row in self.db.run(_HOLDERS, ["bigint[]", "text[]"], *values)]

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        ages: Sequence[float | None] = self.db.run(_AGES, ["bigint[]"], document_ids)[0]["ages"]
        return ages

    def cosines(self, request: CosinesRequest) -> dict[int, float | None]:
        """Return exact cosines of those that have a vector; NULL for a zero vector."""
        values = request.chunk_ids, request.vector
        rows = self._run(
            _COLUMN.replace("{column}", _OWN), request.space, ["bigint[]", "vector"], *values
        )
        return {row["chunk_id"]: row["value"] for row in rows}

    def moved_cosines(self, request: MovedRequest) -> MovedCosines:
        """Return cosines to a vector moved towards passages, and to itself."""
        values = request.chunk_ids, request.vector, request.passages, request.weight
        row: Row = self._run(_MOVED, request.space, _MOVED_TYPES, *values)[0]
        return MovedCosines(row["chunk_ids"] or [], row["own"] or [], row["moved"] or [])

    def vectors(self, request: VectorsRequest) -> dict[int, str]:
        """Return the passages' vectors as texts."""
        statement = _COLUMN.replace("{column}", _VECTOR)
        rows = self._run(statement, request.space, ["bigint[]"], request.chunk_ids)
        return {row["chunk_id"]: row["value"] for row in rows}

    def walk(self, request: WalkRequest) -> Walk:
        """Return the ways to nodes within some steps of others."""
        asked = [request.depth, request.direction, request.edge_types, request.node_limit]
        row = self.db.run(_WALKED, _WALK_TYPES, request.nodes, *asked, request.sources)[0]
        ways = zip(row["nodes"], row["depths"], row["seeds_of"], strict=True)
        return Walk(list(ways), row["is_cut"])

    def node_passages(self, request: NodesRequest) -> list[NodePassage]:
        """Return the passages that stand for nodes."""
        values = [
            *(request.nodes, request.collection_ids, request.filter, request.language),
            *(request.vector, request.space),
        ]
        names = ("node", "chunk_id", "document_id", "chunk_index")
        rows = self.db.run(_NODES, _NODE_TYPES, *values)
        return [NodePassage(*(row[name] for name in names)) for row in rows]

    def _run(
        self, statement: str, space: str, types: list[str], *values: Sequence[int] | float | str
    ) -> Rows:
        return self.db.run(statement.replace("{space}", space), types, *values)


@dataclass
class StoredPassages:
    """What a search reads of passages, each once.

    `vector` is the query's and `space` the embedding space, where there are any; the collections,
    filter and language are those of the search.
    """

    port: PassagePort
    vector: str | None = None
    space: str | None = None
    collection_ids: Sequence[int] = ()
    filter: str | None = None
    language: str | None = None
    known_cosines: dict[int, float | None] = field(default_factory=dict)
    known_texts: dict[int, Passage] = field(default_factory=dict)

    def texts(self, chunk_ids: Sequence[int]) -> Mapping[int, Passage]:
        """Return the passages that are there by chunk id."""
        known = self.known_texts
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        if unread:
            known.update((one.chunk_id, one) for one in self.port.passages(unread))
        return known

    def holders(self, chunk_ids: Sequence[int], contents: Sequence[str]) -> Sequence[Holder]:
        """Return those of the chunks that have one of the contents, with their documents."""
        return self.port.holders(HoldersRequest(chunk_ids, contents))

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        return self.port.ages_days(document_ids)

    def moved_cosines(
        self, chunk_ids: Sequence[int], passages: Sequence[int], weight: float
    ) -> dict[int, float]:
        """Return cosines to the query's vector moved towards passages (Rocchio's feedback).

        Chunks without a vector are left out, and a zero vector has no cosine. The chunks' own
        cosines, which the answer has too, are not read again.
        """
        if self.vector is None or self.space is None:
            return {}
        request = MovedRequest(self.space, self.vector, chunk_ids, passages, weight)
        found = self.port.moved_cosines(request)
        self.known_cosines.update(zip(found.chunk_ids, found.own, strict=True))
        moved = zip(found.chunk_ids, found.moved, strict=True)
        return {chunk_id: cosine for chunk_id, cosine in moved if cosine is not None}

    def cosines(self, chunk_ids: Sequence[int]) -> dict[int, float | None]:
        """Return exact cosines to the query's vector; none without one, NULL for a zero vector."""
        if self.vector is None:
            return {}
        known = self.known_cosines
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        if unread and self.space is not None:
            known.update(self.port.cosines(CosinesRequest(self.space, self.vector, unread)))
        return {chunk_id: known[chunk_id] for chunk_id in chunk_ids if chunk_id in known}

    def vectors(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Return the passages' vectors as texts."""
        if not chunk_ids or self.space is None:
            return {}
        return self.port.vectors(VectorsRequest(self.space, chunk_ids))

    def walk(self, nodes: Sequence[int], sources: int, graph: Graph) -> Walk:
        """Return the ways to nodes within some steps of others, and whether that was cut."""
        asked = graph["depth"], graph["direction"], graph["edge_types"], graph["node_limit"]
        return self.port.walk(WalkRequest(nodes, *asked, sources))

    def node_passages(self, nodes: Sequence[int]) -> Sequence[NodePassage]:
        """Return the passages that stand for nodes."""
        if not nodes:
            return []
        of_search = self.collection_ids, self.filter, self.language, self.vector, self.space
        return self.port.node_passages(NodesRequest(nodes, *of_search))
