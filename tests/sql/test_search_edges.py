"""The edges of a search: nothing found, one row, ties, extreme weights and limits; modes; order."""

import json
from typing import Any

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


def search(db: Database, columns: str = "source_key", query: Any = QUERY, **options: Any) -> Any:
    limit = options.pop("limit", 10)
    only = options.pop("filter", None)
    return db.rows(
        f"SELECT {columns} FROM hybrid_search(%s, %s, filter => %s, options => %s,"
        " query_embedding => %s)",
        query,
        limit,
        None if only is None else json.dumps(only),
        json.dumps(options),
        vector_of(QUERY),
    )


def test_limits_at_their_ends(library: Database) -> None:
    assert search(library, limit=0) == []
    assert len(search(library, limit=10000)) == 4


def test_a_filter_that_passes_nothing(library: Database) -> None:
    assert search(library, filter={"author": "nobody"}) == []
    assert search(library, filter={"author": "nobody"}, weights={"vector": 0}) == []


def test_words_that_are_nowhere_leave_the_vectors(library: Database) -> None:
    rows = search(library, "source_key, arms", "xyzzy", fuzzy="off")
    assert [list(arms) for _, arms in rows] == [["vector"]] * 4
    assert search(library, "score", "xyzzy", fuzzy="off")[0][0] == 1  # the words tell nothing
    options = {"fuzzy": "off", "fusion": "rrf", "weights": {"vector": 1}}
    assert search(library, "score", "xyzzy", **options)[0][0] == pytest.approx(0.5)


def test_one_row(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS[:1])
    add_space(db)
    embed_waiting(db)
    for options in ({}, {"fusion": "convex"}, {"mmr": {"lambda": 0.5}}, {"dedup": "near"}):
        assert search(db, "source_key, score, rank", **options) == [("deploy", 1.0, 1)]


def test_an_empty_collection(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_space(db)
    for options in ({}, {"fusion": "convex"}, {"mmr": {"lambda": 0.5}}, {"dedup": "overlap"}):
        assert search(db, **options) == []


@pytest.mark.parametrize(
    ("weights", "shown"),
    [
        ({"lexical": 1000000, "vector": 0.000001}, "lexical"),
        ({"lexical": 0.000001, "vector": 1000000}, "vector"),
    ],
)
def test_huge_weights_make_an_arm_decide(
    library: Database, weights: dict[str, float], shown: str
) -> None:
    for fusion in ("rrf", "convex"):
        rows = search(
            library,
            f"arms #>> '{{{shown},rank}}', score",
            weights=weights,
            fusion=fusion,
            feedback={"passages": 0},
        )
        ranks = [int(rank) for rank, _ in rows if rank]
        assert ranks == sorted(ranks)
        assert all(0 <= score <= 1 for _, score in rows)


@pytest.mark.parametrize("weight", [-1, -1e-9, 1e7, "1", None])
def test_wrong_weights(library: Database, weight: Any) -> None:
    error = library.error(
        "SELECT * FROM hybrid_search('x', options => %s)",
        json.dumps({"weights": {"vector": weight}}),
    )
    assert error.sqlstate == "22023"
    assert '"weights"' in str(error.message_primary)


def test_convex_scores(library: Database) -> None:
    rows = search(
        library,
        "(arms #>> '{lexical,score}')::float8, (arms #>> '{vector,score}')::float8, score",
        fusion="convex",
        normalization={"method": "minmax"},
        feedback={"passages": 0},
        weights={"lexical": 1, "vector": 3},
    )
    words = [row[0] for row in rows if row[0] is not None]
    vectors = [row[1] for row in rows]

    def scaled(score: float | None, scores: list[float]) -> float:
        return 0 if score is None else (score - min(scores)) / (max(scores) - min(scores))

    for lexical, vector, score in rows:
        expected = scaled(lexical, words) / 4 + scaled(vector, vectors) * 3 / 4
        assert score == pytest.approx(expected, abs=1e-14)


def test_a_bonus_is_part_of_what_can_be_reached(library: Database) -> None:
    bonus = {"kind": "tiers", "unit": "absolute", "tiers": [{"max_rank": 1, "amount": 0.05}]}
    told = library.value(
        "SELECT search_explain(%s, options => %s, query_embedding => %s)",
        QUERY,
        json.dumps({"bonus": bonus, "fusion": "rrf", "weights": {"vector": 1}}),
        vector_of(QUERY),
    )
    attainable = 2 / 61 + 0.05
    for row in told["results"]:
        ranks = [arm["rank"] for arm in row["arms"].values()]
        first = 0.05 if 1 in ranks else 0
        expected = (sum(1 / (60 + rank) for rank in ranks) + first) / attainable
        assert row["score"] == pytest.approx(expected, rel=1e-12)
        assert row["parts"].get("bonus", 0) == pytest.approx(first / attainable)


def test_repeated_texts_are_left_out(library: Database) -> None:
    add_documents(library, "c", [("copy", "", DOCUMENTS[0][2]), ("copy2", "", DOCUMENTS[0][2])])
    embed_waiting(library)
    kept = [key for (key,) in search(library)]
    assert sorted(kept) == ["care", "deploy", "sea", "wine"]
    everything = [key for (key,) in search(library, dedup="off")]
    assert everything[:3] == ["deploy", "copy", "copy2"]  # ties by document
    assert len(everything) == 6
    assert search(library, limit=1, offset=1)[0][0] == kept[1]


def test_most_rows_of_a_document(library: Database) -> None:
    chunks = json.dumps([{"content": f"deploy production {word}"} for word in ("a1", "b2", "c3")])
    library.rows("SELECT ingest_document('c', 'many', '', chunks => %s)", chunks)
    embed_waiting(library)
    for most, expected in ((1, 1), (2, 2), (9, 3)):
        keys = [key for (key,) in search(library, per_document=most)]
        assert keys.count("many") == expected
        assert len(set(keys)) == 5


def test_diversity_changes_the_order_and_no_score(library: Database) -> None:
    add_documents(library, "c", [("twin", "", "deploy to production with great care")])
    embed_waiting(library)
    plain = search(library, "source_key, score")
    diverse = search(library, "source_key, score", mmr={"lambda": 0.1, "pool": 50})
    assert sorted(plain) == sorted(diverse)
    assert plain[0] == diverse[0]
    assert plain != diverse
    pooled = search(library, "source_key, score", mmr={"lambda": 0.1, "pool": 1})
    assert pooled == plain


def test_a_mode_by_default_asks_for_nothing_that_is_missing(library: Database) -> None:
    (row,) = search(library, "details, degraded", limit=1)
    assert row[0]["mode"] == "default"
    assert row[0]["not_run"] == {"rerank": "no model is set for it"}
    assert row[1] == []
    (row,) = search(library, "details, degraded", limit=1, mode="fast")
    assert "not_run" not in row[0]
    assert row[1] == []
    assert library.warnings() == []


def test_a_mode_that_is_asked_for_says_what_is_missing(library: Database) -> None:
    (row,) = search(library, "details, degraded", limit=1, mode="thorough")
    assert row[0]["not_run"].keys() == {"expand", "rerank"}
    assert row[0]["expansion"] == "wanted"
    assert sorted(note.partition(":")[0] for note in row[1]) == ["expand", "rerank"]
    assert sorted(library.warnings()) == [
        f"searching without the {stage} stage: no model is set for it. The mode fast does without"
        for stage in ("expand", "rerank")
    ]
    error = library.error(
        "SELECT * FROM hybrid_search(%s, options => %s, query_embedding => %s)",
        QUERY,
        '{"mode": "thorough", "strict": true}',
        vector_of(QUERY),
    )
    assert (error.sqlstate, bool(error.message_hint)) == ("PB010", True)


def test_words_that_have_found_the_answer_need_no_expansion(library: Database) -> None:
    weak = {"score": 0.1, "gap": 0, "center": 0, "scale": 0}
    (row,) = search(library, "details", limit=1, mode="thorough", strong_signal=weak)
    assert row[0]["expansion"] == "skipped_strong"
    (row,) = search(library, "details", limit=1, mode="default", strong_signal=weak)
    assert "expansion" not in row[0]


PLANS = [
    (),
    ("enable_hashjoin = off", "enable_mergejoin = off"),
    ("enable_nestloop = off", "enable_indexscan = off", "enable_bitmapscan = off"),
    ("enable_seqscan = off", "enable_sort = off", "enable_hashagg = off"),
    ("plan_cache_mode = force_generic_plan",),
    ("plan_cache_mode = force_custom_plan", "jit = off"),
    ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0",
     "max_parallel_workers_per_gather = 4", "force_parallel_mode = on"),
    ("work_mem = '64kB'", "cursor_tuple_fraction = 1"),
]  # fmt: skip
TOLD = "rank, chunk_id, score, relevance, arms::text, details::text, snippet"


@pytest.mark.parametrize(
    "options",
    [
        {"vector_scan": "exact"},
        {"vector_scan": "exact", "fusion": "convex", "dedup": "near"},
        {"vector_scan": "exact", "mmr": {"lambda": 0.5, "pool": 20}},
    ],
)
def test_the_same_rows_in_any_plan(db: Database, options: dict[str, Any]) -> None:
    db.rows("SELECT add_collection('c')")
    add_space(db)
    words = ("deploy", "production", "care", "wine", "sea")
    add_documents(
        db,
        "c",
        [
            (str(n), "", " ".join(words[(n * k) % 5] for k in range(1, 3 + n % 4)))
            for n in range(60)
        ],
    )
    embed_waiting(db)
    options["timeouts_ms"] = {"lexical": 600_000, "total": 600_000}  # bad plans take long
    version = db.value("SELECT current_setting('server_version_num')::int / 10000")
    first = search(db, TOLD, "deploy production prodution", limit=40, **options)
    assert first
    for plan in PLANS:
        with db.connection.transaction(force_rollback=True):
            for setting in plan:
                name = "debug_parallel_query" if version > 15 else "force_parallel_mode"
                db.rows(f"SET LOCAL {setting.replace('force_parallel_mode', name)}")
            assert search(db, TOLD, "deploy production prodution", limit=40, **options) == first, (
                plan
            )
    db.rows("REINDEX TABLE pgblend_data.embedding_test_space")
    db.rows("ANALYZE")
    assert search(db, TOLD, "deploy production prodution", limit=40, **options) == first
