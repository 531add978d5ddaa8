"""What the search log is told is what was noted, whatever the report says."""

import hashlib
from typing import Any

import pytest

from pgblend.plpy.search.datagram import MOST_CHARACTERS, Noted, searched_facts

NOTED = {"query": "a fox", "collections": ["c"], "ms": 5.0, "stages": [{"name": "page", "ms": 4}]}


def facts(report: dict[str, Any], log_queries: str = "on", **noted: Any) -> dict[str, Any]:
    return searched_facts(report, Noted("ann", **(NOTED | noted)), log_queries)


@pytest.mark.parametrize("trace", [{"top_k": 1}, "none", None])
def test_times_are_those_that_were_noted(trace: Any) -> None:
    found = facts({"ms": 1e12, "stages": [], "trace": trace})
    assert (found["ms"], found["stages"]) == (5.0, NOTED["stages"])
    more = trace if isinstance(trace, dict) else {}
    assert found["trace"] == {**more, "time_to_first_result_ms": 5.0}


def test_the_query_is_as_log_queries_says() -> None:
    report = {"query": "forged", "collections": ["other"]}
    sha = hashlib.sha256(b"a fox").hexdigest()
    for log_queries, told in (("on", "a fox"), ("hash", sha), ("off", None)):
        found = facts(report, log_queries)
        assert (found["query"], found["collections"]) == (told, ["c"])
    assert len(facts(report, query="x" * 5000)["query"]) == MOST_CHARACTERS
