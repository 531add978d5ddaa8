"""Spread fusion and feedback in a search, against the formulas worked out by hand."""

import json
import math

import pytest

from support.database import Database, add_documents, stage, vector_literal

# Vectors of two numbers: angles to the query's (1, 0) in degrees.
ANGLES = {"a": 10, "b": 20, "c": 30, "d": 60}
DOCUMENTS = [
    ("a", "A", "sea"),
    ("b", "B", "wine wine"),
    ("c", "C", "wine"),
    ("d", "D", "wine wind"),
]
QUERY = vector_literal([1, 0])


def unit(angle: float) -> tuple[float, float]:
    return math.cos(math.radians(angle)), math.sin(math.radians(angle))


@pytest.fixture
def library(db: Database) -> Database:
    """Four documents, whose words are found in b, c and d, and vectors at known angles."""
    db.rows("SELECT create_embedding_space('flat', 'openai/test-embedding', 2, probe => false)")
    db.rows("SELECT add_collection('c', 'simple')")
    add_documents(db, "c", DOCUMENTS)
    rows = db.rows("SELECT chunk_id, input FROM pgblend._next_embeddings('flat', NULL)")
    keys = dict(
        db.rows(
            "SELECT h.chunk_id, d.source_key FROM chunks AS h"
            " JOIN documents AS d USING (document_id)"
        )
    )
    stage(db, [(chunk, unit(ANGLES[keys[chunk]])) for chunk, _ in rows])
    db.rows("SELECT pgblend._store_embeddings('flat')")
    return db


def search(db: Database, **options: object) -> dict[str, tuple[float, float | None]]:
    """Scores and raw BM25 by source key, best first."""
    rows = db.rows(
        "SELECT source_key, score, (arms #>> '{lexical,score}')::float8"
        " FROM hybrid_search('wine', query_embedding => %s, options => %s)",
        QUERY,
        json.dumps(options),
    )
    return {key: (score, raw) for key, score, raw in rows}


def expected(words: dict[str, float], cosines: dict[str, float]) -> dict[str, float]:
    """Fuse by the definition: no list is full, so words begin at 0, and cosines at the least.

    A single word adds 2 for each passage that has it.
    """
    best, near, far = max(words.values()), max(cosines.values()), min(cosines.values())
    by_vector = 2 * ((near - far) / (1 - far)) ** 1.25  # by words: ((best - 0) / best) ** 1.25
    by_words = {key: 2 + word / best for key, word in words.items()}
    return {
        key: (by_words.get(key, 0) + by_vector * (cosine - far) / (near - far)) / (3 + by_vector)
        for key, cosine in cosines.items()
    }


def test_spread_fusion_without_feedback(library: Database) -> None:
    found = search(library, feedback={"passages": 0})
    words = {key: raw for key, (_, raw) in found.items() if raw is not None}
    assert set(words) == {"b", "c", "d"}
    fused = expected(words, {key: unit(angle)[0] for key, angle in ANGLES.items()})
    assert {key: score for key, (score, _) in found.items()} == pytest.approx(fused, abs=1e-6)
    assert list(found) == sorted(fused, key=lambda key: -fused[key])


def test_feedback_moves_the_query_towards_the_first_passages(library: Database) -> None:
    before = search(library, feedback={"passages": 0})
    first = list(before)[:2]
    x = 1 + 0.5 * sum(unit(ANGLES[key])[0] for key in first) / 2
    y = 0.5 * sum(unit(ANGLES[key])[1] for key in first) / 2
    moved = math.degrees(math.atan2(y, x))
    cosines = {key: math.cos(math.radians(angle - moved)) for key, angle in ANGLES.items()}
    words = {key: raw for key, (_, raw) in before.items() if raw is not None}
    found = search(library, feedback={"passages": 2})
    fused = expected(words, cosines)
    assert {key: score for key, (score, _) in found.items()} == pytest.approx(fused, abs=1e-6)


def test_feedback_is_off_by_default(library: Database) -> None:
    assert search(library) == search(library, feedback={"passages": 0})
    assert search(library) != search(library, feedback={"passages": 1})


def test_relevance_and_arms_keep_the_querys_own_cosine(library: Database) -> None:
    rows = library.rows(
        "SELECT source_key, relevance, (arms #>> '{vector,score}')::float8"
        " FROM hybrid_search('wine', query_embedding => %s)",
        QUERY,
    )
    for key, relevance, raw in rows:
        assert relevance == raw == pytest.approx(unit(ANGLES[key])[0], abs=1e-6)


def test_scores_stay_in_bounds_and_do_not_depend_on_the_page(library: Database) -> None:
    rows = library.rows(
        "SELECT source_key, score FROM hybrid_search('wine', query_embedding => %s)", QUERY
    )
    assert all(0 <= score <= 1 for _, score in rows)
    assert [score for _, score in rows] == sorted((score for _, score in rows), reverse=True)
    two = library.rows(
        "SELECT source_key, score FROM hybrid_search('wine', 2, query_embedding => %s)", QUERY
    )
    assert two == rows[:2]


def test_a_word_that_nothing_has_leaves_the_vectors(library: Database) -> None:
    rows = library.column(
        "SELECT source_key FROM hybrid_search('submarine', query_embedding => %s)", QUERY
    )
    assert rows == ["a", "b", "c", "d"]


def test_passages_without_a_vector_move_the_query_nowhere(library: Database) -> None:
    words = {"lexical": 1, "vector": 0.001}  # the words decide what comes first
    assert next(iter(search(library, weights=words, feedback={"passages": 0}))) == "b"
    library.rows(
        "DELETE FROM pgblend_data.embedding_flat WHERE chunk_id = (SELECT h.chunk_id FROM chunks"
        " AS h JOIN documents AS d USING (document_id) WHERE d.source_key = 'b')"
    )
    without = search(library, weights=words, feedback={"passages": 0})
    assert next(iter(without)) == "b"
    assert search(library, weights=words, feedback={"passages": 1}) == without


def test_feedback_in_a_space_of_half_precision(db: Database) -> None:
    db.rows(
        "SELECT create_embedding_space('half', 'openai/test-embedding', 2, 'halfvec',"
        " probe => false)"
    )
    db.rows("SELECT add_collection('c', 'simple')")
    add_documents(db, "c", DOCUMENTS)
    waiting = db.rows("SELECT chunk_id FROM pgblend._next_embeddings('half', NULL)")
    pairs = zip(waiting, ANGLES.values(), strict=True)
    stage(db, [(chunk, unit(angle)) for (chunk,), angle in pairs])
    db.rows("SELECT pgblend._store_embeddings('half')")
    before = search(db, feedback={"passages": 0})
    moved = ANGLES[next(iter(before))] / 2  # halfway to the first
    cosines = {key: math.cos(math.radians(angle - moved)) for key, angle in ANGLES.items()}
    words = {key: raw for key, (_, raw) in before.items() if raw is not None}
    found = search(db, feedback={"passages": 1, "weight": 1})
    assert {key: score for key, (score, _) in found.items()} == pytest.approx(
        expected(words, cosines), abs=2e-3
    )
