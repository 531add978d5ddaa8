"""Recall and size of each storage of an embedding space on real vectors, through its index."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pgvector import Vector

from support.database import Database, stage
from support.word_lists import add_word_lists

pytestmark = pytest.mark.data

# Shares of the nearest ten passages by exact cosine that the index finds.
LEAST_RECALL = {"vector": 0.98, "halfvec": 0.98, "binary": 0.93}
ARM = """
    SELECT d.source_key FROM vector_list(
        %s, %s, ARRAY(SELECT id FROM pgblend_data.collection), NULL, NULL,
        '{"candidate_depth": 100, "ef_search": 100, "vector_scan": "index", "rescore_factor": 4}'
    ) AS a, unnest(a.document_ids) WITH ORDINALITY AS u (document_id, rank)
    JOIN pgblend_data.document AS d ON d.id = u.document_id ORDER BY u.rank LIMIT 10
"""


@pytest.fixture
def medline(shared_data: Path) -> Any:
    return np.load(shared_data / "vectors" / "medline.npz")


@pytest.mark.slow
def test_each_storage_finds_what_is_near(db: Database, medline: Any) -> None:
    corpus = medline["corpus"].astype(np.float32)
    keys = [str(key) for key in medline["corpus_ids"]]
    db.rows("SELECT add_collection('c', 'simple')")
    chunk = '[{"content": ""}]'
    db.rows(
        "SELECT count(i.status) FROM unnest(%s::text[]) AS k,"
        " LATERAL ingest_document('c', k, '', chunks => %s) AS i",
        keys,
        chunk,
    )
    add_word_lists(db.connection)
    chunks = dict(
        db.rows(
            "SELECT d.source_key, c.chunk_id FROM chunks AS c JOIN documents AS d"
            " USING (document_id)"
        )
    )
    recall = {}
    for storage in LEAST_RECALL:
        db.rows("SELECT create_embedding_space(%s, 'm', 384, %s, probe => false)", storage, storage)
        stage(db, [(chunks[key], vector) for key, vector in zip(keys, corpus, strict=True)])
        assert db.value("SELECT pgblend._store_embeddings(%s)", storage) == len(keys)
        found = 0
        for query in medline["queries"].astype(np.float32):
            nearest = {keys[place] for place in np.argsort(-(corpus @ query))[:10]}
            found += len(nearest & set(db.column(ARM, Vector(query), storage)))
        # What is planned for it is what it takes.
        sizes = db.row("SELECT table_bytes, index_bytes FROM count_vectors(%s)", storage)
        planned = db.row(
            "SELECT table_bytes, index_bytes FROM pgblend._storages(%s, 384) WHERE storage = %s",
            len(keys),
            storage,
        )
        assert sizes == pytest.approx(planned, rel=0.15)
        recall[storage] = found / 10 / len(medline["queries"])
    assert {name: recall[name] >= least for name, least in LEAST_RECALL.items()} == dict.fromkeys(
        LEAST_RECALL, True
    ), recall
