"""What a search reads of its candidates, by their ids."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_TEXT_COLUMNS = "c.id, c.content, c.start_offset, c.end_offset"
_TEXTS = f"SELECT {_TEXT_COLUMNS} FROM pgblend_data.chunk AS c WHERE c.id = ANY($1)"
_AGES = "SELECT pgblend._document_ages($1) AS ages"
_SPACE = "SELECT {columns} FROM pgblend_data.embedding_space AS s WHERE s.name = ${place}"
_MOVED = f"pgblend._feedback_cosines($1, $2, $3, $4, ({_SPACE.format(columns='s', place=5)}))"
_FEEDBACK = f"SELECT f.chunk_id, f.cosine FROM {_MOVED} AS f"
_FEEDBACK_TYPES = ["bigint[]", "bigint[]", "vector", "double precision", "text"]
_TYPE = "s.vector_type AS type, quote_ident(s.table_name) AS name"
_TABLE = _SPACE.format(columns=_TYPE, place=1)
_WALK = "SELECT w.nodes, w.depths, w.seeds_of, w.is_cut FROM pgblend._walk({}) AS w"
_WALKED = _WALK.format("$1, $2, $3, $4, $5, $6")
_WALK_TYPES = ["bigint[]", "integer", "text", "text[]", "integer", "integer"]
_NODES = "SELECT p.* FROM pgblend._node_passages($1, $2, $3, $4, $5, $6) AS p"
_NODE_TYPES = ["bigint[]", "bigint[]", "jsonb", "text", "vector", "text"]
_COLUMN = "SELECT e.chunk_id, {column} AS value FROM pgblend_data.{table} AS e {where}"
_WHERE = "WHERE e.chunk_id = ANY($1)"
_COSINE = "nullif(1 - (e.embedding <=> $2::{type}), 'NaN')"
_VECTOR = "e.embedding::text"


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

    def texts(self, chunk_ids: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """Return content, start_offset and end_offset by chunk id."""
        return {row["id"]: row for row in self.run(_TEXTS, ["bigint[]"], chunk_ids)}

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        """Return how old the documents are, in their order."""
        ages: Sequence[float | None] = self.run(_AGES, ["bigint[]"], document_ids)[0]["ages"]
        return ages

    def moved_cosines(
        self, chunk_ids: Sequence[int], passages: Sequence[int], weight: float
    ) -> dict[int, float]:
        """Return cosines to the query's vector moved by `weight` towards passages."""
        values = [chunk_ids, passages, self.query_embedding, weight, self.space]
        rows = self.run(_FEEDBACK, _FEEDBACK_TYPES, *values)
        return {row["chunk_id"]: row["cosine"] for row in rows if row["cosine"] is not None}

    def cosines(self, chunk_ids: Sequence[int]) -> dict[int, float | None]:
        """Return exact cosines to the query's vector; none without one, NULL for a zero vector."""
        if self.query_embedding is None:
            return {}
        return self._column(_COSINE, chunk_ids, self.query_embedding)

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
        table = self.run(_TABLE, ["text"], self.space)[0]
        statement = _COLUMN.format(
            column=column.format(type=table["type"]), table=table["name"], where=_WHERE
        )
        types = ["bigint[]", *["vector"] * len(values)]
        return {
            row["chunk_id"]: row["value"] for row in self.run(statement, types, chunk_ids, *values)
        }


def stored_passages(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    query_embedding: str | None,
    space: str | None,
) -> StoredPassages:
    """Return what reads passages for a query vector in an embedding space, which may be None.

    `run` executes (statement, types, *values).
    """
    return StoredPassages(run, query_embedding, space)
