"""The words by websearch_to_tsquery and ts_rank_cd, as the literal profile three_arm has them."""

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from support.database import Database, add_documents

DOCUMENTS = [
    ("near", "", "Cats chase a red ball. The dog sleeps."),
    ("far", "", "Cats sleep all day, and in the evening some of them chase the red laser dot."),
    ("dogs", "", "Dogs chase cats. Dogs sleep. Dogs chase a red ball as well, and red dogs bark."),
    ("titled", "cats", "The red dog sleeps."),
    ("codes", "", "Error err-1042 in src/main/deploy.py of the read-only replica."),
    ("french", "", "Les chats rouges dorment."),
]
OPTIONS = {"lexical_method": "ts_rank_cd"}


def fill(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS[:-1])
    key, _, content = DOCUMENTS[-1]
    db.rows("SELECT ingest_document('c', %s, %s, language => 'french')", key, content)


@pytest.fixture
def library(db: Database) -> Database:
    fill(db)
    return db


def found(db: Database, query: str, **options: Any) -> list[tuple[str, float]]:
    rows = db.rows(
        "SELECT source_key, (arms #>> '{lexical,score}')::float8 FROM lexical_search("
        "%s, options => %s) WHERE arms ? 'lexical'",
        query,
        Jsonb(OPTIONS | {"strict": True} | options),
    )
    return [(key, score) for key, score in rows]


@pytest.mark.parametrize(
    "query",
    [
        "red",
        "chase red",
        '"red ball"',
        '"chase a red ball" dog',
        "cats -dogs",
        "red or bark",
        'sleep -"red ball"',
        '"sleeps laser" or evening',
        "the chase of a cat",
        'the "chasing cats',
    ],
)
def test_the_formulas_of_the_source(library: Database, query: str) -> None:
    """websearch_to_tsquery of the query, ts_rank_cd of the text, as anybody would write them."""
    expected = library.rows(
        "SELECT d.source_key, ts_rank_cd(to_tsvector('english', c.content), q)::float8 AS rank"
        " FROM chunks AS c JOIN documents AS d USING (document_id),"
        " websearch_to_tsquery('english', %s) AS q"
        " WHERE to_tsvector('english', c.content) @@ q AND d.language = 'english'"
        " ORDER BY rank DESC, d.document_id",
        query,
    )
    assert expected
    assert found(library, query, language="english") == expected


def test_each_language_by_its_own_words(library: Database) -> None:
    assert [key for key, _ in found(library, "chat rouge")] == ["french"]
    assert found(library, "chat rouge", language="english") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("err-1042", ["codes"]),
        ("read-only replica", ["codes"]),
        ("replica-read", []),  # a compound is a phrase
        ("main/deploy.py", ["codes"]),
        ("error -err-1042", []),
        ("error -replica-read", ["codes"]),
        ("the of", []),
        ("-cats", []),  # what only lacks a word is not found by words
        ("qqqq", []),
        ("red & | ! ( ball", ["near", "dogs"]),
    ],
)
def test_what_is_found(library: Database, query: str, expected: list[str]) -> None:
    assert sorted(key for key, _ in found(library, query)) == sorted(expected)
    assert library.warnings() == []


def test_filters_depth_and_scores(library: Database) -> None:
    assert len(found(library, "red", candidate_depth=1)) == 1
    query = "SELECT score FROM lexical_search('red', options => %s, filter => %s)"
    scores = library.column(query, Jsonb(OPTIONS), Jsonb({"$source_key": {"in": ["near", "dogs"]}}))
    assert len(scores) == 2
    assert scores[0] == 1 > scores[1] > 0


def test_a_reader_finds_the_same(committed: Database, connect_as: Any) -> None:
    fill(committed)
    committed.rows("SELECT grant_collection('c', 'pgblend_reader', 'read')")
    reader: psycopg.Connection = connect_as("pgblend_reader")
    assert found(Database(reader), "chase red") == found(committed, "chase red") != []


def test_three_arm_searches_by_it(library: Database) -> None:
    query = (
        "SELECT source_key, (arms #>> '{lexical,score}')::float8 FROM hybrid_search(%s,"
        " profile => %s) AS r WHERE r.arms ? 'lexical' ORDER BY 2 DESC"
    )
    assert library.rows(query, "chase red ball", "three_arm") == found(library, "chase red ball")
    assert len(library.rows(query, "chase red ball", "balanced")) == 4
