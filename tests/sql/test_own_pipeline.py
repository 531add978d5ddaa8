"""The pipeline that docs/pipelines.md shows, word for word."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from support.database import SPACE, Database, add_documents, add_space, embed_waiting

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = (ROOT / "tests/support/own_pipeline.sql").read_text(encoding="utf-8")
DOCUMENTS = [
    ("france", "", "The production of wine in France: red wine, white wine and more wine."),
    ("copy", "", "The production of wine in France: red wine, white wine, and more wine!"),
    ("italy", "", "Wine production of Italy is the largest in the world."),
    ("sea", "", "Ships sail the sea when the wind is fair."),
]


def test_the_documentation_shows_it() -> None:
    assert PIPELINE.strip() in (ROOT / "docs/pipelines.md").read_text(encoding="utf-8")


@pytest.fixture
def wine(gateway_connection: psycopg.Connection) -> Database:
    db = Database(gateway_connection)
    add_space(db)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    embed_waiting(db)
    db.rows("SELECT embed_text(ARRAY['x'], %s, 60000)", SPACE)  # a first answer takes long
    return db


def test_it_runs_as_one_select(wine: Database) -> None:
    rows = wine.rows(PIPELINE)
    keys = wine.column(
        "SELECT source_key FROM unnest(%s::bigint[]) WITH ORDINALITY AS u(id, place)"
        " JOIN documents AS d ON d.document_id = u.id ORDER BY place",
        [row[3] for row in rows],
    )
    assert [row[0] for row in rows] == [1, 2, 3]
    assert sorted(keys) == ["france", "italy", "sea"] or sorted(keys) == ["copy", "italy", "sea"]
    assert all(0 <= score <= 1 and 0 < rrf <= 1 for _, score, rrf, *_ in rows)
    assert rows == wine.rows(PIPELINE)
    assert keys[-1] == "sea"


def test_a_reader_may_run_it(wine: Database, connect_as: Callable[..., psycopg.Connection]) -> None:
    reader = Database(connect_as("pgblend_reader"))
    wine.rows("SELECT grant_collection('c', 'pgblend_reader')")
    assert reader.rows(PIPELINE) == wine.rows(PIPELINE)
