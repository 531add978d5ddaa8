"""What the search log is told is what was noted, whatever the report says."""

import hashlib
from typing import Any

import pytest

from pgblend.plpy.search.log import MOST_CHARACTERS, searched_facts

NOTED = {"query": "a fox", "collections": ["c"], "ms": 5.0, "stages": [{"name": "page", "ms": 4}]}


def facts(report: dict[str, Any], log_queries: str = "on", **noted: Any) -> dict[str, Any]:
    return searched_facts(report, NOTED | noted, 2.0, 10.0, log_queries)


@pytest.mark.parametrize(
    ("given", "told"), [(7, 7), (1, 5), (100, 10), (-1, 5), (None, 5), ("long", 5), ([9], 5)]
)
def test_a_search_takes_no_less_than_its_ranking_nor_more_than_its_statement(
    given: Any, told: float
) -> None:
    found = facts({"ms": given, "trace": {"top_k": 1}})
    assert found["ms"] == told
    assert found["trace"] == {"top_k": 1, "time_to_first_result_ms": told}


@pytest.mark.parametrize(("given", "told"), [(1, 1), (100, 2), (-3, 0), (None, 0)])
def test_a_fetch_takes_no_more_than_the_time_since(given: Any, told: float) -> None:
    found = facts({"fetch_ms": given, "rows": 3, "trace": "none"})
    assert found["stages"] == [*NOTED["stages"], {"name": "fetch", "ms": told, "rows": 3}]
    assert found["trace"] == {"time_to_first_result_ms": 5}


def test_the_query_is_as_log_queries_says() -> None:
    report = {"query": "forged", "collections": ["other"]}
    sha = hashlib.sha256(b"a fox").hexdigest()
    for log_queries, told in (("on", "a fox"), ("hash", sha), ("off", None)):
        found = facts(report, log_queries)
        assert (found["query"], found["collections"]) == (told, ["c"])
    assert len(facts(report, query="x" * 5000)["query"]) == MOST_CHARACTERS
