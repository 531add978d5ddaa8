"""Whether walks through a space's index find what is near among texts of several kinds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pgvector import Vector

from support.database import Database, add_space

pytestmark = [pytest.mark.data, pytest.mark.slow]

# In this order walks get lost most easily: the index begins with a few texts of one kind.
SETS = (
    *("xquad-de", "xquad-en", "medline", "cacm", "cranfield"),
    *("cisi", "twowiki", "scifact", "cosqa_test", "npl"),
)
QUERIES_A_SET = 60
DEFINITION = """
    SELECT pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = 'pgblend_data.embedding_s'::regclass
        AND pg_get_indexdef(indexrelid) LIKE '%USING hnsw%'
"""


@pytest.fixture
def texts(shared_data: Path) -> tuple[Any, Any]:
    """Return the vectors of the passages of ten judged sets, and of some of their queries."""
    sets = [np.load(shared_data / "vectors" / f"{name}.npz") for name in SETS]
    return (
        np.vstack([one["corpus"] for one in sets]).astype(np.float32),
        np.vstack([one["queries"][:QUERIES_A_SET] for one in sets]).astype(np.float32),
    )


def test_no_walk_gets_lost(db: Database, texts: tuple[Any, Any]) -> None:
    """By pgvector's own ef_construction one in forty queries missed half of its nearest."""
    corpus, queries = texts
    add_space(db, "s", corpus.shape[1])
    db.rows("CREATE TABLE pool (place integer, embedding vector(384))")
    with db.connection.cursor().copy("COPY pool FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for row in enumerate(corpus):
            copy.write_row(row)
    db.rows("SET maintenance_work_mem = '1GB'")
    db.rows(db.value(DEFINITION).replace("pgblend_data.embedding_s ", "pool "))
    db.rows("SET enable_seqscan = off; SET hnsw.ef_search = 101")
    found = np.array(
        [
            np.isin(
                db.column(
                    "SELECT place FROM pool ORDER BY embedding <=> %s LIMIT 10", Vector(query)
                ),
                np.argsort(-(corpus @ query))[:10],
            ).sum()
            for query in queries
        ]
    )
    assert found.mean() >= 9.85
    assert (found < 5).mean() <= 0.0125
