"""Routines and views that shards are asked for as a whole, merged in this process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.shards.merged_answers import ROUTINES, VIEWS
from pgblend.plpy.shards.relay import merged_by, relayed, viewed
from pgblend.plpy.shards.shard_answers import Shard
from support.client_database import ClientDatabase, CoordinatorDatabase, coordinator_here
from support.shards import Scale

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
FACTS = """
    SELECT json_build_object(
        'documents', (SELECT array_agg(d.document_id ORDER BY 1) FROM documents AS d),
        'chunks', (SELECT array_agg(c.chunk_id ORDER BY 1) FROM chunks AS c),
        'nodes', (SELECT array_agg(d.document_id * 4 ORDER BY 1) FROM documents AS d),
        'passages', (SELECT array_agg(c.chunk_id * 4 + 1 ORDER BY 1) FROM chunks AS c),
        'collections', (SELECT array_agg(c.id ORDER BY 1) FROM pgblend_data.collection AS c
            WHERE c.name IN ('books', 'briefe')),
        'books', (SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = 'books'))
"""
# A text that is a key of the facts stands for its value; first: for the first of several.
CALLS: dict[str, list[Any]] = {
    "_chunks_around": ["chunks", {"before": 20, "after": 20}],
    "_collection_sizes": ["collections"],
    "_document_count": ["books"],
    "_document_facts": ["first documents"],
    "_document_holds": ["first documents", '"red wine" -sea', "collections"],
    "_document_id": ["collections", "k1"],
    "_document_passes": ["first documents", {"$title": "Wine"}],
    "_document_words": ["first documents", "red sea", "red sea", ["english", "german"]],
    "_documents_called": ["k1"],
    "_entity_passages": ["nodes"],
    "_facet_values": ["chunks", ["$title", "by"], None, "collections"],
    "_filter_count": [{"by": "hand"}, "collections"],
    "_has_edges": [],
    "_known_documents": ["books", "documents", ["k1", "nothing"]],
    "_metadata_counts": ["collections"],
    "_neighbours": ["nodes", "both", None, 5],
    "_node_facts": ["nodes"],
    "_node_passages": ["passages", "collections", None, None, VECTOR, "s"],
    "_passage_document": ["first chunks"],
    "_passage_rows": ["chunks"],
    "_sampled_chunks": ["books", 3],
    "_sampled_vectors": ["collections", 4, "s"],
    "_summary_counts": ["nobody"],
    "_used_languages": ["collections"],
    "_waiting_vectors": ["first documents", "s"],
    "chunk_embeddings": ["chunks", "s"],
    "count_vectors": ["s"],
    "lexical_status": [None],
}
# Of other servers and other times, or of how many files there are.
OTHER = {"table_bytes", "index_bytes", "bytes", "segments", "sealed_at", "created_at", "status",
         "ingested_at", "updated_at", "metadata_at"}  # fmt: skip


@pytest.fixture(scope="module")
def stored(two_shards: Scale) -> Iterator[Scale]:
    """Documents of two collections on both shards, joined by links and an edge."""
    scale = two_shards
    scale.clear()
    for place in range(8):
        title = "Wine" if place % 2 else ""
        scale.add("books", f"k{place}", f"red wine of {'sea ' * place}{place}", title)
        scale.add("briefe", f"k{place}", f"rotes Haus {place}", title)
    scale.embed("s", 8)
    for database in (scale.one, scale.coordinator):
        for place in range(8):
            links = json.dumps([{"target": f"k{(place + 1) % 8}", "weight": place + 1}])
            database.rows("SELECT add_links('books', %s, %s)", f"k{place}", links)
        database.rows("""SELECT set_metadata(d.document_id, '{"by": "hand"}') FROM documents AS d
            WHERE d.source_key IN ('k2', 'k3')""")
        database.rows("SELECT resolve_links('books')")
    yield scale
    scale.clear()
    while scale.coordinator.value("SELECT pgblend._settle_graph()"):
        pass


@pytest.fixture(scope="module")
def facts(stored: Scale) -> dict[str, Any]:
    found: dict[str, Any] = stored.one.value(FACTS)
    assert len(found["chunks"]) == 16
    return found


@pytest.fixture(scope="module")
def database(stored: Scale) -> Iterator[CoordinatorDatabase]:
    with coordinator_here(stored) as coordinator:
        yield coordinator


@pytest.fixture(scope="module")
def one(stored: Scale) -> Iterator[Shard]:
    """The one node, which answers what shards are asked."""
    database = ClientDatabase(stored.one.url)
    with database.connection:
        yield Shard(database, 60_000)


def given(facts: dict[str, Any], value: Any) -> Any:
    if isinstance(value, str) and value.startswith("first "):
        return facts[value.removeprefix("first ")][0]
    return facts.get(value, value) if isinstance(value, str) else value


def plain(value: Any) -> Any:
    """Return an answer without what differs between databases, its rows in one order."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in OTHER}
    if isinstance(value, list):
        return sorted(map(plain, value), key=json.dumps)
    return value


def test_every_routine_is_asked_for() -> None:
    assert ROUTINES.keys() - CALLS.keys() == {"_any_passage"}  # any one passage of each shard


@pytest.mark.parametrize("name", CALLS)
def test_a_routine_gives_what_one_node_gives(
    stored: Scale, database: CoordinatorDatabase, one: Shard, facts: dict[str, Any], name: str
) -> None:
    arguments = [given(facts, value) for value in CALLS[name]]
    found = json.loads(relayed(database, name, arguments))
    of_one = one.routine(name, arguments)
    if not isinstance(found, list) or (of_one and isinstance(of_one[0], list)):
        (of_one,) = of_one
    assert plain(found) == plain(of_one)
    deployed = "SELECT pgblend._relayed(%s, %s)"
    assert plain(stored.coordinator.value(deployed, name, json.dumps(arguments))) == plain(found)
    if name in {"_neighbours", "_sampled_chunks", "_sampled_vectors"}:
        assert found == of_one  # in order, the first of all shards
        assert len(found) == arguments[3 if name == "_neighbours" else 1]


def test_any_passage_of_each_shard(database: CoordinatorDatabase, facts: dict[str, Any]) -> None:
    found = json.loads(relayed(database, "_any_passage", []))
    assert {row["chunk_id"] for row in found} < {*facts["chunks"]}
    assert len(found) == 2


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shows_what_one_node_shows(
    stored: Scale, database: CoordinatorDatabase, one: Shard, name: str
) -> None:
    found = json.loads(viewed(database, name))
    assert plain(found) == plain(one.view(name))
    assert plain(stored.coordinator.value("SELECT pgblend._view_rows(%s)", name)) == plain(found)
    if name == "links":
        assert {row["target_key"] for row in found} == {f"k{place}" for place in range(8)}


def test_a_routine_that_is_none_is_refused(database: CoordinatorDatabase) -> None:
    with pytest.raises(KeyError):
        relayed(database, "delete_document", [1])
    with pytest.raises(KeyError):
        viewed(database, "settings")


def test_an_error_of_the_shards_is_raised(database: CoordinatorDatabase) -> None:
    with pytest.raises(ProgramError, match="nowhere"):
        relayed(database, "lexical_status", ["nowhere"])


def test_one_row_of_several() -> None:
    rows: list[dict[str, Any]] = [
        {"name": "a", "pending": 1, "oldest_at": "2", "sealed_at": "3", "status": "ready",
         "last_error": "x", "kind": None},
        {"name": "b", "pending": 5, "oldest_at": "9", "sealed_at": None, "status": "empty",
         "last_error": None, "kind": "k"},
        {"name": "a", "pending": 2, "oldest_at": "1", "sealed_at": "4", "status": "error",
         "last_error": "y", "kind": "k"},
    ]  # fmt: skip
    merged = {"name": "a", "pending": 3, "oldest_at": "1", "sealed_at": "4", "status": "error",
              "last_error": "x, y", "kind": "k"}  # fmt: skip
    assert merged_by("name", rows) == [merged, rows[1]]
