"""search_diagnose, run in this process on one node and over shards, against the deployed one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pgblend.plpy.search.diagnosis import diagnosis
from pgblend.plpy.search.diagnosis_facts import Call
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.shards.relay import over_shards
from support.client_database import ClientDatabase, CoordinatorDatabase, coordinator_here
from support.shards import Scale

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
TEXTS = ("red wine", "red fox, red wine", "the sea", "wines of the sea", "red wine", "a cellar")
# Query, document, further arguments, options, and what is said of it.
CASES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], str | None]] = {
    "found": ("red wine", "k0", {}, {}, None),
    "not there": ("red wine", "nothing", {}, {}, "document"),
    "another collection": ("red wine", "k0", {"collections": ["briefe"]}, {}, "collection"),
    "a filter": ("red wine", "k0", {"filter": '{"$title": "x"}'}, {}, "filter"),
    "hidden": ("red wine", "k1", {}, {"hidden": [{"query": "*", "documents": ["k1"]}]}, "rules"),
    "operators": ('"red fox" -sea', "k0", {}, {}, "operators"),
    "beyond the page": ("red wine", "k5", {"result_limit": 1}, {}, "page"),
    "beyond the depth": ("red wine", "k5", {}, {"candidate_depth": 1}, "candidates"),
    "words alone": ("red wyne", "k1", {}, {"fuzzy": "on", "weights": {"vector": 0}}, None),
    "no words": (
        "red wine",
        "k2",
        {"query_embedding": None},
        {"weights": {"vector": 0}},
        "candidates",
    ),
    "vectors alone": ("red wine", "k2", {}, {"weights": {"lexical": 0}}, None),
    "a copy": ("red wine", "k4", {}, {}, "dedup"),
}


@pytest.fixture(scope="module")
def stored(two_shards: Scale) -> Iterator[Scale]:
    two_shards.clear()
    for place, text in enumerate(TEXTS):
        two_shards.add("books", f"k{place}", text, "Wine" if place % 2 else "")
    two_shards.add("briefe", "haus", "roter Wein")
    two_shards.embed("s", 8)
    yield two_shards
    two_shards.clear()


@pytest.fixture(scope="module")
def databases(stored: Scale) -> Iterator[tuple[ClientDatabase, CoordinatorDatabase]]:
    """The one node and the coordinator, in this process."""
    one = ClientDatabase(stored.one.url)
    with one.connection, coordinator_here(stored) as coordinator:
        yield one, coordinator


def called(name: str) -> Call:
    query, document, more, options, _ = CASES[name]
    given: dict[str, Any] = {"result_limit": 10, "collections": None, "filter": None,
                             "query_embedding": VECTOR, **more}  # fmt: skip
    told = json.dumps(options | {"vector_scan": "exact"})
    return Call(query=query, document=document, profile=None, options=told, **given)


def told(text: str) -> Any:
    return {name: value for name, value in json.loads(text).items() if name != "document"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_it_tells_what_the_deployed_one_tells(
    stored: Scale, databases: tuple[ClientDatabase, CoordinatorDatabase], name: str
) -> None:
    call = called(name)
    arguments = "query", "document", "result_limit", "collections", "filter", "profile", "options"
    given = ", ".join(f"{one} => %s" for one in (*arguments, "query_embedding"))
    values = [getattr(call, one) for one in (*arguments, "query_embedding")]
    deployed = stored.one.value(f"SELECT search_diagnose({given})::text", *values)
    one, coordinator = databases
    here = told(diagnosis(one, call, StoreNode(one)))
    assert here == told(deployed)
    shards = over_shards(coordinator, lambda store: diagnosis(coordinator, call, store))
    assert told(shards) == here
    assert here["lost_at"] == CASES[name][4]
