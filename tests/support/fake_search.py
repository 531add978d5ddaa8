"""A fake server for whole searches: four passages, what arms find of them, and requests."""

import json
from collections.abc import Sequence
from time import time
from typing import Any

from pgblend.plpy.search.query import Request, Tries
from support.fake_database import Answer, StatementError
from support.fake_index import Chunk, lexical_answers

OPTIONS: dict[str, Any] = {
    "mode": "fast", "candidate_depth": 50, "fusion": "convex", "fuzzy": "on",
    "title_weight": 1, "heading_weight": 1,
    "weights": {"lexical": 1, "vector": 1, "fuzzy": 0.5},
    "timeouts_ms": {"total": 60_000, "lexical": 60_000, "embed": 60_000, "rerank": 60_000},
    "strong_signal": {"score": 0.85, "gap": 0.15, "center": 0, "scale": 0},
    "dedup_similarity": 0.9, "rerank_depth": 10,
    "blend": {"kind": "position", "rerank": 0.5, "fused": 0.3, "position": 0.2},
}  # fmt: skip
MODELS = {"expansion_model": "m", "rerank_model": "m"}
SPACE = {
    "name": "space", "model": "m", "dimensions": 1, "is_active": True,
    "storage": "vector", "vector_type": "vector(1)", "ef_search": None, "vectors": 100_000,
    "has_policy": False, "table_name": "embedding_space", "table_id": 1,
}  # fmt: skip
HELD = {"table_id": 1, "has_vectors": False, "is_waiting": False}
TEXTS = {1: "red fox", 2: "blue fox", 3: "red fox", 4: "wine"}
WORDS = {1: ["red", "fox"], 2: ["fox", "fox"], 3: ["red", *["and"] * 9]}
COSINES = {4: 0.9, 2: 0.8, 1: 0.1}


def columns(scores: dict[int, float]) -> dict[str, Any]:
    chunk_ids = list(scores)
    return {
        "chunk_ids": chunk_ids,
        "document_ids": [chunk_id * 10 for chunk_id in chunk_ids],
        "chunk_indexes": [0] * len(chunk_ids),
        "scores": list(scores.values()),
    }


def failing(sqlstate: str, hint: str | None = None) -> Answer:
    def fail(*_: object) -> Sequence[dict[str, Any]]:
        raise StatementError(sqlstate, hint)

    return fail


ANSWERS = {
    "e.embedding <=> $1": lambda *_: [columns(COSINES)],
    "'enable_sort'": lambda *_: [],
    "c.text_search_config AS name": lambda _: [{"name": "english"}],
    "c.lexemes @@ pgblend._lexeme_tsquery": lambda *_: [{"found": True}],
    "l.text_search_config AS name": lambda _: [{"name": "english"}],
    "_asking_role()": lambda: [{"role": "ann", "most_ms": 1e9}],
    "pgblend.purpose": lambda purpose: [{"purpose": purpose}],
    "LIMIT 0": lambda *_: [HELD],
    "_is_building(": lambda _: [{"found": False}],
    "c.content = ANY": lambda *_: [],
    "c.start_line": lambda ids, _: [passage(one) for one in ids],
    "1 - (e.embedding": lambda ids, _: [{"chunk_id": one, "value": 0.5} for one in ids],
    "e.embedding::text": lambda ids: [
        {"chunk_id": one, "value": f"[{one == 4:d}, {one != 4:d}, 0.1]"} for one in ids
    ],
    "AS keeps_all": lambda _: [{"keeps_ascii": True, "keeps_all": True}],
    "FROM unnest($2)": lambda _, words: [{"lexemes": [*words]}],
    "tsvector_to_array(to_tsvector(t.oid": lambda _, words: [
        {"version": "1", "lexemes": words.split()}
    ],
    **lexical_answers({one: Chunk(one * 10, words) for one, words in WORDS.items()}),
}  # fmt: skip


def passage(chunk_id: int) -> dict[str, Any]:
    return {
        "chunk_id": chunk_id, "content": TEXTS[chunk_id], "text_search_config": "english",
        "start_offset": 0, "end_offset": 9, "start_line": 1, "end_line": 1, "pages": None,
        "metadata": "{}", "document_id": chunk_id * 10, "collection": "c",
        "source_key": str(chunk_id), "uri": None, "title": "",
        "may_repeat": list(TEXTS.values()).count(TEXTS[chunk_id]) > 1,
    }  # fmt: skip


def state(space: dict[str, Any] | None = SPACE, **of_database: Any) -> dict[str, Answer]:
    row = {
        "ids": [1], "names": ["c"], "of_collection": "{}", "of_profile": "{}", "experiment": None,
        "of_database": json.dumps(MODELS | of_database), "profile": "balanced", "role": "ann",
        "is_everywhere": True, "has_tenants": False, "spaces": [json.dumps(space)] if space else [],
        "calibrations": [], "is_bound": False, "has_pins": False,
    }  # fmt: skip
    return {"searched AS MATERIALIZED": lambda *_: [row]}


def asked(
    query: str | None = "red fox",
    *,
    limit: int = 3,
    vector: str | None = "[1]",
    only_arm: str | None = None,
    traced: str = "none",
    **options: Any,
) -> Request:
    texts = json.dumps(OPTIONS | options)
    return Request(query, limit, None, None, None, texts, vector, only_arm, traced, time(), Tries())
