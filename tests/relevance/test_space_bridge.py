"""What searches find by a matrix while a space is half filled, on judged sets with real vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from support.database import Database, stage, vector_literal
from support.judged import Judged, add_judged, read_judged

pytestmark = [pytest.mark.data, pytest.mark.slow]

SETS = ("medline", "cranfield", "cisi")
LEAST = 0.95  # of the judged passages among ten that a whole space finds
SEARCH = """
    SELECT source_key FROM vector_search(
        NULL, 10, options => '{"dedup": "off", "candidate_depth": 100}', query_embedding => %s)
"""


def cut(vectors: Any, part: str, width: int) -> Any:
    """Return the first dimensions of vectors, as a model of several widths gives them."""
    return vectors[part].astype(np.float32)[:, :width]


def half_filled(db: Database, judged: Judged, vectors: Any, older: int, newer: int) -> None:
    """Store a judged set with vectors of a width, and with others for half of its passages."""
    db.rows("SELECT add_collection(%s)", judged.name)
    add_judged(db, judged.name, judged, "english")
    chunks = dict(
        db.rows(
            "SELECT d.source_key, c.chunk_id FROM chunks AS c JOIN documents AS d"
            " USING (document_id)"
        )
    )
    ids = [chunks[f"{judged.name}/{key}"] for key in vectors["corpus_ids"]]
    for space, width, step in (("older", older, 1), ("newer", newer, 2)):
        db.rows(
            "SELECT create_embedding_space(%s, %s, %s, active => %s, probe => false)",
            *(space, space, width, space == "older"),
        )
        pairs = list(zip(ids, cut(vectors, "corpus", width), strict=True))[::step]
        stage(db, pairs)
        assert db.value("SELECT pgblend._store_embeddings(%s)", space) == len(pairs)


def judged_found(judged: Judged, found: dict[str, list[str]]) -> int:
    """Count the relevant passages that are among those found for their queries."""
    return sum(
        judgement.relevance > 0 and judgement.doc_id in found.get(judgement.query_id, ())
        for judgement in judged.judgements
    )


@pytest.mark.parametrize("name", SETS)
def test_a_matrix_that_is_taken_loses_little(db: Database, shared_data: Path, name: str) -> None:
    judged = read_judged(shared_data / "ir" / name)
    vectors = np.load(shared_data / "vectors" / f"{name}.npz")
    half_filled(db, judged, vectors, older=384, newer=256)
    kept = db.value("SELECT kept FROM bridge_embedding_space('newer')")
    queries = cut(vectors, "queries", 256)
    asked = dict(zip(map(str, vectors["query_ids"]), queries, strict=True))
    keys = [str(key) for key in vectors["corpus_ids"]]
    corpus = cut(vectors, "corpus", 256)
    corpus = corpus / np.linalg.norm(corpus, axis=1, keepdims=True)
    whole = {
        key: [keys[place] for place in np.argsort(-(corpus @ query), kind="stable")[:10]]
        for key, query in asked.items()
    }
    found = {
        key: [
            one.removeprefix(f"{name}/")
            for one in db.column(SEARCH, vector_literal(query.tolist()))
        ]
        for key, query in asked.items()
    }
    share = judged_found(judged, found) / judged_found(judged, whole)
    print(f"{name}: kept {kept:.3f}, judged passages found {share:.3f}")
    assert share >= LEAST


def test_a_matrix_that_loses_more_is_refused(db: Database, shared_data: Path) -> None:
    judged = read_judged(shared_data / "ir" / "medline")
    vectors = np.load(shared_data / "vectors" / "medline.npz")
    half_filled(db, judged, vectors, older=64, newer=384)
    lost = pytest.raises(psycopg.Error, match=r"% of the nearest passages would be lost")
    with lost, db.connection.transaction():
        db.rows("SELECT * FROM bridge_embedding_space('newer')")
    assert db.value("SELECT name FROM embedding_spaces WHERE active") == "older"
