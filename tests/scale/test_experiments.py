"""An experiment on a coordinator of shards shows what it shows on one node."""

import json
from time import time
from typing import Any

import pytest

from pgblend.cli.base.places import push_changes
from pgblend.plpy.search.query import Request
from pgblend.plpy.shards.relay import search_shards
from support.client_database import CoordinatorDatabase, coordinator_here
from support.database import Database
from support.shards import Scale

QUERY, VECTOR = "red wine", "[1,-2,3,-4,5,-6,7,-8]"
OPTIONS = {"vector_scan": "exact", "mode": "fast", "fuzzy": "off"}
BEGIN = """
    SELECT blend.set_setting('log_address', '"localhost:9"');
    SELECT blend.set_profile('words', settings => '{"weights": {"vector": 0}}');
    SELECT blend.set_profile('vectors', settings => '{"weights": {"lexical": 0}}');
    SELECT blend.start_experiment('words', 'vectors')
"""
END = """
    SELECT blend.stop_experiment('words');
    SELECT blend.drop_profile(p) FROM unnest('{words,vectors}'::text[]) AS p;
    SELECT blend.reset_setting('log_address')
"""


def shown(database: Database, **options: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a search, each with its score, profiles and cursor."""
    return database.rows(
        "SELECT chunk_id, score, details -> 'profiles', details -> 'cursor'"
        " FROM hybrid_search(%s, 20, profile => 'words', options => %s, query_embedding => %s)"
        " ORDER BY rank",
        QUERY,
        json.dumps(OPTIONS | options),
        VECTOR,
    )


def here(database: CoordinatorDatabase, **options: Any) -> list[tuple[Any, ...]]:
    """Return the same rows of a search in this process."""
    asked = json.dumps(OPTIONS | options)
    request = Request(QUERY, 20, None, None, "words", asked, VECTOR, None, "none", time())
    rows = search_shards(database, request)["results"] or ()
    details = [json.loads(row.details) for row in rows]
    return [
        (row.chunk_id, row.score, told["profiles"], told["cursor"])
        for row, told in zip(rows, details, strict=True)
    ]


@pytest.mark.slow
def test_shards_are_one_node(two_shards: Scale) -> None:
    two_shards.clear()
    for place in range(12):
        two_shards.add("books", f"k{place}", f"red wine of {'sea ' * place}{place}")
    two_shards.embed("s", 8)
    both = two_shards.one, two_shards.coordinator
    for database in both:
        database.rows(BEGIN)
    push_changes(two_shards.coordinator.connection)
    try:
        expected, found = map(shown, both)
        assert found == expected
        assert {tuple(row[2]) for row in expected} >= {("words",), ("vectors",)}
        rest = shown(two_shards.coordinator, after=expected[4][3])
        assert [row[0] for row in rest] == [row[0] for row in expected[5:]]
        with coordinator_here(two_shards) as coordinator:
            assert here(coordinator) == expected
            assert here(coordinator, after=expected[4][3]) == rest
        two_shards.coordinator.rows("SELECT click(gen_random_uuid(), %s)", expected[0][0])
        status = "SELECT searches FROM experiment_status('words')"
        assert two_shards.coordinator.value(status) == 0
    finally:
        for database in both:
            database.rows(END)
        push_changes(two_shards.coordinator.connection)
        two_shards.clear()
