"""The arms' candidates of judged queries: fetched once, fused again and again."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.plpy.base.catalog import SearchSettings, defaults
from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.fusion import fuse_lists

# Which queries of a judged set settings are chosen on, and which are held back.


def is_tuned_on(key: str, share: float, seed: int) -> bool:
    """Whether a query is in the part that settings are chosen on: by a digest, so always alike."""
    digest = hashlib.sha256(f"{seed} {key}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


# Words first, as the search has them. The fuzzy arm, which runs only where a word is misspelt, is
# left out. The runs that confirm a choice have it.
ARMS = ("lexical", "vector")
_QUERIES = """
    SELECT q.id, q.key, q.query, q.embedding,
        (
            SELECT jsonb_object_agg(j.source_key, j.grade)
            FROM pgblend_data.judgement AS j WHERE j.query_id = q.id
        ) AS grades
    FROM pgblend_data.judged_query AS q
    WHERE q.set_id = (pgblend._judged_set(%(set)s::text, %(collection)s::text)).id
        AND EXISTS (SELECT FROM pgblend_data.judgement AS j WHERE j.query_id = q.id AND j.grade > 0)
    ORDER BY q.id
"""
FOUND: LiteralString = """
    SELECT f.chunk_id, f.document_id, f.source_key, f.score,
        (f.arms -> %(arm)s ->> 'score')::double precision AS raw
    FROM pgblend._judged_set(%(set)s::text, %(collection)s::text) AS s
    CROSS JOIN LATERAL pgblend._judged_search(
        jsonb_populate_record(NULL::pgblend_data.evaluation_run, jsonb_build_object(
            'arm', %(arm)s::text, 'collection_id', s.collection_id, 'options', %(options)s::jsonb,
            'result_limit', %(depth)s::integer)),
        %(query)s, %(embedding)s) AS f
    WHERE f.arms ? %(arm)s
    ORDER BY (f.arms -> %(arm)s ->> 'rank')::integer
"""
# The text that a hybrid search of the query embeds.
_EMBED = """
    SELECT e.embedding
    FROM unnest(blend.embed_text(ARRAY(
        SELECT pgblend._plain_query(q.query)
        FROM unnest(%(queries)s::text[]) WITH ORDINALITY AS q (query, place) ORDER BY q.place
    ), NULL, 60000)) WITH ORDINALITY AS e (embedding, place) ORDER BY e.place
"""
_EMBED_BATCH = 50
VECTORS: LiteralString = "SELECT chunk_id, embedding FROM blend.chunk_embeddings(%(ids)s)"


Found = Mapping[str, Sequence[Mapping[str, Any]]]  # rows by arm


@dataclass(frozen=True)
class JudgedPool:
    """One query's candidates: a list for each of ARMS, as fuse_lists takes them, but for weights.

    `source_keys` are by chunk id; `vectors` too, of length 1, as `query_vector` is, without those
    that a passage has not or that are zero. With `only_judged`, documents without a grade are left
    out of what is measured.
    """

    key: str
    lists: list[ArmList]
    source_keys: dict[int, str]
    grades: dict[str, int]
    query_vector: NDArray[np.float64]
    vectors: dict[int, NDArray[np.float64]]
    only_judged: bool = False


def read_pools(
    connection: Connection,
    judged_set: str,
    keep: Callable[[str], bool],
    settings: dict[str, Any],
    advance: Callable[[int], None],
    collection: str | None = None,
) -> list[JudgedPool]:
    """Search the queries whose key is kept by each arm alone; return what was found.

    Queries without a vector get one from the model; without vectors or a model it is an error.
    """
    rows = fetch_rows(connection, _QUERIES, {"set": judged_set, "collection": collection})
    kept = [query for query in rows if keep(query["key"])]
    _embed(connection, [query for query in kept if query["embedding"] is None])
    pools = []
    for query in kept:
        found = {
            arm: fetch_rows(
                connection, FOUND, found_parameters(judged_set, arm, settings, query, collection)
            )
            for arm in ARMS
        }
        stored = connection.execute(VECTORS, {"ids": found_chunks(found)})
        vectors = {chunk_id: vector.to_numpy() for chunk_id, vector in stored}
        query["embedding"] = query["embedding"].to_numpy()
        pools.append(join_pool(query, found, vectors))
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


def found_parameters(
    judged_set: str,
    arm: str,
    settings: Mapping[str, Any],
    query: Mapping[str, Any],
    collection: str | None = None,
) -> dict[str, object]:
    """Return what FOUND takes to search one query by one arm."""
    return {
        "set": judged_set,
        "collection": collection,
        "arm": arm,
        "options": json.dumps({"timeouts_ms": {"lexical": 60000, "total": 600000}}),
        "depth": settings["candidate_depth"],
        "query": query["query"],
        "embedding": query["embedding"],
    }


def found_chunks(found: Found) -> list[int]:
    """Return the chunk ids of all arms' rows, each once."""
    return list(dict.fromkeys(row["chunk_id"] for rows in found.values() for row in rows))


def join_pool(
    query: Mapping[str, Any], found: Found, vectors: Mapping[int, NDArray[np.floating]]
) -> JudgedPool:
    """Put a query, its arms' rows and the passages' vectors together."""
    return JudgedPool(
        key=query["key"],
        lists=[_list(arm, rows) for arm, rows in found.items()],
        source_keys={row["chunk_id"]: row["source_key"] for rows in found.values() for row in rows},
        grades=query["grades"],
        query_vector=_unit(query["embedding"]),
        vectors={chunk_id: _unit(vector) for chunk_id, vector in vectors.items() if vector.any()},
    )


def _list(arm: str, rows: Sequence[Mapping[str, Any]]) -> ArmList:
    """Return rows as a list; `perfect` is what no passage's BM25 can reach."""
    chunk_ids = [row["chunk_id"] for row in rows]
    first = next((row for row in rows if row["score"]), None)
    found = CandidateList(
        chunk_ids=chunk_ids,
        document_ids=[row["document_id"] for row in rows],
        chunk_indexes=chunk_ids,  # in the same order within a document
        scores=[row["raw"] for row in rows],
        perfect=first["raw"] / first["score"] if first and arm == "lexical" else None,
    )
    return ArmList(arm, arm, 1.0, found)


def _unit(vector: NDArray[np.floating]) -> NDArray[np.float64]:
    exact = vector.astype(np.float64)
    length = float(np.linalg.norm(exact))
    return exact / length if length else exact


# Candidates fused again under other settings, by the search's own stage of fusion.

CUT = 10


def fuse_again(pool: JudgedPool, settings: Mapping[str, Any]) -> Fused:
    """Return the candidates as a search with these settings fuses them (fuse_lists).

    An arm of weight 0 does not run, so what it alone has found is no candidate. How old a document
    is does not count: judgements know nothing of it.
    """
    weights, feedback = settings["weights"], settings["feedback"]
    lists = [
        replace(of_list, weight=float(weights[of_list.arm]))
        for of_list in pool.lists
        if weights[of_list.arm] > 0
    ]

    def moved_cosines(chunk_ids: Sequence[int], passages: Sequence[int]) -> dict[int, float]:
        near = [pool.vectors[chunk_id] for chunk_id in passages if chunk_id in pool.vectors]
        moved = pool.query_vector
        if near:
            moved = moved + feedback["weight"] * np.mean(near, axis=0)
        moved = moved / np.linalg.norm(moved)
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in pool.vectors]
        return {chunk_id: float(pool.vectors[chunk_id] @ moved) for chunk_id in known}

    known = {name: settings[name] for name in defaults("search") if name in settings}
    plain = SearchSettings(**defaults("search") | known | {"recency_half_life_days": None})
    return fuse_lists(lists, plain, plain.candidate_depth, moved_cosines, lambda _: [])


def ndcg(pool: JudgedPool, settings: Mapping[str, Any]) -> float:
    """Return nDCG@10 of the candidates' documents under these settings, each at its best place.

    Where only what is judged counts, other documents are left out (condensed lists: Sakai 2007).
    """
    fused = fuse_again(pool, settings)
    keys = [pool.source_keys[fused.chunk_ids[item]] for item in fused.order]
    found = dict.fromkeys(keys)
    documents = [key for key in found if not pool.only_judged or key in pool.grades][:CUT]
    gains = [max(pool.grades.get(document, 0), 0) for document in documents]
    ideal = sorted((grade for grade in pool.grades.values() if grade > 0), reverse=True)[:CUT]
    return _dcg(gains) / _dcg(ideal)


def mean_ndcg(pools: Sequence[JudgedPool], settings: Mapping[str, Any]) -> float:
    """Return the mean nDCG@10 over queries."""
    return float(np.mean([ndcg(pool, settings) for pool in pools]))


def _dcg(grades: Sequence[int]) -> float:
    return float(sum(grade / np.log2(place + 2) for place, grade in enumerate(grades)))
