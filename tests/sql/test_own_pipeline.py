"""The pipeline that docs/pipelines.md shows, word for word but for its question."""

import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from support.database import SPACE, Database, add_documents, add_space, embed_waiting

PAGE = (Path(__file__).resolve().parents[2] / "docs/pipelines.md").read_text(encoding="utf-8")
(SHOWN,) = re.findall(r"^```sql\n(WITH .*?)```", PAGE, re.MULTILINE | re.DOTALL)
PIPELINE = SHOWN.replace("undo a bad release", "wine production")
DOCUMENTS = [
    ("france", "", "The production of wine in France: red wine, white wine and more wine."),
    ("copy", "", "The production of wine in France: red wine, white wine, and more wine!"),
    ("italy", "", "Wine production of Italy is the largest in the world."),
    ("sea", "", "Ships sail the sea when the wind is fair."),
]


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
    assert SHOWN != PIPELINE
    assert [row[0] for row in rows] == [1, 2, 3]
    assert all(0 <= score <= 1 for _, score, _ in rows)
    starts = [content[:9] for *_, content in rows]
    assert sorted(starts) == ["Ships sai", "The produ", "Wine prod"]  # of the copies one
    assert starts[-1] == "Ships sai"
    assert rows == wine.rows(PIPELINE)


def test_a_reader_may_run_it(wine: Database, connect_as: Callable[..., psycopg.Connection]) -> None:
    reader = Database(connect_as("pgblend_reader"))
    wine.rows("SELECT grant_collection('c', 'pgblend_reader')")
    assert reader.rows(PIPELINE) == wine.rows(PIPELINE)
