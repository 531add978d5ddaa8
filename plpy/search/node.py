"""The store of one node: the tables of this database, each question one statement."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pgblend.plpy.base.ports import (
    AgesRequest,
    CandidateList,
    CosinesRequest,
    Distance,
    DistancesRequest,
    Edge,
    Held,
    Holder,
    HoldersRequest,
    LanguagesRequest,
    LiteralRequest,
    NamedDocument,
    NamesRequest,
    NeighboursRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagesRequest,
    PassingRequest,
    Space,
    VectorRequest,
    VectorsRequest,
)
from pgblend.plpy.base.session import Database, Rows, error_state
from pgblend.plpy.base.unchanged import MANY
from pgblend.plpy.search.vectors import used_configs, vector_list

if TYPE_CHECKING:
    from pgblend.plpy.lexical.arm import LexicalArm, ListScope
    from pgblend.plpy.search.store import Highlights

_DOCUMENT = "SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0"
_COLLECTION = (
    "SELECT o.name FROM pgblend_data.collection AS o WHERE o.id = d.collection_id OFFSET 0"
)
MOST_LOOKS = 200
# Most texts stand once, which a look tells for each collection, if they are given.
_OTHERS = """(SELECT FROM pgblend_data.chunk AS r WHERE r.collection_id = {collection}
    AND r.content_hash = c.content_hash COLLATE "C" AND r.id <> c.id OFFSET 0)"""
# OFFSET 0 keeps each row a look-up by its key. Beside a long transaction ANALYZE may call the
# tables empty. The planner would then join all rows with all.
_ROWS = f"""
    SELECT c.id AS chunk_id, c.content, c.text_search_config, c.start_offset, c.end_offset,
        c.start_line, c.end_line, c.pages, (d.metadata || c.metadata)::text AS metadata,
        c.document_id, o.name AS collection, d.source_key, d.uri, d.title,
        {{may_repeat}} AS may_repeat
    FROM unnest($1) AS u (chunk_id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM pgblend_data.chunk AS c WHERE c.id = u.chunk_id OFFSET 0) AS c
    CROSS JOIN LATERAL ({_DOCUMENT}) AS d
    CROSS JOIN LATERAL ({_COLLECTION}) AS o"""
# What a plan has and does not run takes time as well.
_ROWS_OF_NONE = _ROWS.format(may_repeat="cardinality($2) = 0")
_ROWS_OF_ONE = _ROWS.format(may_repeat=f"EXISTS {_OTHERS.format(collection='$2[1]')}")
_ROWS_OF_SOME = _ROWS.format(
    may_repeat=f"""EXISTS (
        SELECT FROM unnest($2) AS s (id)
        CROSS JOIN LATERAL {_OTHERS.format(collection="s.id")} AS r)"""
)
_HOLDERS = f"""
    SELECT c.id AS chunk_id, c.content, d.id AS document_id, o.name AS collection,
        d.source_key, d.uri, d.title FROM pgblend_data.chunk AS c
    CROSS JOIN LATERAL ({_DOCUMENT}) AS d
    CROSS JOIN LATERAL ({_COLLECTION}) AS o
    WHERE c.id = ANY($1) AND c.content = ANY($2)"""
_AGES = "SELECT pgblend._passage_ages($1) AS ages"
_LANGUAGES = """
    SELECT d.text_search_config AS language
    FROM unnest($1) WITH ORDINALITY AS u (document_id, place)
    LEFT JOIN LATERAL (
        SELECT d.* FROM pgblend_data.document AS d WHERE d.id = u.document_id OFFSET 0) AS d
        ON true ORDER BY u.place"""
_PASSING = """
    SELECT coalesce(array_agg(c.id ORDER BY u.place), '{{}}') AS passing
    FROM unnest($1) WITH ORDINALITY AS u (chunk_id, place)
    INNER JOIN pgblend_data.chunk AS c ON c.id = u.chunk_id
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE {condition}"""
_DISTANCES = "SELECT d.place, d.chunk_id, d.distance FROM pgblend._field_distances($1, $2, $3) AS d"
_NAMED = """
    SELECT n.name, d.id AS document_id FROM unnest($1) AS n (name)
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = ANY($2) AND (d.source_key = n.name OR d.uri = n.name)
    ORDER BY d.id, n.name"""
_EDGES = (
    "SELECT n.node, n.neighbour, n.is_reverse, n.edge_type, n.weight"
    " FROM pgblend._neighbours($1, $2, $3, $4) AS n"
)
_EDGE_TYPES = ["bigint[]", "text", "text[]", "integer"]
_NODES = "SELECT p.* FROM pgblend._nodes_shown($1, $2, $3, $4, $5, $6) AS p"
_NODE_TYPES = ["bigint[]", "bigint[]", "text", "text[]", "vector", "text"]
_COLUMN = """
    SELECT e.chunk_id, {column} AS value
    FROM pgblend_data.embedding_{space} AS e WHERE e.chunk_id = ANY($1)"""
_COSINE = "nullif(1 - (e.embedding <=> $2), 'NaN')"
_VECTOR = "e.embedding::text"
_HOLD = """
    SELECT to_regclass('pgblend_data.{table}')::oid::bigint AS table_id, EXISTS (
        SELECT FROM pgblend_data.{table} AS e WHERE e.collection_id = ANY($1) LIMIT {most}
    ) AS has_vectors, EXISTS (
        SELECT FROM pgblend_data.embedding_queue AS q
        WHERE q.space = $2{of_collections}) AS is_waiting"""
_OF_COLLECTIONS = " AND q.collection_id = ANY($1)"
_UNDEFINED_TABLE = "42P01"
_HAS_CHUNKS = (
    "SELECT EXISTS (SELECT FROM pgblend_data.chunk AS c WHERE c.collection_id = ANY($1)) AS found"
)
_BUILDING = "SELECT EXISTS (SELECT FROM unnest($1) AS id WHERE pgblend._is_building(id)) AS found"
_CONFIG = "SELECT c.text_search_config AS name FROM pgblend_data.chunk AS c WHERE c.id = $1"
_IS_NAMED = """
    SELECT EXISTS (
        SELECT FROM pgblend_data.chunk AS c
        WHERE c.id = $1 AND c.lexemes @@ pgblend._lexeme_tsquery($2)) AS found"""
_AROUND = "SELECT pgblend._chunks_around($1, $2)::text AS chunks"


class StoreNode:
    """Answers from this database, under the snapshot of the statement under way."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def begin(
        self, deadline: float, collection_ids: Sequence[int], is_strict: bool, walks: bool
    ) -> None:
        """Do nothing: all of this store is here."""

    def passages(self, request: PassagesRequest) -> list[Passage]:
        """Return the passages that are there."""
        ids = request.collection_ids
        statement = _ROWS_OF_ONE if len(ids) == 1 else _ROWS_OF_SOME
        # Nobody asks, or more looks take longer than to read all.
        if not ids or len(request.chunk_ids) * len(ids) > MOST_LOOKS:
            statement, ids = _ROWS_OF_NONE, ()
        rows = self.db.run(statement, ["bigint[]", "bigint[]"], request.chunk_ids, ids)
        return [Passage(**row) for row in rows]

    def holders(self, request: HoldersRequest) -> list[Holder]:
        """Return those of the passages that have one of the texts."""
        values = request.chunk_ids, request.contents
        return [Holder(**row) for row in self.db.run(_HOLDERS, ["bigint[]", "text[]"], *values)]

    def ages_days(self, request: AgesRequest) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        rows = self.db.run(_AGES, ["bigint[]"], request.chunk_ids)
        ages: Sequence[float | None] = rows[0]["ages"]
        return ages

    def languages(self, request: LanguagesRequest) -> Sequence[str | None]:
        """Return the text search configurations of documents, in their order."""
        rows = self.db.run(_LANGUAGES, ["bigint[]"], request.document_ids)
        return [row["language"] for row in rows]

    def passing(self, request: PassingRequest) -> list[Sequence[int]]:
        """Return for each filter the passages that pass it."""
        from pgblend.plpy.lexical.conditions import filter_condition  # of few searches

        found = []
        for one in request.filters:
            condition = filter_condition(self.db, one, 2)
            statement = _PASSING.format(condition=condition.on_chunk)
            values = request.chunk_ids, condition.operands
            (row,) = self.db.run(statement, ["bigint[]", "text[]"], *values)
            found.append(row["passing"])
        return found

    def distances(self, request: DistancesRequest) -> list[Distance]:
        """Return how far values are from origins."""
        values = request.chunk_ids, request.keys, request.origins
        rows = self.db.run(_DISTANCES, ["bigint[]", "text[]", "text[]"], *values)
        return [Distance(**row) for row in rows]

    def named_documents(self, request: NamesRequest) -> list[NamedDocument]:
        """Return the documents that have some source keys or URIs."""
        values = request.names, request.collection_ids
        rows = self.db.run(_NAMED, ["text[]", "bigint[]"], *values)
        return [NamedDocument(**row) for row in rows]

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
        from pgblend.plpy.lexical.conditions import filter_condition, in_language  # of few searches

        filter_ = in_language(request.filter, request.language)
        condition = filter_condition(self.db, filter_, 3)
        values = [
            *(request.nodes, request.collection_ids, condition.on_chunk, condition.operands),
            *(request.vector, request.space),
        ]
        return [NodePassage(**row) for row in self.db.run(_NODES, _NODE_TYPES, *values)]

    def _column(
        self, column: str, space: str, types: list[str], *values: Sequence[int] | str
    ) -> Rows:
        statement = _COLUMN.format(column=column, space=space)  # a space's name needs no quotes
        return self.db.run(statement, types, *values)

    def arm(self, scope: "ListScope", cache_bytes: int) -> "LexicalArm":
        """Return the lexical arm over this database's index."""
        from pgblend.plpy.lexical.arm import LexicalArm  # other searches go without numpy
        from pgblend.plpy.lexical.own_index import Node

        return LexicalArm(self.db, Node(self.db, cache_bytes), scope)

    def expect(self, request: VectorRequest) -> None:
        """Do nothing ahead: no question has to travel."""

    def has_chunks(self, collection_ids: Sequence[int]) -> bool:
        """Tell whether collections have passages."""
        found: bool = self.db.run(_HAS_CHUNKS, ["bigint[]"], collection_ids)[0]["found"]
        return found

    def is_building(self, collection_ids: Sequence[int]) -> bool:
        """Tell whether a session builds the lexical index of one of the collections."""
        found: bool = self.db.run(_BUILDING, ["bigint[]"], collection_ids)[0]["found"]
        return found

    def hold(self, space: Space, collection_ids: Sequence[int], asks: bool) -> Held:
        """Keep a space from being dropped before the transaction ends, by reading its table.

        Many collections take longer to be told than it takes to see that nothing waits at all.
        """
        if len(collection_ids) > MANY and not asks:
            held = self._hold(space, None, asks)
            if not held.is_waiting:
                return held
        return self._hold(space, collection_ids, asks)

    def _hold(self, space: Space, collection_ids: Sequence[int] | None, asks: bool) -> Held:
        of_collections = _OF_COLLECTIONS if collection_ids is not None else ""
        statement = _HOLD.format(
            table=space.table_name, most=int(asks), of_collections=of_collections
        )
        try:
            row = self.db.run(statement, ["bigint[]", "text"], collection_ids, space.name)[0]
        except self.db.Problem as error:
            if error_state(error) != _UNDEFINED_TABLE:
                raise
            return Held(False, False, False)
        return Held(row["table_id"] == space.table_id, row["has_vectors"], row["is_waiting"])

    def nearest(self, request: VectorRequest) -> CandidateList:
        """Return the passages nearest to a vector."""
        return vector_list(self.db, request)

    def note_spaces(self, spaces: Sequence[Space]) -> None:
        """Do nothing: a request names its own."""

    def spaces(self, chunk_ids: Sequence[int]) -> Mapping[int, str]:
        """Return none: it is one for all."""
        return {}

    def literal(self, request: LiteralRequest) -> CandidateList:
        """Return a list by words without the lexical index."""
        from pgblend.plpy.search.vectors import literal_list  # of few profiles

        return literal_list(self.db, request)

    def is_named(self, query: str, chunk_id: int) -> bool:
        """Tell whether a passage's document is called as the query asks."""
        from pgblend.plpy.lexical.query import asks_name  # of few searches

        configs = self.db.run(_CONFIG, ["bigint"], chunk_id)
        names = asks_name(self.db, query, configs[0]["name"]) if configs else []
        if not names:
            return False
        found: bool = self.db.run(_IS_NAMED, ["bigint", "text[]"], chunk_id, names)[0]["found"]
        return found

    def configurations(self, collection_ids: Sequence[int]) -> list[str]:
        """Return the text search configurations in use."""
        return used_configs(self.db, collection_ids)

    def highlight(self, highlights: "Highlights") -> None:
        """Do nothing: snippets are made of a page alone."""

    def around(self, chunk_ids: Sequence[int], sizes: Mapping[str, float]) -> Rows:
        """Return passages and those around them in their documents."""
        values = chunk_ids, json.dumps({"context_chars": sizes})
        rows = self.db.run(_AROUND, ["bigint[]", "jsonb"], *values)
        found: Rows = json.loads(rows[0]["chunks"])
        return found
