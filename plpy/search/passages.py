"""What a search reads of its candidates, by their ids."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_DOCUMENT = "SELECT d.* FROM pgblend_data.document AS d WHERE d.id = c.document_id OFFSET 0"
# OFFSET 0 keeps each row a look-up by its key: statistics that call the tables empty, as ANALYZE
# makes them beside a long transaction, would make it a join of all rows with all.
_ROWS = " ".join(
    [
        "SELECT c.id, c.content, c.text_search_config, c.start_offset, c.end_offset, c.start_line,",
        "c.end_line, c.pages, (d.metadata || c.metadata)::text AS metadata, c.document_id,",
        "o.name AS collection, d.source_key, d.uri, d.title",
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
_COLUMN = f"SELECT e.chunk_id, {{}} AS value {_TABLE} {_WHERE}"
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


class StoredPassages:
    """Texts, vectors and ages of passages and documents; each method is one statement."""

    def __init__(
        self,
        run: Callable[..., Sequence[Mapping[str, Any]]],
        query_embedding: str | None,
        space: str | None,
    ) -> None:
        self.run = run
        self.query_embedding = query_embedding
        self.space = space
        self.known_cosines: dict[int, float | None] = {}
        self.known_texts: dict[int, Mapping[str, Any]] = {}

    def texts(self, chunk_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """Return the passages that are there by chunk id: texts, offsets and a row's columns."""
        known = self.known_texts
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        if unread:
            known.update((row["id"], row) for row in self.run(_ROWS, ["bigint[]"], unread))
        return known

    def holders(
        self, chunk_ids: Sequence[int], contents: Sequence[str]
    ) -> Sequence[Mapping[str, Any]]:
        """Return those of the chunks that have one of the contents, with their documents."""
        return self.run(_HOLDERS, ["bigint[]", "text[]"], chunk_ids, contents)

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        ages: Sequence[float | None] = self.run(_AGES, ["bigint[]"], document_ids)[0]["ages"]
        return ages

    def moved_cosines(
        self, chunk_ids: Sequence[int], passages: Sequence[int], weight: float
    ) -> dict[int, float]:
        """Return cosines to the query's vector moved towards passages (Rocchio's feedback).

        It is moved to q/|q| + weight · mean(p/|p|); by passages without vectors nowhere. Chunks
        without a vector are left out, and a zero vector has no cosine. The chunks' own cosines,
        which the statement gives too, are not read again.
        """
        values = [chunk_ids, self.query_embedding, passages, weight]
        row = self._run_in_space(_MOVED, _MOVED_TYPES, *values)[0]
        ids = row["chunk_ids"] or []
        self.known_cosines.update(zip(ids, row["own"] or [], strict=True))
        found = zip(ids, row["moved"] or [], strict=True)
        return {chunk_id: cosine for chunk_id, cosine in found if cosine is not None}

    def cosines(self, chunk_ids: Sequence[int]) -> dict[int, float | None]:
        """Return exact cosines to the query's vector; none without one, NULL for a zero vector."""
        if self.query_embedding is None:
            return {}
        known = self.known_cosines
        unread = [chunk_id for chunk_id in chunk_ids if chunk_id not in known]
        known.update(self._column(_OWN, unread, self.query_embedding))
        return {chunk_id: known[chunk_id] for chunk_id in chunk_ids if chunk_id in known}

    def vectors(self, chunk_ids: Sequence[int]) -> dict[int, str]:
        """Return the passages' vectors as texts."""
        return self._column(_VECTOR, chunk_ids)

    def walk(
        self, nodes: Sequence[int], sources: int, graph: Mapping[str, Any]
    ) -> tuple[list[tuple[int, int, int]], bool]:
        """Return (node, distance, seed) within some steps of nodes, and whether it was cut."""
        asked = [graph["depth"], graph["direction"], graph["edge_types"], graph["node_limit"]]
        row = self.run(_WALKED, _WALK_TYPES, nodes, *asked, sources)[0]
        found = zip(row["nodes"], row["depths"], row["seeds_of"], strict=True)
        return list(found), row["is_cut"]

    def node_passages(
        self, nodes: Sequence[int], collection_ids: Sequence[int], filter_: str, language: str
    ) -> list[tuple[int, int, int, int]]:
        """Return (node, chunk id, document id, chunk index) of nodes; chunk id 0 is one gone."""
        if not nodes:
            return []
        values = [nodes, collection_ids, filter_, language, self.query_embedding, self.space]
        return [
            (row["node"], row["chunk_id"], row["document_id"], row["chunk_index"])
            for row in self.run(_NODES, _NODE_TYPES, *values)
        ]

    def _column(self, column: str, chunk_ids: Sequence[int], *values: str) -> dict[int, Any]:
        if not chunk_ids or self.space is None:
            return {}
        statement = _COLUMN.replace("{}", column)
        types = ["bigint[]", *["vector"] * len(values)]
        rows = self._run_in_space(statement, types, chunk_ids, *values)
        return {row["chunk_id"]: row["value"] for row in rows}

    def _run_in_space(
        self, statement: str, types: list[str], *values: object
    ) -> Sequence[Mapping[str, Any]]:
        return self.run(statement.format(space=self.space), types, *values)


def stored_passages(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    query_embedding: str | None,
    space: str | None,
) -> StoredPassages:
    """Return what reads passages for a query vector in an embedding space, which may be None.

    `run` executes (statement, types, *values).
    """
    return StoredPassages(run, query_embedding, space)
