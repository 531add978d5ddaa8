"""The fuzzy arm by word_similarity, as the literal profile three_arm has it."""

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from support.database import Database, add_documents
from support.word_lists import add_word_lists

DOCUMENTS = [
    ("deploy", "", "How to deploy to production: run make deploy and wait."),
    ("wine", "", "The production of wine in France."),
    ("sea", "", "Ships sail the sea when the wind is fair."),
]
OPTIONS = {"fuzzy": "on", "fuzzy_method": "word_similarity"}


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    add_word_lists(db.connection)
    return db


def found(db: Database, query: str, **more: Any) -> list[tuple[str, float]]:
    rows = db.rows(
        "SELECT d.source_key, u.score FROM word_list('fuzzy', %s, (SELECT array_agg(c.id) FROM"
        " collections AS c), %s, pgblend._search_settings(%s, NULL, '{}')) AS a,"
        " unnest(a.document_ids, a.scores) WITH ORDINALITY AS u (document_id, score, rank)"
        " JOIN documents AS d USING (document_id) ORDER BY u.rank",
        query,
        None if "filter" not in more else Jsonb(more.pop("filter")),
        Jsonb({**OPTIONS, **more}),
    )
    return [(key, score) for key, score in rows]


def test_words_of_a_query_against_each_content(library: Database) -> None:
    likeness = library.rows(
        "SELECT d.source_key, word_similarity('prodution', c.content)::float8 AS likeness"
        " FROM chunks AS c JOIN documents AS d USING (document_id)"
        " WHERE word_similarity('prodution', c.content) >= 0.3 ORDER BY 2 DESC, d.document_id"
    )
    assert [key for key, _ in likeness] == ["deploy", "wine"]  # misspelt, ties by document
    assert found(library, "prodution") == likeness
    assert found(library, "deploy")[0] == ("deploy", 1.0)
    assert found(library, "qqqq") == []


def test_operators_settings_and_filters(library: Database) -> None:
    assert found(library, "prodution -wine") == [("deploy", found(library, "prodution")[0][1])]
    assert len(found(library, "prodution", candidate_depth=1)) == 1
    assert found(library, "prodution", language="german") == []
    assert found(library, "prodution", filter={"author": "nobody"}) == []


def test_three_arm_searches_by_it(library: Database) -> None:
    query = "SELECT source_key, arms -> 'fuzzy' FROM hybrid_search('prodution', profile => %s)"
    options = " AS r WHERE r.arms ? 'fuzzy'"
    rows = library.rows(query + options, "three_arm")
    assert [key for key, _ in rows] == ["deploy", "wine"]
    assert {arm["method"] for _, arm in rows} == {"word_similarity"}
    (corrected, *_) = library.rows(query + options, "balanced")
    assert corrected[1]["method"] == "vocabulary"
