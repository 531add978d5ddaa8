"""Searches that follow the graph, and S3's scores, sources, depths, defaults and errors."""

import json
from math import sqrt
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.search.plan import arm_depth
from support.database import Database, add_documents, add_space, embed_waiting, stage

# A library of five documents, one passage each; cosines to QUERY are the first numbers.
COSINES = {"a": 0.8, "b": 0.7, "c": 0.6, "d": -0.5, "e": -0.6}
QUERY = "[1,0]"
ROWS = (
    "SELECT source_key, round(score::numeric, 6)::float8, details ->> 'source',"
    " (details -> 'depth')::int, (arms #> '{graph,distance}')::int FROM graph_search"
)


def node(db: Database, key: str) -> str:
    return str(db.value("SELECT graph_node('c', %s)", key))


def join(db: Database, source: str, target: str, edge_type: str = "link") -> None:
    db.rows("SELECT add_edge(%s, %s, %s)", node(db, source), node(db, target), edge_type)


def take_vector(db: Database, key: str) -> None:
    db.rows(
        "DELETE FROM pgblend_data.embedding_s AS e USING pgblend_data.document AS d"
        " WHERE d.id = e.document_id AND d.source_key = %s",
        key,
    )


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT blend.add_collection('c')")
    add_space(db, "s", 2)
    chunks = {}
    for key, cosine in COSINES.items():
        add_documents(db, "c", [(key, "", f"text of {key}")])
        chunk = db.value("SELECT max(id) FROM pgblend_data.chunk")
        chunks[chunk] = [cosine, sqrt(1 - cosine * cosine)]
    stage(db, list(chunks.items()))
    db.rows("SELECT pgblend._store_embeddings('s')")
    return db


def found(db: Database, **arguments: Any) -> list[tuple[Any, ...]]:
    named = ", ".join(f"{name} => %s" for name in arguments)
    return db.rows(f"{ROWS}({named})", *arguments.values())


# --- from seeds: 1 / (1 + depth) from the nearest


def test_scores_fall_with_the_distance_from_the_nearest_seed(library: Database) -> None:
    for source, target in ("ab", "bc", "cd"):
        join(library, source, target)
    assert found(library, seed_nodes=[node(library, "a")]) == [
        ("a", 1.0, "graph", 0, 0),
        ("b", 0.5, "graph", 1, 1),
    ]
    both = [node(library, "a"), node(library, "d"), node(library, "a")]
    assert found(library, seed_nodes=both, depth=3) == [
        ("a", 1.0, "graph", 0, 0),
        ("d", 1.0, "graph", 0, 0),
        ("b", 0.5, "graph", 1, 1),
        ("c", 0.5, "graph", 1, 1),
    ]
    assert [row[:2] for row in found(library, seed_nodes=both[:1], depth=3)][2:] == [
        ("c", 0.333333),
        ("d", 0.25),
    ]


def test_limits_filters_and_options_of_a_search_from_seeds(library: Database) -> None:
    for target in "bcde":
        join(library, "a", target, "cites" if target == "e" else "link")
    seeds = [node(library, "a")]

    def keys(**more: Any) -> list[str]:
        return [row[0] for row in found(library, seed_nodes=seeds, **more)]

    assert keys() == keys(result_limit=0) == keys(result_limit=-3) == list("abcde")
    assert keys(result_limit=2) == ["a", "b"]
    assert keys(options=Jsonb({"offset": 2}), result_limit=2) == ["c", "d"]
    assert keys(options=Jsonb({"graph": {"edge_types": ["cites"]}})) == ["a", "e"]
    assert keys(options=Jsonb({"graph": {"direction": "in"}})) == ["a"]
    assert keys(filter=Jsonb({"$source_key": "b"})) == ["b"]
    assert keys(collections=["c"]) == list("abcde")
    assert keys(options=Jsonb({"graph": {"node_limit": 2}})) == ["a", "b", "c"]
    (warning,) = library.warnings()
    assert warning == "there are more than 2 nodes: those of the heaviest edges are taken"


def test_all_columns_are_those_of_the_other_searches(library: Database) -> None:
    (row,) = library.rows("SELECT * FROM graph_search(%s, 0)", [node(library, "a")])
    (other,) = library.rows("SELECT * FROM vector_search('x', 1, query_embedding => %s)", QUERY)
    assert len(row) == len(other)
    assert row[3:8] == other[3:8]  # document, passage, collection, uri, title
    assert row[9:15] == other[9:15]


def test_no_seeds_is_an_error_of_its_own(library: Database) -> None:
    for seeds in (None, []):
        error = library.error("SELECT * FROM graph_search(%s)", seeds)
        assert (error.sqlstate, error.message_primary) == (
            "PB011",
            "NO_SEEDS: graph_search has neither seed_nodes nor a query",
        )
        assert error.message_hint
    assert library.error("SELECT * FROM graph_search(query => ' ')").sqlstate == "PB011"
    both = library.error("SELECT * FROM graph_search('{document:1}', query => 'x')")
    assert both.sqlstate == "22023"


def test_seeds_that_are_gone_are_skipped_with_a_warning(library: Database) -> None:
    seeds = [node(library, "a"), "document:99", "entity:1"]
    assert [row[0] for row in found(library, seed_nodes=seeds)] == ["a"]
    assert library.warnings() == ["unknown seed nodes were skipped: document:99, entity:1"]
    assert found(library, seed_nodes=["chunk:99"]) == []
    assert library.warnings() == ["unknown seed nodes were skipped: chunk:99"]


def test_nodes_that_are_gone_are_skipped_with_a_warning(library: Database) -> None:
    join(library, "a", "b")
    library.rows("SET LOCAL session_replication_role = replica")  # no trigger refuses it
    library.rows("UPDATE pgblend_data.edge SET neighbour = 396 WHERE NOT is_reverse")
    library.rows("SET LOCAL session_replication_role = origin")
    assert [row[0] for row in found(library, seed_nodes=[node(library, "a")])] == ["a"]
    assert library.warnings() == ["edges lead to nodes that are gone: document:99"]
    assert len(found(library, query_embedding=QUERY)) == 5
    assert library.warnings() == ["edges lead to nodes that are gone: 1"]


# --- from a query: cosine + 1 / (1 + depth)


def test_the_worked_example_of_the_source(library: Database) -> None:
    join(library, "a", "e")  # only two hits are wanted, so a and e are both in the first twenty
    assert found(library, query_embedding=QUERY) == [
        ("a", 1.3, "hybrid", 0, 1),  # 0.8 + 0.5
        ("b", 0.7, "vector", 0, None),  # 0.7 + 0
        ("c", 0.6, "vector", 0, None),
        ("e", -0.1, "hybrid", 0, 1),  # -0.6 + 0.5
        ("d", -0.5, "vector", 0, None),
    ]


def test_what_only_the_graph_finds(library: Database) -> None:
    """Twenty hits and more: so a passage without a vector stands for one beyond them."""
    take_vector(library, "d")
    take_vector(library, "e")
    join(library, "a", "d")
    join(library, "d", "e")
    assert found(library, query_embedding=QUERY, depth=2) == [
        ("a", 0.8, "vector", 0, None),
        ("b", 0.7, "vector", 0, None),
        ("c", 0.6, "vector", 0, None),
        ("d", 0.5, "graph", 1, 1),
        ("e", 0.333333, "graph", 2, 2),
    ]
    assert [row[0] for row in found(library, query_embedding=QUERY)] == list("abcd")
    out = Jsonb({"graph": {"direction": "in"}})
    assert [row[0] for row in found(library, query_embedding=QUERY, options=out)] == list("abc")


@pytest.mark.parametrize("storage", ["halfvec", "binary"])
def test_every_storage_of_vectors_gives_the_same(library: Database, storage: str) -> None:
    join(library, "a", "e")
    take_vector(library, "e")
    expected = [(row[0], *row[2:]) for row in found(library, query_embedding=QUERY)]
    assert ("e", "graph", 1, 1) in expected
    library.rows("SELECT create_embedding_space('other', 'm', 2, %s, probe => false)", storage)
    vectors = library.rows("SELECT chunk_id, embedding::text FROM pgblend_data.embedding_s")
    stage(library, [(chunk, json.loads(vector)) for chunk, vector in vectors])
    library.rows("SELECT pgblend._store_embeddings('other')")
    rows = found(library, query_embedding=QUERY)  # halves are not as exact
    assert [(row[0], *row[2:]) for row in rows] == expected


def test_a_hit_is_not_near_itself(library: Database) -> None:
    """A circle leads back to its start, which is not found by that."""
    for source, target in ("de", "ed"):
        join(library, source, target)
    take_vector(library, "e")
    rows = {row[0]: row[1:] for row in found(library, query_embedding=QUERY, depth=3)}
    assert rows["d"] == (-0.5, "vector", 0, None)
    assert rows["e"] == (0.5, "graph", 1, 1)


def test_twice_as_many_hits_as_rows_and_at_least_twenty(library: Database) -> None:
    settings = library.value("SELECT pgblend._search_settings('{}', 'graph', '{}')")
    asked = settings["over_fetch"], settings["candidate_depth"]
    depths = [arm_depth(*asked, limit, False, False) for limit in (1, 10, 11, 50)]
    assert depths == [20, 20, 22, 100]


def test_the_profile_has_the_same_order_and_scores_in_the_unit_interval(library: Database) -> None:
    join(library, "a", "e")
    rows = library.rows(
        "SELECT source_key, score, (arms #>> '{fused,score}')::float8"
        " FROM hybrid_search('x', 5, profile => 'graph', query_embedding => %s)",
        QUERY,
    )
    assert [row[0] for row in rows] == ["a", "b", "c", "e", "d"]
    assert [row[2] for row in rows] == pytest.approx([1.3, 0.7, 0.6, -0.1, -0.5])
    assert rows[0][1] == pytest.approx(1.3 / 1.5)


def test_a_failed_embedding_raises(library: Database) -> None:
    for call in ("graph_search(query => 'x')", "hybrid_search('x', profile => 'graph')"):
        assert library.error(f"SELECT * FROM {call}").sqlstate == "PB008"
    library.rows("SELECT drop_embedding_space('s', even_active => true)")
    assert library.error("SELECT * FROM graph_search(query => 'x')").sqlstate == "PB001"


# --- one more list in hybrid_search


@pytest.fixture
def words(db: Database) -> Database:
    db.rows("SELECT blend.add_collection('c')")
    add_space(db)
    add_documents(
        db,
        "c",
        [
            ("film", "", "The heart is a film by Jane Roe."),
            ("jane", "", "Jane Roe was born in Lisbon."),
            ("far", "", "Lisbon lies at the sea."),
            ("other", "", "The heart of the matter is a book."),
        ],
    )
    embed_waiting(db)
    join(db, "film", "jane", "mentions")
    join(db, "jane", "far")
    return db


def hybrid(db: Database, options: dict[str, Any], query: str = "heart film") -> list[Any]:
    lexical = {"weights": {"vector": 0, "fuzzy": 0}, "mode": "fast"}
    return db.rows(
        "SELECT source_key, score, arms, details FROM hybrid_search(%s, options => %s)",
        query,
        Jsonb(lexical | options),
    )


def test_the_graph_is_one_more_list(words: Database) -> None:
    assert [row[0] for row in hybrid(words, {})] == ["film", "other"]
    rows = hybrid(words, {"graph": {"weight": 1}})
    assert [row[0] for row in rows] == ["film", "jane", "other"]
    plain = {row[0]: row[1] for row in hybrid(words, {})}
    assert rows[0][1] == pytest.approx(plain["film"] / 2)
    assert rows[1][1] == pytest.approx(plain["film"] / 2)  # as good as what leads to it
    assert rows[1][2] == {"graph": {"rank": 1, "score": 0.5, "distance": 1}}
    assert (rows[1][3]["source"], rows[1][3]["depth"]) == ("graph", 1)
    assert (rows[0][3]["source"], rows[0][3]["depth"]) == ("vector", 0)
    assert rows[2][1] == pytest.approx(plain["other"] / 2)


@pytest.mark.parametrize(
    ("graph", "keys"),
    [
        ({"depth": 2}, ["film", "jane", "far", "other"]),
        ({"depth": 2, "edge_types": ["mentions"]}, ["film", "jane", "other"]),
        ({"depth": 2, "direction": "in"}, ["film", "other"]),
        ({"depth": 2, "node_limit": 3}, ["film", "other"]),
    ],
)
def test_its_options(words: Database, graph: dict[str, Any], keys: list[str]) -> None:
    asked = {"graph": {"weight": 1} | graph}
    assert sorted(row[0] for row in hybrid(words, asked)) == sorted(keys)


def test_it_starts_at_the_best_alone(words: Database) -> None:
    join(words, "other", "far")
    for seeds, keys in [(1, {"film", "jane", "other"}), (2, {"film", "jane", "other", "far"})]:
        rows = hybrid(words, {"graph": {"weight": 1, "seeds": seeds}})
        assert {row[0] for row in rows} == keys


def test_a_sum_starts_at_all(words: Database) -> None:
    join(words, "other", "far")
    rows = hybrid(words, {"graph": {"weight": 1, "seeds": 1, "combine": "sum"}})
    assert {row[0] for row in rows} == {"film", "jane", "other", "far"}


def test_by_ranks_it_adds_its_share(words: Database) -> None:
    options = {
        "fusion": "rrf",
        "fused_scale": "raw",
        "weights": {"vector": 0, "fuzzy": 0, "lexical": 2},
        "graph": {"weight": 0.5},
    }
    rows = {row[0]: row for row in hybrid(words, options)}
    assert rows["jane"][2]["fused"]["score"] == pytest.approx(1 / 61)
    assert rows["film"][2]["fused"]["score"] == pytest.approx(2 / 61)
    assert rows["film"][1] == pytest.approx(2 / 3)


def test_filters_and_collections_bind_what_the_graph_finds(words: Database) -> None:
    words.rows("SELECT add_collection('d')")
    words.rows("SELECT ingest_document('d', 'k', 'elsewhere')")
    words.rows("SELECT add_edge(graph_node('c', 'film'), graph_node('d', 'k'))")
    options = Jsonb({"graph": {"weight": 1}, "weights": {"vector": 0, "fuzzy": 0}})
    ask = "SELECT source_key FROM hybrid_search('heart', 9, %s, %s, options => %s)"
    assert set(words.column(ask, None, None, options)) == {"film", "other", "jane", "k"}
    assert set(words.column(ask, ["c"], None, options)) == {"film", "other", "jane"}
    only = Jsonb({"$source_key": {"in": ["film", "far"]}})
    assert words.column(ask, None, only, options) == ["film"]


def test_the_trace_names_its_part(words: Database) -> None:
    trace = words.value(
        "SELECT search_explain('heart film', options => %s)",
        Jsonb({"graph": {"weight": 1}, "weights": {"vector": 0, "fuzzy": 0}}),
    )
    stages = {stage["name"]: stage for stage in trace["stages"]}
    assert stages["graph"]["rows"] == 1
    by_key = {row["source_key"]: row for row in trace["results"]}
    jane = by_key["jane"]
    assert jane["parts"]["graph"] == pytest.approx(jane["score"])


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        ({"weight": -1}, "weight: expected a number from 0"),
        ({"direction": "up"}, "direction: expected one of both, in, out"),
        ({"edge_types": [1]}, "edge_types[1]: expected a text of at most 200 characters"),
        ({"edge_types": ["x"] * 101}, "edge_types: expected an array of at most 100 values"),
        ({"depth": 11}, "depth: expected a whole number from 0 to 10"),
        ({"odd": 1}, 'has no key "odd"'),
    ],
)
def test_wrong_options(words: Database, graph: dict[str, Any], problem: str) -> None:
    error = words.error(
        "SELECT * FROM hybrid_search('x', options => %s)", json.dumps({"graph": graph})
    )
    assert error.sqlstate == "22023"
    assert problem in str(error.message_primary)
