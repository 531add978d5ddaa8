"""What stages of a search read, as plain Python over the statements that the server runs."""

import json
from collections.abc import Callable
from math import inf
from typing import Any, cast

import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.fusion.lists import fuse_lists
from pgblend.plpy.graph.fuse import graph_stage
from pgblend.plpy.search.arms import vector_list
from pgblend.plpy.search.lexical import WordLists
from pgblend.plpy.search.passages import stored_passages
from support.database import Database, add_documents, add_space, stage
from support.served_database import ServedDatabase

Run = Callable[..., list[dict[str, Any]]]
KEYS = ["deploy", "wine", "sea"]
COSINES = {"deploy": [1.0, 0.0], "wine": [0.6, 0.8], "sea": None}
QUERY = "[2,0]"


@pytest.fixture
def run(db: Database) -> Run:
    return ServedDatabase(db.connection).run


@pytest.fixture
def chunks(db: Database) -> dict[str, int]:
    """A library of three documents of one passage each; returns the passages' ids by key."""
    db.rows("SELECT add_collection('c', 'english')")
    add_space(db, "s", 2)
    texts = {"deploy": "Deploy red wine", "wine": "Wine and wine", "sea": "The open sea"}
    add_documents(db, "c", [(key, "", text) for key, text in texts.items()])
    ids = dict(
        db.rows("SELECT source_key, chunk_id FROM chunks JOIN documents USING (document_id)")
    )
    stage(db, [(ids[key], vector) for key, vector in COSINES.items() if vector])
    db.rows("SELECT pgblend._store_embeddings('s')")
    return ids


def documents(db: Database) -> dict[str, int]:
    return dict(db.rows("SELECT source_key, document_id FROM documents"))


def collections(db: Database) -> list[int]:
    return db.column("SELECT id FROM pgblend_data.collection")


def searched(db: Database, run: Run, kind: str, query: str) -> dict[str, Any]:
    """Return the list of an arm; at depth 2."""
    settings = db.value(
        "SELECT pgblend._search_settings(%s, NULL, '{}')::text",
        Jsonb({"candidate_depth": 2, "fuzzy": "on"}),
    )
    ids = collections(db)
    if kind == "vector":
        return vector_list(ServedDatabase(db.connection), query, ids, QUERY, "s", None, settings)
    read = json.loads(settings)
    return WordLists(ServedDatabase(db.connection), ids, None, read, inf).find(kind, query, 2)


def test_lists_of_arms(db: Database, run: Run, chunks: dict[str, int]) -> None:
    words = searched(db, run, "lexical", "wine")
    assert words["chunk_ids"] == [chunks["wine"], chunks["deploy"]]
    assert words["document_ids"] == [documents(db)[key] for key in ("wine", "deploy")]
    assert words["chunk_indexes"] == [0, 0]
    assert words["perfect"] > words["scores"][0] > words["scores"][1] > 0
    assert words["every_word"]
    vectors = searched(db, run, "vector", "wine")
    assert vectors["chunk_ids"] == [chunks["deploy"], chunks["wine"]]
    assert vectors["scores"] == pytest.approx([1, 0.6])
    assert vectors["perfect"] is None
    fuzzy = searched(db, run, "fuzzy", "seaa")
    assert fuzzy["chunk_ids"] == [chunks["sea"]]
    assert len(fuzzy["corrections"]) == 1
    nothing = searched(db, run, "lexical", "zebra")
    assert nothing["chunk_ids"] == nothing["scores"] == []


def test_texts_and_ages(db: Database, run: Run, chunks: dict[str, int]) -> None:
    stored = stored_passages(run, None, None)
    texts = stored.texts([chunks["sea"], 0])
    assert list(texts) == [chunks["sea"]]
    found = texts[chunks["sea"]]
    assert (found["content"], found["start_offset"], found["end_offset"]) == ("The open sea", 0, 12)
    db.rows(
        "UPDATE pgblend_data.document SET modified_at = now() - interval '36 hours'"
        " WHERE source_key = 'sea'"
    )
    assert stored.ages_days([0, documents(db)["sea"]]) == [None, 1.5]


def test_vectors_and_cosines(run: Run, chunks: dict[str, int]) -> None:
    ids = [chunks[key] for key in KEYS]
    stored = stored_passages(run, QUERY, "s")
    assert stored.vectors(ids) == {chunks["deploy"]: "[1,0]", chunks["wine"]: "[0.6,0.8]"}
    cosines = stored.cosines(ids)
    assert cosines == {chunks["deploy"]: pytest.approx(1), chunks["wine"]: pytest.approx(0.6)}
    assert stored.cosines(ids[:1]) == {chunks["deploy"]: cosines[chunks["deploy"]]}
    assert stored.cosines([]) == stored.vectors([]) == {}
    assert stored_passages(run, "[0,0]", "s").cosines(ids[:1]) == {chunks["deploy"]: None}
    assert stored_passages(run, None, "s").cosines(ids) == {}
    assert stored_passages(run, QUERY, None).vectors(ids) == {}


def test_a_vector_moved_to_passages(run: Run, chunks: dict[str, int]) -> None:
    ids = [chunks[key] for key in KEYS]
    stored = stored_passages(run, QUERY, "s")
    moved = stored.moved_cosines(ids, [chunks["wine"]], 1.0)  # to [1.6, 0.8]
    length = (1.6**2 + 0.8**2) ** 0.5
    assert moved == {
        chunks["deploy"]: pytest.approx(1.6 / length, abs=1e-6),
        chunks["wine"]: pytest.approx((1.6 * 0.6 + 0.8 * 0.8) / length, abs=1e-6),
    }
    own = {chunks["deploy"]: pytest.approx(1), chunks["wine"]: pytest.approx(0.6)}
    assert stored.known_cosines == own
    assert stored.moved_cosines(ids, [chunks["sea"]], 1.0) == own  # without a vector: nowhere
    assert stored.moved_cosines([chunks["sea"]], [chunks["wine"]], 1.0) == {}


def test_passages_of_nodes(db: Database, run: Run, chunks: dict[str, int]) -> None:
    stored = stored_passages(run, QUERY, "s")
    wine, sea = documents(db)["wine"] * 4, chunks["sea"] * 4 + 1
    ids = collections(db)
    found = stored.node_passages([wine, sea, 4 * 10**9], ids, cast(str, None), cast(str, None))
    assert sorted(found) == [
        (wine, chunks["wine"], documents(db)["wine"], 0),
        (sea, chunks["sea"], documents(db)["sea"], 0),
        (4 * 10**9, 0, 0, 0),
    ]
    narrow = '{"$source_key": "sea"}'
    found = stored.node_passages([wine, sea], ids, narrow, cast(str, None))
    assert [row[0] for row in found] == [sea]
    assert stored.node_passages([], ids, narrow, "english") == []


GRAPH = {
    "combine": "fused", "weight": 0.5, "seeds": 1, "depth": 2, "direction": "both",
    "edge_types": None, "node_limit": 100,
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "fusion": "rrf", "rrf_k": 60, "fused_scale": "attainable", "feedback": {"passages": 0},
    "bonus": {"kind": "none"}, "recency_half_life_days": None, "filter": None, "language": None,
}  # fmt: skip


def test_the_stage_of_the_graph(db: Database, run: Run, chunks: dict[str, int]) -> None:
    for source, target in (("wine", "deploy"), ("deploy", "sea")):
        db.rows("SELECT add_edge(graph_node('c', %s), graph_node('c', %s))", source, target)
    about = {"arm": "lexical", "kind": "lexical", "by_vector": False, "weight": 3}
    lists = [about | searched(db, run, "lexical", "wine")]
    stored = stored_passages(run, None, "s")
    told: list[tuple[Any, ...]] = []
    tools = {name: lambda *said, name=name: told.append((name, *said)) for name in ("done", "warn")}

    def staged(**more: Any) -> tuple[list[int], list[dict[str, Any]]]:
        told.clear()
        settings = SETTINGS | {"graph": GRAPH | more}
        fused = fuse_lists(lists, settings, 2, stored.moved_cosines, stored.ages_days)
        _, found, place = graph_stage(lists, fused, settings, stored, collections(db), tools)
        order = [found["chunk_ids"][item] for item in found["order"]]
        return order, [place(chunk_id) for chunk_id in order]

    order, places = staged()
    assert order == [chunks[key] for key in ("deploy", "wine", "sea")]  # the first by both lists
    assert places == [
        {"source": "hybrid", "depth": 0},
        {"source": "vector", "depth": 0},
        {"source": "graph", "depth": 2},
    ]
    assert told == [("done", "graph", 2)]
    assert staged(depth=1)[0] == [chunks["deploy"], chunks["wine"]]
    alone = [{"source": "vector", "depth": 0}] * 2
    assert staged(edge_types=["other"]) == ([chunks["wine"], chunks["deploy"]], alone)
    assert told == [("done", "graph", 0)]
    staged(node_limit=3)
    assert told[0][:2] == (
        "warn", "the graph has more than 3 nodes in reach: those of the heaviest edges are taken",
    )  # fmt: skip
