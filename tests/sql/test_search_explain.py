"""search_explain tells of the very search: settings, stages, rows."""

import json

import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

DOCUMENTS = [
    ("deploy", "", "deploy to production with care"),
    ("care", "", "handle with care"),
    ("wine", "", "production of wine"),
    ("sea", "", "ships sail the sea"),
]
QUERY = "deploy production"


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    add_space(db)
    embed_waiting(db)
    return db


def explain(db: Database, options: str = "{}", **more: object) -> dict:
    names = "".join(f", {name} => %s" for name in more)
    return db.value(
        f"SELECT search_explain(%s, options => %s, query_embedding => %s{names})",
        more.pop("query", QUERY),
        options,
        vector_of(QUERY),
        *more.values(),
    )


def test_it_tells_of_the_same_rows(library: Database) -> None:
    told = explain(library)
    rows = library.rows(
        "SELECT rank, chunk_id, score, relevance, snippet, collection"
        " FROM hybrid_search(%s, query_embedding => %s)",
        QUERY,
        vector_of(QUERY),
    )
    names = ("rank", "chunk_id", "score", "relevance", "snippet", "collection")
    assert [tuple(row[name] for name in names) for row in told["results"]] == rows
    assert told["query"] == QUERY
    assert told["profile"] == "balanced"
    assert told["collections"] == ["c"]
    assert told["degraded"] == []


def test_stages_have_times_and_counts(library: Database) -> None:
    explain(library)  # a session's first search has a stage more
    told = explain(library)
    rows = {stage["name"]: stage.get("rows") for stage in told["stages"]}
    assert list(rows) == [
        *("lexical", "fuzzy", "strong_signal", "expand", "embed", "vector", "fuse", "graph"),
        *("dedup", "rerank", "blend", "mmr", "page", "fetch"),
    ]
    assert rows | {"embed": None, "lexical": 2, "vector": 4, "fuzzy": None, "fetch": 4} == rows
    assert rows["fuse"] == 4
    assert all(stage["ms"] >= 0 for stage in told["stages"] if "skipped" not in stage)
    assert sum(stage.get("ms", 0) for stage in told["stages"]) <= told["total_ms"]
    ran = [stage for stage in told["stages"] if "skipped" not in stage]
    ends = [0.0, *(stage["start_ms"] + stage["ms"] for stage in ran)]
    for end, stage in zip(ends, ran, strict=False):
        assert stage["start_ms"] >= end - 0.01
    assert ends[-1] <= told["total_ms"]


def test_words_that_passages_have_are_not_put_right(library: Database) -> None:
    def fuzzy(query: str, **options: object) -> dict:
        told = library.value(
            "SELECT search_explain(%s, options => %s, query_embedding => %s)",
            query,
            json.dumps(options),
            vector_of("x"),
        )
        return next(stage for stage in told["stages"] if stage["name"] == "fuzzy")

    known = "no word had to be corrected"
    assert fuzzy("deploy production") == {"name": "fuzzy", "skipped": known}
    assert fuzzy("deploy prodution")["rows"] > 0
    assert fuzzy("deploy production", fuzzy="on")["rows"] > 0
    assert "skipped" not in fuzzy("deploy production", language="english")  # may lack words
    assert "skipped" not in fuzzy("deploy production", fuzzy_method="word_similarity")


def test_a_strong_signal_is_told(library: Database) -> None:
    def signal(options: str) -> dict:
        stages = {stage["name"]: stage for stage in explain(library, options)["stages"]}
        return stages["strong_signal"]["details"]

    told = signal('{"strong_signal": {"score": 0.3}}')
    assert (told["strong"], told["expansion"]) == (True, "skipped_strong")
    best, second = told["top"]
    assert best > second + 0.14
    for demand in ('{"score": 1}', '{"score": 0, "gap": 1}', '{"center": 9, "scale": 1}'):
        told = signal(f'{{"strong_signal": {demand}}}')
        assert (told["strong"], told["expansion"]) == (False, "wanted")


def test_parts_add_up_to_the_score(library: Database) -> None:
    for row in explain(library, '{"weights": {"vector": 3}, "rrf_k": 10}')["results"]:
        assert sum(row["parts"].values()) == pytest.approx(row["score"], abs=1e-12)
        assert row["places"]["fuse"] == row["rank"]
    first = explain(library)["results"][0]["arms"]["vector"]
    assert first.keys() == {"rank", "score", "weight"}


def test_settings_say_where_they_come_from(library: Database) -> None:
    library.rows("SELECT set_setting('k1', '1.5')")
    library.rows("""UPDATE pgblend_data.collection SET settings = '{"rrf_k": 20, "b": 0.5}'""")
    library.rows(
        """INSERT INTO pgblend_data.profile (name, description, settings)
        VALUES ('mine', 'a test''s', '{"ef_search": 50, "k1": 1.6}')"""
    )
    told = explain(library, '{"b": 0.4, "weights": {"vector": 2}}', profile="mine")
    assert told["profile"] == "mine"
    expected = {
        "b": (0.4, "call"),
        "rrf_k": (20, "collection"),
        "ef_search": (50, "profile"),
        "k1": (1.6, "profile"),
        "candidate_depth": (100, "default"),
    }
    for name, (value, source) in expected.items():
        assert told["settings"][name] == {"value": value, "source": source}, name
    assert told["settings"]["weights"]["source"] == "call"
    assert told["settings"]["weights"]["value"]["vector"] == 2
    assert explain(library)["settings"]["k1"] == {"value": 1.5, "source": "database"}


@pytest.mark.parametrize("query", ["", "  ", None])
def test_a_blank_query_runs_nothing(library: Database, query: str | None) -> None:
    told = library.value("SELECT search_explain(%s)", query)
    assert (told["query"], told["stages"], told["results"]) == (query, [], [])


def test_what_is_missing_is_told(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    told = db.value("SELECT search_explain('deploy')")
    assert told["degraded"][0].startswith("vector: no embedding space yet")
    assert [row["arms"].keys() for row in told["results"]] == [{"lexical"}]


def test_errors_are_those_of_the_search(library: Database) -> None:
    error = library.error("SELECT search_explain('x', -1)")
    assert error.sqlstate == "22023"
