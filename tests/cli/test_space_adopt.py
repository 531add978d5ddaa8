"""`pgblend space adopt`: vectors that a table has, by passage or by source, in batches."""

import json

import psycopg
import pytest

from support.database import Database, add_documents

LONG = " ".join(f"Sentence number {n} tells of the sea." for n in range(400))


@pytest.fixture
def library(connection) -> Database:
    """A collection of 400 documents, one of them long, and a space that waits for vectors."""
    db = Database(connection)
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k' || g, 'text ' || g) FROM generate_series(1, 399) AS g")
    add_documents(db, "c", [("long", "", LONG)])
    db.rows("SELECT create_embedding_space('mine', 'm', 3, probe => false)")
    return db


def counts(db: Database) -> tuple:
    return db.row("SELECT vectors, waiting FROM count_vectors('mine')")


def test_vectors_by_source_key(pgblend, library):
    library.rows(
        "CREATE TABLE public.ready AS SELECT source_key AS path, document_id AS n,"
        " ARRAY[1, document_id, 0]::real[]::halfvec AS v FROM documents"
    )
    library.rows("INSERT INTO ready VALUES ('nobody', 0, '[1,2,3]'), (NULL, 0, '[1,2,3]')")
    library.rows("UPDATE ready SET v = '[0,0,0]' WHERE path = 'k7'")
    waiting = counts(library)[1]
    adopt = ("space", "adopt", "mine", "ready", "-c", "c", "--key", "path", "--vectors", "v")
    result = pgblend(*adopt)
    assert result.exit_code == 4, result.stderr
    assert "mine: 399 of 402 vectors taken over, 0 were there" in result.stderr
    assert "3 rows of ready were left out" in result.stderr
    assert "k7 has a vector that is zero in all dimensions" in result.stderr
    assert counts(library) == (399, waiting - 399)
    wrong = library.value(
        "SELECT count(*) FROM pgblend_data.embedding_mine AS e"
        " WHERE e.embedding::real[] <> ARRAY[1, e.document_id, 0]::real[] OR e.chunk_index > 0"
    )
    assert wrong == 0
    library.rows("DELETE FROM pgblend_data.embedding_mine WHERE document_id % 2 = 0")
    library.rows("DELETE FROM ready WHERE n = 0 OR path = 'k7'")
    again = json.loads(pgblend(*adopt, "--json").stdout)
    assert again["stored"] + again["present"] == again["found"] == 399
    assert (again["wrong"], again["examples"]) == (0, [])
    assert 150 < again["stored"] < 250


def test_vectors_by_passage_of_a_partitioned_table(pgblend, library):
    library.rows("CREATE TABLE public.old (id bigint, v vector) PARTITION BY HASH (id)")
    for part in range(2):
        library.rows(
            f"CREATE TABLE old_{part} PARTITION OF old"
            f" FOR VALUES WITH (MODULUS 2, REMAINDER {part})"
        )
    library.rows("INSERT INTO old SELECT chunk_id, '[1,2,3]' FROM chunks")
    adopt = ("space", "adopt", "mine", "public.old", "--key", "id", "--vectors", "v")
    result = pgblend(*adopt)
    assert result.exit_code == 0, result.stderr
    assert counts(library) == (library.value("SELECT count(*) FROM chunks"), 0)
    library.rows("UPDATE old SET v = '[3,2,1]'")
    assert "0 of" in pgblend(*adopt).stderr
    assert pgblend(*adopt, "--replace").exit_code == 0
    assert library.column("SELECT DISTINCT embedding::text FROM pgblend_data.embedding_mine") == [
        "[3,2,1]"
    ]


@pytest.mark.extended
@pytest.mark.parametrize("more", [(), ("--replace",)])
def test_keys_that_come_more_than_once_are_named(pgblend, library, more):
    """The second rows come in other batches, so that nothing in a batch is repeated."""
    library.rows("CREATE TABLE public.twice (id bigint, v vector)")
    for first in (1, 4):
        library.rows(
            f"INSERT INTO twice SELECT chunk_id, ARRAY[{first}, 2, 3]::real[] FROM chunks"
            f" ORDER BY chunk_id LIMIT 400 / {first}"
        )
    library.rows("INSERT INTO twice VALUES (NULL, '[1,2,3]'), (NULL, '[1,2,3]')")
    adopt = ("space", "adopt", "mine", "twice", "--key", "id", "--vectors", "v", *more)
    result = pgblend(*adopt)
    assert "warning: 100 keys come more than once (1" in result.stderr
    assert "the vector of one of its rows" in result.stderr
    found = json.loads(pgblend(*adopt, "--json").stdout)
    assert (found["repeated"], len(found["repeated_keys"])) == (100, 3)
    library.rows("DELETE FROM twice WHERE id IS NULL OR v = '[4,2,3]'")
    assert "more than once" not in pgblend(*adopt).stderr


def test_a_writer_takes_vectors_over_that_it_may_read(pgblend, library, url_as):
    url = url_as("pgblend_writer")
    role = psycopg.conninfo.conninfo_to_dict(url)["user"]
    library.rows("SELECT grant_collection('c', %s, 'write')", role)
    library.rows(
        "CREATE TABLE public.ready AS SELECT chunk_id AS id, '[1,2,3]'::vector AS v FROM chunks"
    )
    adopt = ("space", "adopt", "mine", "public.ready", "--key", "id", "--vectors", "v")
    refused = pgblend(*adopt, url=url)
    assert refused.exit_code != 0
    assert "permission denied for table ready" in refused.stderr
    library.rows(f'GRANT SELECT ON public.ready TO "{role}"')
    result = pgblend(*adopt, url=url)
    assert result.exit_code == 0, result.stderr
    assert counts(library) == (library.value("SELECT count(*) FROM chunks"), 0)


def test_errors_name_what_is_wrong(pgblend, library):
    library.rows("CREATE TABLE public.ready (id bigint, v vector(3), t text)")
    for table, key, vectors, told in (
        ("nope", "id", "v", "there is no table nope"),
        ("ready", "nope", "v", "has no column nope"),
        ("ready", "id", "t", "column t is of type text: expected vector or halfvec"),
    ):
        result = pgblend("space", "adopt", "mine", table, "--key", key, "--vectors", vectors)
        assert (result.exit_code != 0, told in result.stderr) == (True, True), result.stderr
