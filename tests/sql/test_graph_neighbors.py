"""Walks over the graph."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.graph.walk import breadth_first
from support.database import Database

# a -> b -> c -> a is a circle; c -> d; e -> a
GRAPH = [("a", "b", 1), ("b", "c", 1), ("c", "a", 1), ("c", "d", 5), ("e", "a", 2)]


@pytest.fixture
def graph(db: Database) -> Database:
    db.rows("SELECT blend.add_collection('c')")
    for key in "abcdef":
        db.rows("SELECT ingest_document('c', %s, %s)", key, f"text of {key}")
    for source, target, weight in GRAPH:
        db.rows(
            "SELECT add_edge(graph_node('c', %s), graph_node('c', %s), %s, %s)",
            source,
            target,
            "next" if weight == 5 else "link",
            weight,
        )
    return db


def near(db: Database, key: str, depth: int, *more: Any) -> list[tuple[Any, ...]]:
    marks = ", %s" * len(more)
    return db.rows(
        "SELECT source_key, distance, is_reverse FROM"
        f" graph_neighbors(graph_node('c', %s), %s{marks})",
        key,
        depth,
        *more,
    )


def test_each_node_once_nearest_and_heaviest_first(graph: Database) -> None:
    assert near(graph, "a", 1) == [("e", 1, True), ("b", 1, False), ("c", 1, True)]
    assert near(graph, "a", 3) == [
        ("e", 1, True),
        ("b", 1, False),
        ("c", 1, True),
        ("d", 2, False),
    ]
    assert near(graph, "a", 0) == near(graph, "f", 3) == []


def test_directions_and_types(graph: Database) -> None:
    assert near(graph, "a", 10, "out") == [("b", 1, False), ("c", 2, False), ("d", 3, False)]
    assert near(graph, "a", 10, "in") == [("e", 1, True), ("c", 1, True), ("b", 2, True)]
    assert near(graph, "c", 2, "out", ["next"]) == [("d", 1, False)]
    assert near(graph, "c", 2, "out", []) == []


def test_a_limit_keeps_the_heaviest_and_warns(graph: Database) -> None:
    assert near(graph, "c", 3, "both", None, 2) == [("d", 1, False), ("a", 1, False)]
    assert graph.warnings() == [
        "there are more than 2 nodes: those of the heaviest edges are shown"
    ]
    assert len(near(graph, "c", 3, "both", None, 4)) == 4
    assert graph.warnings() == []


def test_all_that_is_told_of_a_neighbour(graph: Database) -> None:
    graph.rows("SELECT ingest_document('c', 'a', 'new', title => 'The a')")
    node = graph.value("SELECT graph_node('c', 'e')")
    a = graph.value("SELECT graph_node('c', 'a')")
    assert graph.rows("SELECT * FROM graph_neighbors(%s)", node) == [
        (a, 1, node, "link", False, 2.0, "document", int(a[9:]), None, None, "c", "a", "The a")
    ]


def test_passages_of_documents_where_they_are_asked_for(graph: Database) -> None:
    graph.rows(
        "SELECT ingest_document('c', 'long', '', content_hash => 'x', chunks => jsonb_build_array("
        '\'{"content": "one", "heading": "H"}\'::jsonb, \'{"content": "two"}\'::jsonb))'
    )
    long = graph.value("SELECT graph_node('c', 'long')")
    first, second = graph.column(
        "SELECT 'chunk:' || id FROM pgblend_data.chunk WHERE content IN ('one', 'two') ORDER BY id"
    )
    ask = "SELECT neighbour, is_reverse, kind, title FROM graph_neighbors(%s, 2, %s, %s)"
    assert graph.rows(ask, first, "both", None) == []
    assert graph.rows(ask, first, "both", ["next"]) == [(second, False, "chunk", "long: passage 2")]
    assert graph.rows(ask, second, "both", ["next"]) == [(first, True, "chunk", "long: H")]
    assert graph.rows(ask, second, "out", ["next"]) == []
    assert graph.rows(ask, first, "out", ["part_of"]) == [(long, False, "document", "long")]
    assert graph.rows(ask, first, "both", ["part_of"]) == [
        (long, False, "document", "long"),
        (second, True, "chunk", "long: passage 2"),
    ]


@pytest.mark.parametrize(
    ("arguments", "state", "problem"),
    [
        ("'document:0'", "42704", "there is no node document:0"),
        ("'odd'", "22023", 'node is "odd": expected document:ID'),
        ("'document:1', -1", "22023", "depth is -1: expected a number from 0 to 10"),
        ("'document:1', NULL", "22023", "depth is NULL"),
        ("'document:1', 11", "22023", "depth is 11"),
        ("'document:1', 1, 'up'", "22023", 'direction is "up": expected both, in or out'),
        ("'document:1', 1, 'in', '{NULL}'", "22023", "edge_types has a NULL"),
        ("'document:1', 1, 'in', NULL, 0", "22023", "node_limit is 0"),
    ],
)
def test_wrong_arguments(db: Database, arguments: str, state: str, problem: str) -> None:
    error = db.error(f"SELECT * FROM graph_neighbors({arguments})")
    assert (error.sqlstate, problem in str(error.message_primary)) == (state, True)
    assert error.message_hint


def test_no_node_and_no_document(db: Database) -> None:
    db.rows("SELECT blend.add_collection('c')")
    assert db.rows("SELECT * FROM graph_neighbors(NULL)") == []
    assert db.error("SELECT graph_node('c', 'x')").sqlstate == "42704"
    assert db.error("SELECT graph_node('c', NULL)").sqlstate == "42704"


edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


def distances(pairs: list[tuple[int, int]], seed: int) -> dict[int, int]:
    """The distances by definition: Bellman and Ford's relaxation, until nothing changes."""
    found = {seed: 0}
    for _ in range(10):
        for source, target in pairs:
            if source in found:
                found[target] = min(found.get(target, 99), found[source] + 1)
    return found


@given(edges, st.sets(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 5))
def test_distances_to_the_two_nearest_seeds(
    pairs: list[tuple[int, int]], seeds: set[int], depth: int
) -> None:
    def step(nodes: list[int]) -> list[tuple[int, int]]:
        return [pair for pair in pairs if pair[0] in nodes]

    from_seed = {seed: distances(pairs, seed) for seed in seeds}
    for sources in (1, 2):
        found, cut = breadth_first(sorted(seeds), depth, step, 1000, sources)
        expected = {
            node: ways[:sources]
            for node in range(10)
            if (
                ways := sorted(
                    from_seed[seed][node]
                    for seed in seeds
                    if from_seed[seed].get(node, 99) <= depth
                )
            )
        }
        assert {node: [way[0] for way in ways] for node, ways in found.items()} == expected
        assert not cut


def test_a_walk_that_is_cut() -> None:
    found, cut = breadth_first([0], 2, lambda nodes: [(n, n + i) for n in nodes for i in (1, 2)], 3)
    assert (sorted(found), cut) == ([0, 1, 2], True)
