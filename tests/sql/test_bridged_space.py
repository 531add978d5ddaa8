"""A space that answers while it is still being filled: older vectors by a matrix, one ranking."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
import pytest
from numpy.typing import NDArray

from support.database import Database, add_documents, vector_literal

DOCUMENTS = 400
OLDER, NEWER = 24, 32
Vectors = NDArray[np.float64]


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


class Library:
    """Passages with vectors by two models, of which the newer has those of the first `filled`."""

    def __init__(self, db: Database, newer: Vectors, older: Vectors, filled: int) -> None:
        self.db, self.newer, self.older = db, newer, older
        db.rows("SELECT add_collection('c')")
        add_documents(db, "c", [(f"{i}", "", f"word text {i}") for i in range(DOCUMENTS)])
        self.ids = db.column("SELECT id FROM pgblend_data.chunk ORDER BY id")
        create = "SELECT create_embedding_space(%s, %s, %s, active => %s, probe => false)"
        db.rows(create, "older", "m1", older.shape[1], True)
        db.rows(create, "newer", "m2", newer.shape[1], False)
        self.store("older", older, range(DOCUMENTS))
        self.store("newer", newer, range(filled))

    def store(self, space: str, vectors: Vectors, places: range) -> None:
        ids = [self.ids[place] for place in places]
        literals = [vector_literal(vectors[place].tolist()) for place in places]
        self.db.rows("SELECT store_embeddings(%s, %s, %s::vector[])", space, ids, literals)

    def search(
        self, query: Vectors, options: object = None, limit: int = 10
    ) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.db.rows(
            "SELECT chunk_id, score, details ->> 'space'"
            " FROM vector_search(NULL, %s, options => %s::jsonb, query_embedding => %s::vector)",
            *(limit, json.dumps(options or {}), vector_literal(query.tolist())),
        )
        return rows

    def nearest(self, query: Vectors, count: int = 10) -> set[int]:
        best = np.argsort(-(unit(self.newer) @ query), kind="stable")[:count]
        return {self.ids[place] for place in best}


def models(seed: int = 7, noise: float = 0.02) -> tuple[Vectors, Vectors]:
    """Return vectors of two models that see the same, but for noise."""
    rng = np.random.default_rng(seed)
    older = unit(rng.normal(size=(DOCUMENTS, OLDER)) + 0.5)
    turned = np.linalg.qr(rng.normal(size=(NEWER, OLDER)))[0].T
    return unit(older @ turned + noise * rng.normal(size=(DOCUMENTS, NEWER))), older


@pytest.fixture(scope="module")
def stored(module_connection: psycopg.Connection) -> Library:
    return Library(Database(module_connection), *models(), filled=250)


@pytest.fixture
def library(stored: Library, db: Database) -> Library:
    """What the module has stored, in the test's transaction."""
    stored.db = db
    return stored


@contextmanager
def as_role(db: Database, role: str) -> Iterator[None]:
    db.rows(f"SET ROLE {role}")
    yield
    db.rows("RESET ROLE")


def bridge(db: Database) -> tuple[Any, ...]:
    return db.row("SELECT instead_of, pairs, kept, recall FROM bridge_embedding_space('newer')")


@pytest.mark.parametrize("scan", ["auto", "exact", "index"])
def test_both_kinds_of_passages_are_one_ranking(library: Library, scan: str) -> None:
    instead_of, pairs, kept, recall = bridge(library.db)
    assert (instead_of, pairs) == ("older", 250)
    assert 0.98 <= kept <= 1
    assert 0.8 <= recall <= kept
    found_by, kept_of = set(), []
    for query in unit(library.newer[300:330] + 0.02):
        rows = library.search(query, {"vector_scan": scan})
        assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)
        for chunk_id, _, space in rows:
            assert space == ("newer" if chunk_id in library.ids[:250] else "older")
        found_by |= {row[2] for row in rows}
        kept_of.append(len({row[0] for row in rows} & library.nearest(query)) / 10)
    assert found_by == {"newer", "older"}
    assert np.mean(kept_of) >= 0.9


def test_words_alone_have_the_cosines_of_either_model(library: Library) -> None:
    bridge(library.db)
    query = unit(library.newer[390] + 0.01)
    rows = library.db.rows(
        "SELECT chunk_id, relevance, details ->> 'space', details ->> 'relevance_basis'"
        " FROM hybrid_search('390', 3, query_embedding => %s::vector)",
        vector_literal(query.tolist()),
    )
    assert rows[0][0] == library.ids[390]
    assert rows[0][2] == "older"
    assert rows[0][1] is not None


def test_what_would_lose_too_much_is_refused_and_told(library: Library) -> None:
    db = library.db
    library.store("newer", np.random.default_rng(1).permutation(library.newer), range(250))
    said = db.error("SELECT * FROM bridge_embedding_space('newer')")
    assert said.sqlstate == "55000"
    assert re.fullmatch(
        r'vectors of "older" cannot stand in for those of "newer":'
        r" \d\d\.\d % of the nearest passages would be lost",
        str(said.message_primary),
    )
    assert "Of 250 passages with both vectors" in str(said.message_detail)
    assert "pgblend space fill newer" in str(said.message_hint)
    assert db.value("SELECT name FROM embedding_spaces WHERE active") == "older"
    assert db.rows("SELECT FROM pgblend_data.space_bridge") == []


def test_it_ends_by_itself(library: Library) -> None:
    db = library.db
    bridge(db)
    state = "SELECT active, bridged_from FROM embedding_spaces WHERE name = 'newer'"
    library.store("newer", library.newer, range(250, DOCUMENTS - 1))
    assert db.row(state) == (True, "older")
    query = unit(library.newer[-1])
    ((chunk_id, score, space),) = library.search(query, limit=1)
    assert (chunk_id, space) == (library.ids[-1], "older")
    assert 0.9 < score <= 1
    library.store("newer", library.newer, range(DOCUMENTS - 1, DOCUMENTS))
    assert db.row(state) == (True, None)
    assert db.rows("SELECT FROM pgblend_data.space_bridge") == []
    ((chunk_id, score, space),) = library.search(query, limit=1)
    assert (chunk_id, score, space) == (library.ids[-1], pytest.approx(1, abs=1e-6), None)
    assert db.value("SELECT drop_embedding_space('older')")


def test_collections_that_are_whole_need_no_older_vectors(library: Library) -> None:
    db = library.db
    bridge(db)
    db.rows("DELETE FROM pgblend_data.document WHERE source_key::integer >= 250")
    assert db.value("SELECT bridged_from FROM embedding_spaces WHERE active") == "older"
    rows = library.search(unit(library.newer[0]))
    assert {space for *_, space in rows} == {None}


def test_filters_documents_and_other_stages(library: Library) -> None:
    db = library.db
    bridge(db)
    vector = vector_literal(unit(library.newer[300] + 0.02).tolist())
    found = db.rows(
        "SELECT document_id, details ->> 'space' FROM vector_search(NULL, 5,"
        ' filter => \'{"$source_key": {"in": ["7", "300", "301"]}}\', query_embedding => %s)',
        vector,
    )
    assert sorted(space for _, space in found) == ["newer", "older", "older"]
    for options in ('{"level": "document"}', '{"mmr": {"lambda": 0.5}}', '{"fusion": "rrf"}'):
        rows = db.rows(
            "SELECT chunk_id FROM hybrid_search('word text', 10, options => %s,"
            " query_embedding => %s)",
            options,
            vector,
        )
        assert len({chunk_id for (chunk_id,) in rows}) == 10
    trace = db.value(
        "SELECT search_diagnose('text 300', '300', query_embedding => %s)::text", vector
    )
    assert trace


def test_back_and_out_of_order(library: Library) -> None:
    db = library.db
    bridge(db)
    assert db.error("SELECT bridge_embedding_space('newer')").sqlstate == "55000"
    db.rows("SELECT create_embedding_space('third', 'm3', 3, active => false, probe => false)")
    said = db.error("SELECT bridge_embedding_space('third')")
    assert 'passages without a vector in "newer" are still found by "older"' in str(
        said.message_primary
    )
    said = db.error("SELECT drop_embedding_space('older')")
    assert (said.sqlstate, "are found by embedding space" in str(said.message_primary)) == (
        "55006",
        True,
    )
    assert db.error("SELECT switch_embedding_space('newer')").sqlstate == "55000"
    assert db.value("SELECT switch_embedding_space('older')") == "newer"
    assert db.rows("SELECT FROM pgblend_data.space_bridge") == []
    assert db.column("SELECT bridged_from FROM embedding_spaces") == [None] * 3
    bridge(db)
    db.rows("SELECT switch_embedding_space('newer', true)")  # alone, as it is
    assert {space for *_, space in library.search(unit(library.newer[0]))} == {None}
    db.rows("SELECT switch_embedding_space('older')")
    bridge(db)
    assert db.value("SELECT drop_embedding_space('newer', true)")
    assert db.rows("SELECT FROM pgblend_data.space_bridge") == []


def test_only_admins_and_only_their_own_matrix(library: Library) -> None:
    db = library.db
    with as_role(db, "pgblend_writer"):
        assert db.error("SELECT bridge_embedding_space('newer')").sqlstate == "42501"
        assert db.error("DELETE FROM pgblend_data.space_bridge").sqlstate == "42501"
        assert (
            db.error("SELECT pgblend._keep_bridge('newer', '{}', '[1]', 1, 1)").sqlstate == "42501"
        )
    with as_role(db, "pgblend_admin"):
        keep = "SELECT pgblend._keep_bridge('newer', %s::vector[], %s::vector, 1, 1)"
        row = f"[{','.join(['0'] * NEWER)}]"
        for rows, shift, message in [
            (["[1]"], row, "the matrix has 1 rows: expected 24"),
            (["[1]"] * OLDER, row, "expected 32 dimensions, not 1"),
            ([row] * OLDER, "[1]", "expected 32 dimensions, not 1"),
        ]:
            assert message in str(db.error(keep, rows, shift).message_primary)
        assert db.error("UPDATE pgblend_data.space_bridge SET pairs = 1").sqlstate == "42501"
        bridge(db)
    with as_role(db, "pgblend_writer"):
        assert db.value("SELECT pgblend._end_bridge('newer')") is False
    assert db.value("SELECT bridged_from FROM embedding_spaces WHERE active") == "older"


def test_few_pairs_and_no_space_before(library: Library) -> None:
    db = library.db
    keep = "DELETE FROM pgblend_data.embedding_newer WHERE chunk_id >= %s"
    db.rows(keep, library.ids[200])
    with db.connection.transaction(force_rollback=True):
        assert bridge(db)[1] == 200
    db.rows(keep, library.ids[199])
    said = db.error("SELECT bridge_embedding_space('newer')")
    assert "199 passages have a vector in both spaces: expected 200" in str(said.message_primary)
    assert db.error("SELECT bridge_embedding_space('nope')").sqlstate == "22023"
    db.rows("SELECT drop_embedding_space('older', true)")
    said = db.error("SELECT bridge_embedding_space('newer')")
    assert "searches use no embedding space yet" in str(said.message_primary)
