"""Inverse document frequencies where several languages are searched together."""

import math
from itertools import product
from typing import Any

import pytest

from pgblend.plpy.base.ports import Counts
from pgblend.plpy.lexical.terms import language_idf, query_idf
from support.database import Database
from support.word_lists import add_word_lists

STATISTICS = """
    SELECT language_n, language_df FROM lexical_counts(ARRAY[%s::bigint], %s, %s, %s)
"""


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
def test_idf(arguments: Any, expected: list[float]) -> None:
    configs, n, *counted = arguments
    lexemes = [f"word{place}" for place in range(len(configs))]
    found = language_idf(configs, lexemes, Counts(n, n, *counted))
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_name_says_nothing_of_the_language_and_is_as_rare_as_can_be() -> None:
    counts = Counts(20, 90, [4, 2, 3], [10] * 3, [4, 1, 0])
    found = query_idf(["english", "english", "german"], ["fox", "==fox", "==fox"], counts)
    assert found[1:] == [idf(20, 1), 0.0]
    assert found[0] == idf(20, (4 + 20) / 110 * 20)  # all of its language's one word


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
    add_word_lists(db.connection)
    arguments = (
        number,
        ["english", "english", "german", "german", "greek"],
        ["hous", "wine", "haus", "hous", "wine"],
        by_document,
    )
    chunks = ([6, 6, 6, 6, 0], [2, 4, 2, 2, 0])
    documents = ([3, 3, 3, 3, 0], [2, 3, 2, 2, 0])
    expected = documents if by_document else chunks
    assert db.row(STATISTICS, *arguments) == expected
    db.rows("SELECT lexical_seal('docs')")
    assert db.row(STATISTICS, *arguments) == expected
    db.rows("SELECT delete_document('docs', '0')")
    ((left, with_it),) = db.rows(STATISTICS, *arguments)
    assert (left[0], with_it[0]) == ((2, 1) if by_document else (4, 1))


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
