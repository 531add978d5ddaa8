"""What stages of a search read, as plain Python over the statements that the server runs."""

import json
from math import inf
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.search.arms import VectorScope, vector_request
from pgblend.plpy.search.candidates import ArmList, StoredPassages, corrected_notes
from pgblend.plpy.search.fusion import fuse_lists
from pgblend.plpy.search.graph import search_graph
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.plan import read_state
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.query import IndexState
from pgblend.plpy.search.store import WordLists, WordScope
from support.arm_lists import never, query_of, settings_of
from support.database import Database, add_documents, add_space, stage
from support.served_database import ServedDatabase
from support.stage_gateway import FakeProgress

KEYS = ["deploy", "wine", "sea"]
COSINES = {"deploy": [1.0, 0.0], "wine": [0.6, 0.8], "sea": None}
QUERY = "[2,0]"


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


def stored_passages(
    db: Database, vector: str | None, space: str | None, **more: Any
) -> StoredPassages:
    return StoredPassages(StoreNode(ServedDatabase(db.connection)), vector, space, **more)


def searched(db: Database, kind: str, query: str) -> ArmList:
    """Return the list of an arm; at depth 2."""
    settings = db.value(
        "SELECT pgblend._search_settings(%s, NULL, '{}')::text",
        Jsonb({"candidate_depth": 2, "fuzzy": "on"}),
    )
    ids, server = collections(db), ServedDatabase(db.connection)
    if kind == "vector":
        state, read = read_state(server, None, None, ids), settings_of(json.loads(settings))
        scope = VectorScope(state.space("s"), ids, state.is_everywhere, query, None)
        found = StoreNode(server).nearest(vector_request(QUERY, scope, read, 2))
        return ArmList(kind, kind, 3, found)
    read = settings_of(json.loads(settings))
    lists = WordLists(server, StoreNode(server), WordScope(ids, None, inf), read, IndexState())
    words = lists.find(kind, query, 2)
    notes = corrected_notes(words.corrections, "vocabulary")
    return ArmList(kind, kind, 3, words.found, notes, words.every_word)


def test_lists_of_arms(db: Database, chunks: dict[str, int]) -> None:
    words = searched(db, "lexical", "wine")
    assert words.found.chunk_ids == [chunks["wine"], chunks["deploy"]]
    assert words.found.document_ids == [documents(db)[key] for key in ("wine", "deploy")]
    assert words.found.chunk_indexes == [0, 0]
    assert words.found.perfect > words.found.scores[0] > words.found.scores[1] > 0
    assert words.every_word
    vectors = searched(db, "vector", "wine")
    assert vectors.found.chunk_ids == [chunks["deploy"], chunks["wine"]]
    assert vectors.found.scores == pytest.approx([1, 0.6])
    assert vectors.found.perfect is None
    fuzzy = searched(db, "fuzzy", "seaa")
    assert fuzzy.found.chunk_ids == [chunks["sea"]]
    assert [*fuzzy.notes] == [1]
    nothing = searched(db, "lexical", "zebra")
    assert nothing.found.chunk_ids == nothing.found.scores == []


def test_texts_and_ages(db: Database, chunks: dict[str, int]) -> None:
    stored = stored_passages(db, None, None, collection_ids=collections(db))
    texts = stored.texts([chunks["sea"], 0])
    assert list(texts) == [chunks["sea"]]
    found = texts[chunks["sea"]]
    assert (found.content, found.start_offset, found.end_offset) == ("The open sea", 0, 12)
    assert not found.may_repeat
    db.rows(
        "UPDATE pgblend_data.document SET modified_at = now() - interval '36 hours'"
        " WHERE source_key = 'sea'"
    )
    assert stored.ages_days([0, chunks["sea"]]) == [None, 1.5]


def test_vectors_and_cosines(db: Database, chunks: dict[str, int]) -> None:
    ids = [chunks[key] for key in KEYS]
    stored = stored_passages(db, QUERY, "s")
    assert stored.vectors(ids) == {chunks["deploy"]: "[1,0]", chunks["wine"]: "[0.6,0.8]"}
    cosines = stored.cosines(ids)
    assert cosines == {chunks["deploy"]: pytest.approx(1), chunks["wine"]: pytest.approx(0.6)}
    assert stored.cosines(ids[:1]) == {chunks["deploy"]: cosines[chunks["deploy"]]}
    assert stored.cosines([]) == stored.vectors([]) == {}
    assert stored_passages(db, "[0,0]", "s").cosines(ids[:1]) == {chunks["deploy"]: None}
    assert stored_passages(db, None, "s").cosines(ids) == {}
    assert stored_passages(db, QUERY, None).vectors(ids) == {}


def test_a_vector_moved_to_passages(db: Database, chunks: dict[str, int]) -> None:
    ids = [chunks[key] for key in KEYS]
    stored = stored_passages(db, QUERY, "s")
    server = ServedDatabase(db.connection)
    moved = stored.moved_cosines(server, 1.0, ids, [chunks["wine"]])  # to [1.6, 0.8]
    length = (1.6**2 + 0.8**2) ** 0.5
    assert moved == {
        chunks["deploy"]: pytest.approx(1.6 / length, abs=1e-6),
        chunks["wine"]: pytest.approx((1.6 * 0.6 + 0.8 * 0.8) / length, abs=1e-6),
    }
    own = {chunks["deploy"]: pytest.approx(1), chunks["wine"]: pytest.approx(0.6)}
    assert stored.known_cosines == own
    # By one without a vector: nowhere.
    assert stored.moved_cosines(server, 1.0, ids, [chunks["sea"]]) == own
    assert stored.moved_cosines(server, 1.0, [chunks["sea"]], [chunks["wine"]]) == {}


def test_passages_of_nodes(db: Database, chunks: dict[str, int]) -> None:
    ids = collections(db)
    stored = stored_passages(db, QUERY, "s", collection_ids=ids)
    wine, sea = documents(db)["wine"] * 4, chunks["sea"] * 4 + 1
    found = stored.node_passages([wine, sea, 4 * 10**9])
    assert sorted(map(tuple, found)) == [
        (wine, chunks["wine"], documents(db)["wine"], 0),
        (sea, chunks["sea"], documents(db)["sea"], 0),
        (4 * 10**9, 0, 0, 0),
    ]
    stored.filter = '{"$source_key": "sea"}'
    assert [one.node for one in stored.node_passages([wine, sea])] == [sea]
    assert stored.node_passages([]) == []


GRAPH = {
    "combine": "fused", "weight": 0.5, "seeds": 1, "depth": 2, "direction": "both",
    "edge_types": None, "node_limit": 100,
}  # fmt: skip
SETTINGS: dict[str, Any] = {
    "fusion": "rrf", "rrf_k": 60, "fused_scale": "attainable", "feedback": {"passages": 0},
    "bonus": {"kind": "none"}, "recency_half_life_days": None, "filter": None, "language": None,
}  # fmt: skip


def test_the_stage_of_the_graph(db: Database, chunks: dict[str, int]) -> None:
    for source, target in (("wine", "deploy"), ("deploy", "sea")):
        db.rows("SELECT add_edge(graph_node('c', %s), graph_node('c', %s))", source, target)
    lists = [searched(db, "lexical", "wine")]
    stored = stored_passages(db, None, "s", collection_ids=collections(db))
    log = FakeProgress()

    def staged(**more: Any) -> tuple[list[int], list[Any]]:
        log.stages.clear()
        settings = settings_of(SETTINGS | {"graph": GRAPH | more})
        fused = fuse_lists(lists, settings, 2, never, stored.ages_days)
        pool = Pool(stored, lists, fused=fused)
        pool = search_graph(query_of(settings), pool, never, log)  # type: ignore[arg-type]
        assert pool.places is not None
        order = pool.fused.ids(pool.fused.order)
        return order, list(map(pool.places.of, order))

    order, places = staged()
    assert order == [chunks[key] for key in ("deploy", "wine", "sea")]  # the first by both lists
    assert places == [
        {"source": "hybrid", "depth": 0},
        {"source": "vector", "depth": 0},
        {"source": "graph", "depth": 2},
    ]
    assert log.told() == [("graph", 2)]
    assert staged(depth=1)[0] == [chunks["deploy"], chunks["wine"]]
    alone = [{"source": "vector", "depth": 0}] * 2
    assert staged(edge_types=["other"]) == ([chunks["wine"], chunks["deploy"]], alone)
    assert log.told() == [("graph", 0)]
    staged(node_limit=3)
    assert log.warnings == [
        "the graph has more than 3 nodes in reach: those of the heaviest edges are taken"
    ]
