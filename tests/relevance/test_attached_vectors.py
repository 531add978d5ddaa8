"""Vectors of an attached table rank as those that ingest stores: on a judged set."""

import json
import lzma
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pgvector import Vector

from support.database import Database, stage

pytestmark = pytest.mark.data
SEARCHES = {
    "vector": "SELECT source_key FROM vector_search(%s, 30, '{{{}}}', query_embedding => %s)",
    "hybrid": "SELECT source_key FROM hybrid_search(%s, 30, '{{{}}}', query_embedding => %s)",
}


def ndcg(ranked: list[str], gains: dict[str, int]) -> float:
    """nDCG@10 of documents."""
    found = sum(gains.get(key, 0) / math.log2(n + 2) for n, key in enumerate(ranked[:10]))
    best = sorted(gains.values(), reverse=True)[:10]
    return found / sum(gain / math.log2(n + 2) for n, gain in enumerate(best))


@pytest.fixture
def both(db: Database, shared_data: Path) -> Any:
    """Medline in two collections, and its ready vectors: by document, and in an attached table."""
    folder = shared_data / "ir" / "medline"
    vectors = np.load(shared_data / "vectors" / "medline.npz")
    of_document = dict(zip(map(str, vectors["corpus_ids"]), vectors["corpus"], strict=True))
    with lzma.open(folder / "corpus.jsonl.xz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    db.rows("SELECT add_collection('ingested')")
    db.rows("SELECT create_embedding_space('s', 'm', 384, 'vector', probe => false)")
    db.rows("CREATE TABLE public.rows (id text PRIMARY KEY, title text, body text, v vector(384))")
    for one in documents:
        given = one["_id"], one["text"], one.get("title", "")
        db.rows("SELECT ingest_document('ingested', %s, %s, %s)", *given)
        embedding = Vector(of_document[one["_id"]].astype(np.float32))
        db.rows("INSERT INTO rows VALUES (%s, %s, %s, %s)", given[0], given[2], given[1], embedding)
    waiting = db.rows(
        "SELECT c.chunk_id, d.source_key FROM chunks AS c JOIN documents AS d USING (document_id)"
    )
    stage(db, [(chunk, of_document[key].astype(np.float32)) for chunk, key in waiting])
    db.rows("SELECT pgblend._store_embeddings('s')")
    db.rows(
        "SELECT * FROM attach_table('rows', '{body}', 'title', collection => 'attached',"
        " embedding_column => 'v', embedding_model => 'm', probe => false)"
    )
    while db.value("SELECT fill_table('rows')"):
        pass
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    texts = {one["_id"]: one["text"] for one in queries}
    gains: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, gain = line.split("\t")
        gains[query][document] = int(gain)
    embedded = dict(zip(map(str, vectors["query_ids"]), vectors["queries"], strict=True))
    return texts, gains, embedded


@pytest.mark.slow
def test_an_attached_table_ranks_as_ingest_does(db: Database, both: Any) -> None:
    """By vectors documents rank alike; in hybrid lists a long one may, where its words lead."""
    texts, gains, embedded = both
    long_rows = "SELECT collection FROM chunks WHERE chunk_index > 0"
    assert {*db.column(long_rows)} == {"attached", "ingested"}
    for arm, search in SEARCHES.items():
        ranked = {
            name: [
                list(
                    dict.fromkeys(
                        db.column(
                            search.format(name), texts[query], Vector(vector.astype(np.float32))
                        )
                    )
                )
                for query, vector in embedded.items()
            ]
            for name in ("ingested", "attached")
        }
        means = {
            name: np.mean([ndcg(keys, gains[q]) for keys, q in zip(lists, embedded, strict=True)])
            for name, lists in ranked.items()
        }
        assert means["attached"] == pytest.approx(means["ingested"], abs=0.001), arm
        if arm == "vector":
            first = {name: [keys[:10] for keys in lists] for name, lists in ranked.items()}
            assert first["attached"] == first["ingested"]
