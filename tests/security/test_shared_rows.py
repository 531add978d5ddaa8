"""Rows of no collection: a writer changes none of another's, and counts what it may see."""

from collections.abc import Callable

import psycopg
import pytest

from support.database import SPACE, Database, add_documents, add_space, embed_waiting

Connect = Callable[..., psycopg.Connection]
# Rows that no collection owns, and that a writer may change or delete.
CHANGEABLE = (
    "SELECT c.relname::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace = 'pgblend_data'::regnamespace"
    " AND (has_any_column_privilege(c.oid, 'UPDATE') OR has_table_privilege(c.oid, 'DELETE')"
    " OR has_table_privilege(c.oid, 'TRUNCATE'))"
    " AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid"
    " AND a.attname = 'collection_id')"
)
WORKERS = "SELECT to_jsonb(w) FROM pgblend_data.embedding_worker AS w ORDER BY w.id"


@pytest.fixture
def library(committed: Database) -> Database:
    """Two collections in a space, and texts that may be sent at one a second."""
    add_space(committed)
    for name in ("a", "b"):
        committed.rows("SELECT add_collection(%s)", name)
        add_documents(committed, name, [(k, "Title", f"walrus of {k}") for k in "klmno"])
    committed.rows("SELECT set_setting('embedding_texts_per_minute', '60')")
    return committed


@pytest.fixture
def writers(library: Database, connect_as: Connect) -> tuple[Database, Database]:
    """A writer of each collection."""
    both = Database(connect_as("pgblend_writer")), Database(connect_as("pgblend_writer"))
    for name, writer in zip("ab", both, strict=True):
        role = writer.connection.info.user
        library.rows("SELECT grant_collection(%s, %s, 'write')", name, role)
    return both


def test_a_writer_changes_no_row_of_anothers_worker(
    library: Database, writers: tuple[Database, Database]
) -> None:
    attacker, owner = writers
    worker = owner.value("SELECT pgblend._start_worker('host', 1)")
    library.rows("UPDATE pgblend_data.embedding_worker SET seen_at = now() - interval '8 days'")
    before = library.column(WORKERS)
    assert attacker.column(CHANGEABLE) == ["embedding_worker"]
    attacker.rows("DELETE FROM pgblend_data.embedding_worker")
    attacker.rows("UPDATE pgblend_data.embedding_worker SET stored = -1, seen_at = 'infinity'")
    owner.rows("SELECT pgblend._stop_worker(%s)", worker)
    attacker.rows("SELECT pgblend._start_worker('other', 2)")
    assert library.column(WORKERS)[:-1] == before
    error = attacker.error(
        "INSERT INTO pgblend_data.embedding_worker (host, process, started_by) VALUES ('', 1, %s)",
        owner.connection.info.user,
    )
    assert error.sqlstate == "42501"
    owner.rows("SELECT pgblend._start_worker('host', 3)")  # forgets its own of last week
    assert [row["process"] for row in library.column(WORKERS)] == [2, 3]


def test_a_worker_is_of_the_role_in_force(
    library: Database, writers: tuple[Database, Database]
) -> None:
    """A pooler's login role starts workers for many."""
    role = writers[0].connection.info.user
    with library.connection.transaction():
        library.rows(f"SET LOCAL ROLE {role}")
        library.rows("SELECT pgblend._start_worker('host', 1)")
    assert library.value("SELECT started_by FROM pgblend_data.embedding_worker") == role


def test_a_writer_takes_of_what_may_be_sent_and_gives_nothing(
    library: Database, writers: tuple[Database, Database]
) -> None:
    attacker, owner = writers
    take = "SELECT count(*) FROM pgblend._next_embeddings(%s, 3, pgblend._start_worker('host', 1))"
    assert attacker.value(take, SPACE) == 3
    texts = "SELECT texts FROM pgblend_data.embedding_allowance"
    assert library.value(texts) == 7
    for statement in (
        "DELETE FROM pgblend_data.embedding_allowance",
        "UPDATE pgblend_data.embedding_allowance SET texts = 1e9",
        f"INSERT INTO pgblend_data.embedding_allowance VALUES ('{SPACE}', 1e9, 'infinity')",
    ):
        assert attacker.error(statement).sqlstate == "42501"
    taken = "SELECT pgblend._take_allowance(%s, %s)"
    attacker.rows(taken, SPACE, -(10**6))  # gives none back
    assert library.value(texts) == 7
    attacker.rows(taken, SPACE, 10**9)  # nor does it take what is yet to come
    assert library.value(texts) == 0
    library.rows("UPDATE pgblend_data.embedding_allowance SET counted_at = now() - interval '3 s'")
    assert owner.value(take, SPACE) == 3


def test_counts_are_of_visible_collections(
    library: Database, writers: tuple[Database, Database], connect_as: Connect
) -> None:
    embed_waiting(library)
    add_documents(library, "b", [("p", "Title", "an otter")])
    counts = "SELECT * FROM blend.count_vectors()"
    nobody = Database(connect_as("pgblend_reader"))
    assert nobody.row(counts) == (SPACE, 0, 0, 0, 0, 0, None, None)
    assert writers[0].row(counts) == (SPACE, 5, 5, 0, 0, 0, None, None)
    assert writers[1].row(counts) == (SPACE, 6, 5, 1, 0, 0, None, None)
    admin = Database(connect_as("pgblend_admin"))
    *counted, table_bytes, index_bytes = admin.row(counts)
    assert counted == [SPACE, 11, 10, 1, 0, 0]
    assert min(table_bytes, index_bytes) > 0
    before = nobody.rows(counts), nobody.rows("SELECT * FROM blend.embedding_spaces")
    add_documents(library, "b", [(f"q{n}", "Title", "an otter") for n in range(50)])
    embed_waiting(library)
    assert (nobody.rows(counts), nobody.rows("SELECT * FROM blend.embedding_spaces")) == before
