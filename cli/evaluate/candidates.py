"""The arms' candidates of judged queries, fetched once to be fused again and again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.database import Connection, fetch_rows

# Words first, as the search has them. The fuzzy arm, which runs only where a word is misspelt, is
# left out; the runs that confirm a choice have it.
ARMS = ("lexical", "vector")
_QUERIES = """
    SELECT q.id, q.key, q.query, q.embedding,
        (
            SELECT jsonb_object_agg(j.source_key, j.grade)
            FROM pgblend_data.judgement AS j WHERE j.query_id = q.id
        ) AS grades
    FROM pgblend_data.judged_query AS q
    INNER JOIN pgblend_data.judged_set AS s ON s.id = q.set_id
    WHERE s.name = %(set)s
        AND EXISTS (SELECT FROM pgblend_data.judgement AS j WHERE j.query_id = q.id AND j.grade > 0)
    ORDER BY q.id
"""
_FOUND = """
    SELECT f.chunk_id, f.document_id, f.source_key, f.score,
        (f.arms -> %(arm)s ->> 'score')::double precision AS raw,
        (f.arms -> %(arm)s ->> 'rank')::integer AS rank
    FROM pgblend_data.judged_set AS s
    CROSS JOIN LATERAL pgblend._judged_search(
        jsonb_populate_record(NULL::pgblend_data.evaluation_run, jsonb_build_object(
            'arm', %(arm)s::text, 'collection_id', s.collection_id, 'options', %(options)s::jsonb,
            'result_limit', %(depth)s::integer)),
        %(query)s, %(embedding)s) AS f
    WHERE s.name = %(set)s AND f.arms ? %(arm)s
"""
# The text that a hybrid search of the query embeds.
_EMBED = """
    SELECT e.embedding
    FROM unnest(pgblend.embed_text(ARRAY(
        SELECT pgblend._plain_query(q.query)
        FROM unnest(%(queries)s::text[]) WITH ORDINALITY AS q (query, place) ORDER BY q.place
    ), NULL, 60000)) WITH ORDINALITY AS e (embedding, place) ORDER BY e.place
"""
_EMBED_BATCH = 50
_VECTORS = "SELECT chunk_id, embedding FROM pgblend.chunk_embeddings(%(ids)s)"


@dataclass(frozen=True)
class Pool:
    """One query's candidates as columns, by (document id, chunk); `None` where an arm lacks one.

    `ranks[arm][item]` and `scores[arm][item]` go by ARMS; `perfect` is what no passage's BM25 can
    reach. `vectors` are of length 1, zero where a passage has none; so is `query_vector`.
    """

    key: str
    source_keys: list[str]
    ranks: list[list[int | None]]
    scores: list[list[float | None]]
    perfect: float
    grades: dict[str, int]
    query_vector: NDArray[np.float64]
    vectors: NDArray[np.float64]


def read_pools(
    connection: Connection,
    judged_set: str,
    keep: Callable[[str], bool],
    settings: dict[str, Any],
    advance: Callable[[int], None],
) -> list[Pool]:
    """Search the queries whose key is kept by each arm alone; return what was found.

    Queries without a vector get one from the model; without vectors or a model it is an error.
    """
    options = json.dumps({"timeouts_ms": {"lexical": 60000, "total": 600000}})
    rows = fetch_rows(connection, _QUERIES, {"set": judged_set})
    kept = [query for query in rows if keep(query["key"])]
    _embed(connection, [query for query in kept if query["embedding"] is None])
    pools = []
    for query in kept:
        found: dict[str, list[dict[str, Any]]] = {}
        for arm in ARMS:
            parameters = {
                "set": judged_set,
                "arm": arm,
                "options": options,
                "depth": settings["candidate_depth"],
                "query": query["query"],
                "embedding": query["embedding"],
            }
            found[arm] = fetch_rows(connection, _FOUND, parameters)
        pools.append(_join(connection, query, [found[arm] for arm in ARMS]))
        advance(1)
    return pools


def _embed(connection: Connection, queries: Sequence[dict[str, Any]]) -> None:
    for start in range(0, len(queries), _EMBED_BATCH):
        batch = queries[start : start + _EMBED_BATCH]
        texts = [query["query"] for query in batch]
        for query, row in zip(
            batch, fetch_rows(connection, _EMBED, {"queries": texts}), strict=True
        ):
            query["embedding"] = row["embedding"]


def _join(
    connection: Connection, query: dict[str, Any], lists: Sequence[Sequence[dict[str, Any]]]
) -> Pool:
    """Put the arms' rows into one pool, in the order in which a search breaks ties."""
    items = {row["chunk_id"]: row for rows in lists for row in rows}
    chunk_ids = sorted(items, key=lambda chunk: (items[chunk]["document_id"], chunk))
    by_arm = [{row["chunk_id"]: row for row in rows} for rows in lists]
    raw = [[_value(rows, chunk, "raw") for chunk in chunk_ids] for rows in by_arm]
    words = next((row for row in lists[0] if row["score"]), None)
    query_vector = _unit(query["embedding"].to_numpy())
    stored: dict[int, Any] = {
        chunk: vector.to_numpy()
        for chunk, vector in connection.execute(_VECTORS, {"ids": chunk_ids})
    }
    none = np.zeros_like(query_vector)
    vectors = np.array([_unit(stored.get(chunk, none)) for chunk in chunk_ids]).reshape(
        len(chunk_ids), query_vector.size
    )
    return Pool(
        key=query["key"],
        source_keys=[items[chunk]["source_key"] for chunk in chunk_ids],
        ranks=[[_value(rows, chunk, "rank") for chunk in chunk_ids] for rows in by_arm],
        scores=raw,
        perfect=words["raw"] / words["score"] if words else 1.0,
        grades=query["grades"],
        query_vector=query_vector,
        vectors=vectors,
    )


def _value(rows: dict[int, dict[str, Any]], chunk: int, column: str) -> Any:
    return rows[chunk][column] if chunk in rows else None


def _unit(vector: NDArray[np.floating]) -> NDArray[np.float64]:
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    return exact / length if length else exact
