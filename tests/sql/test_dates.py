"""since, until, recency and language: what a search makes of a document's date."""

import json
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.search.fusion import recency_decay
from support.database import Database, add_space, embed_waiting, vector_of

SEARCHES = {
    "hybrid": "hybrid_search('word', query_embedding => '{vector}', options => %s)",
    "lexical": "lexical_search('word', options => %s)",
    "vector": "vector_search('word', query_embedding => '{vector}', options => %s)",
    "fuzzy": "fuzzy_search('word', options => %s)",
}


@pytest.fixture(scope="module", autouse=True)
def library(module_connection: psycopg.Connection) -> None:
    """One document by each rule of the date; the words, and so the scores, are all the same."""
    db = Database(module_connection)
    db.rows("""SELECT set_setting('dedup', '"off"')""")
    add_space(db)
    db.rows("SELECT add_collection('c')")
    for key, modified_at, metadata in (
        ("modified", "2026-01-31 15:00Z", {"date": "1999-01-01"}),
        ("dated", None, {"date": "2026-02-10"}),
        ("ingested", None, {"date": "some day"}),
    ):
        db.rows(
            "SELECT ingest_document('c', %s, 'word', modified_at => %s, metadata => %s)",
            key,
            modified_at,
            json.dumps(metadata),
        )
    db.rows("UPDATE pgblend_data.document SET ingested_at = '2026-03-01 00:00Z'")
    embed_waiting(db)


def found(db: Database, search: str, options: dict[str, Any]) -> list[str]:
    call = SEARCHES[search].replace("{vector}", vector_of("word"))
    return db.column(f"SELECT source_key FROM {call} ORDER BY 1", json.dumps(options))


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["dated", "ingested", "modified"]),
        ({"since": None}, ["dated", "ingested", "modified"]),
        ({"since": "2026-01-31"}, ["dated", "ingested", "modified"]),
        ({"since": "2026-01-31T15:00:01Z"}, ["dated", "ingested"]),
        ({"since": "2026-02-11"}, ["ingested"]),
        ({"until": "2026-01-31"}, ["modified"]),
        ({"until": "2026-01-31T14:00"}, []),
        ({"since": "2026-02-01", "until": "2026-02-10"}, ["dated"]),
        ({"since": "2026-02-10", "until": "2026-02-01"}, []),
    ],
)
def test_since_and_until(
    db: Database, search: str, options: dict[str, Any], expected: list[str]
) -> None:
    assert found(db, search, options) == expected


def test_since_goes_with_a_filter(db: Database) -> None:
    query = "SELECT source_key FROM lexical_search('word', filter => %s, options => %s)"
    dated = '{"date": {"exists": true}}'
    assert db.column(query, dated, '{"since": "2026-03-01"}') == ["ingested"]
    assert db.column(query, '{"date": "x"}', '{"since": "2026-03-01"}') == []


@pytest.mark.parametrize("value", ["soon", "2026-02-30", "", 2026, "31.1.2026"])
@pytest.mark.parametrize("name", ["since", "until"])
def test_wrong_dates(db: Database, name: str, value: Any) -> None:
    error = db.error("SELECT * FROM lexical_search('x', options => %s)", json.dumps({name: value}))
    assert error.sqlstate == "22023"
    assert f'"{name}" is {json.dumps(value)}: expected a' in str(error.message_primary)


def test_ages(db: Database) -> None:
    ids = db.column(
        "SELECT chunk_id FROM chunks JOIN documents USING (document_id)"
        " ORDER BY array_position('{ingested,modified,dated}', source_key)"
    )
    query = "SELECT pgblend._passage_ages(%s, '2026-03-02 00:00Z')"
    assert db.value(query, [*ids, -1]) == [1, 29.375, 20, None]
    assert db.value(query, []) is None
    assert db.value("SELECT (pgblend._passage_ages(%s))[1] > 1", ids)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("0.8, 0, 30", 0.8),
        ("0.8, 30, 30", 0.4),
        ("0.8, 60, 30", 0.2),
        ("0.8, 15, 30", 0.8 * 0.5**0.5),
        ("0.8, -5, 30", 0.8),
        ("0.8, NULL, 30", 0.8),
        ("0.8, 10, NULL", 0.8),
        ("NULL, 10, 30", None),
        ("1, 'Infinity', 1", 0.5**1000),
        ("1, 1e300, 0.001", 0.5**1000),
        ("0, 1, 1", 0),
    ],
)
def test_recency_decay(db: Database, arguments: str, expected: float | None) -> None:
    assert db.value(f"SELECT recency_decay({arguments})") == expected


@pytest.mark.parametrize(
    "arguments", ["1, 1, 0", "1, 1, -1", "1, 1, 'NaN'", "-1, 1, 1", "'NaN', 1, 1"]
)
def test_wrong_decay(db: Database, arguments: str) -> None:
    error = db.error(f"SELECT recency_decay({arguments})")
    assert error.sqlstate == "22023"
    assert error.message_hint


AGE = st.none() | st.floats(-1e9, 1e9)


@given(
    st.lists(st.tuples(st.floats(0, 1), AGE), max_size=5), st.none() | st.floats(0.001, 1e6)
)  # fmt: skip
def test_decay_of_arrays(items: list[tuple[float, float | None]], half_life: float | None) -> None:
    scores, ages = [score for score, _ in items], [age for _, age in items]
    decayed = recency_decay(scores, ages, half_life)
    assert all(0 <= new <= old for new, old in zip(decayed, scores, strict=True))
    order = sorted(range(len(ages)), key=lambda i: ages[i] or 0)
    if half_life is not None:
        equal = recency_decay([1.0] * len(ages), ages, half_life)
        assert [equal[i] for i in order] == sorted(equal, reverse=True)


@pytest.mark.parametrize("search", SEARCHES)
def test_scores_halve_with_age(db: Database, search: str) -> None:
    """Ages of 0 to 2 half-lives, undone by their factors, give the scores without recency."""
    db.rows("UPDATE pgblend_data.document SET ingested_at = now()")
    db.rows(
        "UPDATE pgblend_data.document SET modified_at = now() - interval '240 hours'"
        " WHERE source_key = 'modified'"
    )
    db.rows(
        "UPDATE pgblend_data.document SET modified_at = now() + interval '5 days'"
        " WHERE source_key = 'dated'"
    )
    call = SEARCHES[search].replace("{vector}", vector_of("word"))
    query = f"SELECT source_key, score, details -> 'recency' FROM {call}"
    before = {key: (score, factor) for key, score, factor in db.rows(query, "{}")}
    after = db.rows(query, '{"recency_half_life_days": 10}')
    assert {key: factor for key, _, factor in after} == {"dated": 1, "ingested": 1, "modified": 0.5}
    assert all(factor is None for _, factor in before.values())
    assert after[-1][0] == "modified"
    for key, score, factor in after:
        assert score == pytest.approx(before[key][0] * factor)
        assert 0 <= score <= 1
    assert [score for _, score, _ in after] == sorted((row[1] for row in after), reverse=True)


def test_recency_cuts_by_min_score_and_pages(db: Database) -> None:
    options = {"recency_half_life_days": 0.001, "min_score": 0.001}
    assert found(db, "hybrid", options) == []
    page = db.column(
        "SELECT source_key FROM lexical_search('word', 1, options => %s)",
        '{"recency_half_life_days": 1000, "offset": 1}',
    )
    assert page == ["dated"]
