"""Inverse document frequencies where several languages are searched together."""

import math
from itertools import product
from typing import Any

import psycopg
import pytest

from support.database import Database

IDF = "SELECT pgblend._language_idf(%s, %s, %s, %s, %s)"
STATISTICS = "SELECT * FROM pgblend._language_statistics(ARRAY[%s::bigint], %s, %s, %s)"


def idf(n: float, df: float) -> float:
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (([], 9, [], [], []), []),
        # One language: as ever.
        ((["german"], 50, [3], [50], [3]), [idf(50, 3)]),
        # A share of a half in its own language, drawn towards that of all.
        ((["german"], 1000, [60], [100], [50]), [idf(1000, (50 + 100 * 0.06) / 200 * 1000)]),
        # No chunk of the language.
        ((["german"], 1000, [60], [0], [0]), [idf(1000, 60)]),
        # English has one of its two lexemes, German both.
        (
            (["english", "english", "german", "german"], 20, [4] * 4, [10] * 4, [4, 0, 4, 4]),
            [
                math.sqrt(0.5) * idf(20, (4 + 20) / 110 * 20),
                math.sqrt(0.5) * idf(20, (0 + 20) / 110 * 20),
                idf(20, (4 + 20) / 110 * 20),
                idf(20, (4 + 20) / 110 * 20),
            ],
        ),
        # Nobody has any.
        ((["english", "german"], 20, [0, 0], [10, 10], [0, 0]), [idf(20, 0)] * 2),
    ],
)
def test_idf(db: Database, arguments: Any, expected: list[float]) -> None:
    assert db.value(IDF, *arguments) == pytest.approx(expected, rel=1e-12)


def fill(db: Database) -> int:
    number = int(db.value("SELECT add_collection('docs', 'simple')"))
    for key, (language, text) in enumerate(
        product(("english", "german"), ("Haus house Wein", "Haus houses", "wine"))
    ):
        db.rows(
            "SELECT ingest_document('docs', %s, '', language => %s, content_hash => 'x',"
            " chunks => jsonb_build_array(jsonb_build_object('content', %s::text),"
            " jsonb_build_object('content', 'wine')))",
            str(key),
            language,
            text,
        )
    return number


@pytest.mark.parametrize("by_document", [False, True])
def test_statistics_of_a_language(db: Database, by_document: bool) -> None:
    number = fill(db)
    arguments = (
        number,
        ["english", "english", "german", "german", "greek"],
        ["hous", "wine", "haus", "hous", "wine"],
        by_document,
    )
    chunks = ([6, 6, 6, 6, 0], [2, 4, 2, 2, 0])
    documents = ([3, 3, 3, 3, 0], [2, 3, 2, 2, 0])
    expected = documents if by_document else chunks
    by_tsvectors = STATISTICS.replace("_language", "_tsvector_language")
    assert db.row(by_tsvectors, *arguments) == expected
    assert db.row(STATISTICS, *arguments) == expected
    db.rows("SELECT lexical_seal('docs')")
    assert db.row(STATISTICS, *arguments) == expected
    db.rows("SELECT delete_document('docs', '0')")
    ((left, with_it),) = db.rows(STATISTICS, *arguments)
    assert (left[0], with_it[0]) == ((2, 1) if by_document else (4, 1))
    assert db.row(by_tsvectors, *arguments) == (left, with_it)


def test_the_query_in_a_language_finds_that_translation(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key, language, text in (
        ("en", "english", "Tesla founded the company with Westinghouse in New York"),
        ("de", "german", "Tesla gründete Firma Westinghouse New York"),
    ):
        db.rows("SELECT ingest_document('docs', %s, %s, language => %s)", key, text, language)
    search = "SELECT source_key FROM lexical_search(%s, options => %s)"
    for level in ("chunk", "document"):
        options = f'{{"level": "{level}"}}'
        assert db.column(search, "Which company did Tesla found", options) == ["en", "de"]
        assert db.column(search, "Welche Firma gründete Tesla", options) == ["de", "en"]


def test_without_numpy_the_same_scores(committed: Database) -> None:
    fill(committed)
    rows = "SELECT chunk_id, score FROM lexical_search(%s, options => %s)"
    with psycopg.connect(committed.url, autocommit=True) as connection:
        other = Database(connection)
        other.rows("DO $do$\nimport sys\nsys.modules['numpy'] = None\n$do$ LANGUAGE plpython3u")
        for query, level in product(("house wine", "Haus", "nowhere"), ("chunk", "document")):
            expected = committed.rows(rows, query, f'{{"level": "{level}"}}')
            found = other.rows(rows, query, f'{{"level": "{level}"}}')
            assert [row[0] for row in found] == [row[0] for row in expected]
            scores = [row[1] for row in expected]
            assert [row[1] for row in found] == pytest.approx(scores, rel=1e-12)
