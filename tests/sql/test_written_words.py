"""A judged set of what people type and store: each query has the one passage that it means.

Its words are in that passage, near misses stand beside it: by words the passage is the first.
"""

import json
from pathlib import Path

import psycopg
import pytest

from support.database import Database

SET = json.loads((Path(__file__).parent / "data" / "written_words.json").read_text())


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    ingest = "SELECT ingest_document('c', %s, %s, language => %s)"
    for key, passage in SET["passages"].items():
        db.rows(ingest, key, passage["text"], passage["language"])
    return db


Ranked = dict[tuple[str, str], tuple[str, list[str]]]  # the best keys, by kind and query


def ranked(db: Database, search: str, options: str) -> Ranked:
    """Return the passage that is meant, and the ten that came."""
    statement = f"SELECT source_key FROM {search}(%s, 10, options => %s)"
    return {
        (kind, query): (key, db.column(statement, query, options))
        for kind, queries in SET["kinds"].items()
        for query, key in queries
    }


def test_the_set_is_large_enough() -> None:
    assert sum(map(len, SET["kinds"].values())) >= 120
    assert len(SET["kinds"]) >= 12
    assert {passage["language"] for passage in SET["passages"].values()} >= {
        "english", "french", "german", "greek", "russian", "simple", "spanish", "turkish"
    }  # fmt: skip


def test_by_words_what_is_meant_comes_first(library: Database) -> None:
    found = ranked(library, "lexical_search", '{"strict": true}')
    missed = {asked: came for asked, came in found.items() if came[1][:1] != [came[0]]}
    assert not missed, missed


def test_so_it_does_by_the_default_profile(library: Database) -> None:
    found = ranked(library, "hybrid_search", "{}")
    missed = {asked: came for asked, came in found.items() if came[1][:1] != [came[0]]}
    assert not missed, missed
