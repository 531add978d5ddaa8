"""Vectors that were made elsewhere: stored by anybody who may write, or refused by row."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import Database, add_documents

STORE = "SELECT store_embeddings(%s, %s::bigint[], %s::text[]::vector[])"


@pytest.fixture
def chunks(db: Database) -> list[int]:
    """Three chunks of a collection, and spaces that they need vectors of three dimensions in."""
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [(f"{i}", f"T {i}", f"text {i}") for i in range(3)])
    create = "SELECT create_embedding_space(%s, 'm', 3, %s, brings_vectors => %s, probe => false)"
    db.rows(create, "mine", "vector", True)
    db.rows(create, "half", "halfvec", False)
    return db.column("SELECT chunk_id FROM chunks ORDER BY 1")


def test_vectors_are_stored_and_replaced(db: Database, chunks: list[int]) -> None:
    assert db.value(STORE, "mine", chunks, ["[1,0,0]", "[0,1,0]", "[0,0,1]"]) == 3
    assert db.value(STORE, "mine", chunks[:1], ["[0,0.5,0]"]) == 1
    stored = "SELECT embedding::text FROM chunk_embeddings(%s, 'mine') ORDER BY chunk_id"
    assert db.column(stored, chunks) == ["[0,0.5,0]", "[0,1,0]", "[0,0,1]"]
    assert db.value("SELECT store_embeddings('mine', '{}', '{}')") == 0
    nearest = (
        "SELECT chunk_id FROM vector_search(NULL, 1, query_embedding => '[0,0,2]',"
        """ options => '{"space": "mine"}')"""
    )
    assert db.column(nearest) == chunks[2:]


def test_a_chunk_with_its_vector_waits_for_none(db: Database, chunks: list[int]) -> None:
    halves = "SELECT store_embeddings('half', %s::bigint[], ARRAY['[1,2,3]'::halfvec]::vector[])"
    assert db.value(halves, chunks[:1]) == 1
    assert db.row("SELECT vectors, waiting, missing FROM count_vectors('half')") == (1, 2, 0)


@pytest.mark.parametrize(
    ("space", "third", "problem"),
    [
        ("mine", "[1,2]", "has 2 dimensions, not 3"),
        ("mine", None, "is NULL"),
        ("mine", "[0,-0,0]", "is zero in all dimensions"),
        ("mine", "[1e30,0,0]", "has the length 1e+30"),
        ("half", "[70000,0,0]", "has numbers beyond 65504"),
        ("half", "[1e-9,0,0]", "is zero in all dimensions once it is stored as halfvec"),
    ],
)
def test_a_wrong_vector_is_named_and_nothing_stored(
    db: Database, chunks: list[int], space: str, third: str | None, problem: str
) -> None:
    error = db.error(STORE, space, chunks, ["[1,0,0]", "[0,1,0]", third])
    assert error.sqlstate == "22023"
    assert f"row 3 (chunk {chunks[2]}): the vector {problem}" in str(error.message_primary)
    assert f'"{space}" holds vectors of "m" with 3 dimensions' in str(error.message_hint)
    assert db.value("SELECT vectors FROM count_vectors(%s)", space) == 0


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_what_is_no_number_is_no_vector(db: Database, chunks: list[int], number: str) -> None:
    error = db.error(STORE, "mine", chunks[:1], [f"[{number},0,0]"])
    assert "not allowed in vector" in str(error.message_primary)


def test_wrong_chunks_are_named(db: Database, chunks: list[int]) -> None:
    one, two = "[1,0,0]", "[0,1,0]"
    error = db.error(STORE, "mine", [chunks[0], chunks[0], -1], [one, two, two])
    assert error.message_primary == (
        f"row 2 (chunk {chunks[0]}): the chunk id came before (wrong rows: 2)"
    )
    error = db.error(STORE, "mine", [chunks[0], -1], [one, two])
    assert error.message_primary == "row 2 (chunk -1): there is no such chunk"
    error = db.error(STORE, "mine", [None], [one])
    assert error.message_primary == "row 1 (chunk NULL): the chunk id is NULL"
    error = db.error(STORE, "mine", chunks, [one, two])
    assert error.message_primary == (
        "there are 3 chunk_ids and 2 vectors: expected one vector for each chunk"
    )
    assert "NULL vectors" in str(db.error(STORE, "mine", chunks, None).message_primary)
    assert db.error(STORE, "nope", chunks[:1], [one]).sqlstate == "22023"
    assert db.value("SELECT vectors FROM count_vectors('mine')") == 0


def test_a_writer_stores_vectors_of_its_collections(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    for name in ("own", "seen", "hidden"):
        committed.rows("SELECT add_collection(%s)", name)
        add_documents(committed, name, [("k", "", f"a text of {name}")])
    committed.rows("SELECT create_embedding_space('mine', 'm', 2, brings_vectors => true)")
    chunk = {
        name: number for name, number in committed.rows("SELECT collection, chunk_id FROM chunks")
    }
    writer = Database(connect_as("pgblend_writer"))
    reader = Database(connect_as("pgblend_reader"))
    for name, privilege in (("own", "write"), ("seen", "read")):
        user = writer.connection.info.user
        committed.rows("SELECT grant_collection(%s, %s, %s)", name, user, privilege)
    assert writer.value(STORE, "mine", [chunk["own"]], ["[1,0]"]) == 1
    error = writer.error(STORE, "mine", [chunk["own"], chunk["seen"]], ["[0,1]", "[1,0]"])
    assert error.sqlstate == "42501"
    assert "row 2" in str(error.message_primary)
    error = writer.error(STORE, "mine", [chunk["hidden"]], ["[1,0]"])
    assert error.message_primary == f"row 1 (chunk {chunk['hidden']}): there is no such chunk"
    assert reader.error(STORE, "mine", [chunk["own"]], ["[1,0]"]).sqlstate == "42501"
    assert committed.column("SELECT embedding::text FROM pgblend_data.embedding_mine") == ["[1,0]"]
