"""Dates on shards: recency, since, until and $date rank as on one node."""

import json
from typing import Any

import pytest

from support.database import Database
from support.random_searches import SEARCHES, VECTOR
from support.shards import Scale, embed

# Every kind of date: the file's time, the text's own, that of a passage, none.
_STORE = """
    SELECT ingest_document((ARRAY['books', 'briefe', 'rest'])[1 + n % 3], 'k' || n,
        CASE WHEN n % 4 < 3 THEN body END,
        modified_at => CASE n % 4 WHEN 0 THEN at END,
        metadata => CASE n % 4 WHEN 1 THEN jsonb_build_object('date', at::date) ELSE '{}' END,
        content_hash => CASE n % 4 WHEN 3 THEN 'h' || n END,
        chunks => CASE n % 4 WHEN 3 THEN (
            SELECT jsonb_agg(jsonb_build_object('content', body || ' ' || i,
                'metadata', jsonb_build_object('date', at + i * interval '90 days')))
            FROM generate_series(0, 2) AS i) END)
    FROM generate_series(1, 48) AS n
    CROSS JOIN LATERAL (
        SELECT timestamptz '2026-11-01 06:00Z' - n * n * interval '13 hours',
            'wine ' || repeat('sea ', n % 5) || repeat('fox ', n % 3)
    ) AS t (at, body)
"""
OPTIONS: list[dict[str, Any]] = [
    {"recency_half_life_days": days, **more}
    for days in (2, 30, 400)
    for more in ({}, {"since": "2025-06-01"}, {"until": "2026-03-01", "level": "document"})
]


def ranked(db: Database, search: str, options: dict[str, Any]) -> tuple[list[Any], list[float]]:
    """Return passages and their scores."""
    more = f", {SEARCHES[search]}" if SEARCHES[search] else ""
    statement = (
        "SELECT source_key, chunk_id, score"
        f" FROM {search}(%(query)s, 40, options => %(options)s{more})"
    )
    options = {"vector_scan": "exact", "candidate_depth": 200, **options}
    values = {"query": "wine sea", "vector": VECTOR, "options": json.dumps(options)}
    rows = db.connection.execute(statement.encode(), values).fetchall()
    return [row[:2] for row in rows], [row[2] for row in rows]


@pytest.mark.slow
def test_dates_rank_filter_and_count_as_on_one_node(fresh_shards: Scale) -> None:
    scale = fresh_shards
    scale.one.rows(_STORE)
    embed(scale.one, "s", 8)
    scale.spread()
    for search in ("hybrid_search", "lexical_search", "vector_search"):
        plain, _ = ranked(scale.one, search, {})
        for options in OPTIONS:
            expected, scores = ranked(scale.one, search, options)
            assert len(expected) > 3
            assert expected != plain
            found, of_shards = ranked(scale.coordinator, search, options)
            assert found == expected, (search, options)
            assert of_shards == pytest.approx(scores, rel=1e-3)  # the clock goes on meanwhile
    for statement in (
        "SELECT value, count FROM search_facets('wine', ARRAY['$date'],"
        """ buckets => '{"$date": "month"}') ORDER BY 1""",
        "SELECT source_key, chunk_id FROM lexical_search('wine', 40, filter =>"
        """ '{"$date": {"gte": "2026-01-01", "lt": "2026-09-01"}}') ORDER BY 1, 2""",
    ):
        counted = scale.one.rows(statement)
        assert len(counted) > 3
        assert scale.coordinator.rows(statement) == counted
