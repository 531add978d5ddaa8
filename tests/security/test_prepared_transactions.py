"""Two-phase commit: a transaction that stores documents can be prepared while a worker waits."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.database import Database, add_documents, add_space
from support.server import throwaway_server

pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A database of a server where transactions may be prepared."""
    with throwaway_server(max_prepared_transactions="4") as parameters:
        admin = make_conninfo("", **parameters, dbname="postgres")
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE DATABASE prepared")
        url = make_conninfo("", **parameters, dbname="prepared")
        runner.upgrade(url)
        yield url


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_documents_are_stored_in_two_phases_while_a_worker_waits(url: str, end: str) -> None:
    name = end.lower()
    with connect(url) as storing, connect(url) as waiting:
        db, worker = Database(storing), Database(waiting)
        db.rows("SELECT add_collection(%s)", name)
        add_space(db, f"space_{name}", 3)
        number = worker.value("SELECT pgblend._start_worker('host', 1)")
        worker.rows("LISTEN pgblend_embedding")
        worker.rows("UPDATE pgblend_data.embedding_worker SET waits = true WHERE id = %s", number)
        db.rows("BEGIN")
        add_documents(db, name, [("k", "", f"a walrus of {name}")])
        db.rows(f"PREPARE TRANSACTION '{name}'")
        found = "SELECT count(*) FROM lexical_search('walrus', 10, ARRAY[%s])"
        take = "SELECT count(*) FROM pgblend._next_embeddings(%s, 10, %s)"
        assert worker.value(found, name) == 0
        assert worker.value(take, f"space_{name}", number) == 0
        # Others go on meanwhile.
        add_documents(worker, name, [("l", "", f"a walrus beside {name}")])
        worker.rows(f"{end} PREPARED '{name}'")
        stored = 2 if end == "COMMIT" else 1
        assert worker.value(found, name) == stored
        assert worker.value(take, f"space_{name}", number) == stored
        assert db.value("SELECT lexical_rebuild(%s)", name) == stored
        db.rows("SELECT remove_collection(%s)", name)
