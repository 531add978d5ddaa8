"""A search in a deadlock with somebody who takes tables, or their indexes, one after the other."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents
from support.locks import waits
from support.waiting import wait_until


def lock(session: psycopg.Connection, table: str) -> None:
    session.execute(f"LOCK TABLE pgblend_data.{table}".encode())


@pytest.mark.fault("a deadlock with REINDEX TABLE", "the search is tried once more")
def test_it_is_tried_once_more(committed: Database) -> None:
    """The search holds `segment` and wants `document`, REINDEX has this and wants that."""
    admin = committed.connection
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [("wine", "", "red wine"), ("sea", "", "the sea")])
    committed.rows("SELECT lexical_seal()")
    with (
        connect(committed.url) as searching,
        connect(committed.url) as reindexing,
        ThreadPoolExecutor() as threads,
    ):
        searching.execute("SET deadlock_timeout = '10ms'")  # so that it is the one to notice
        reindexing.execute("SET deadlock_timeout = '10min'")
        reindexing.execute("BEGIN")
        lock(reindexing, "document")
        with admin.transaction():
            lock(admin, "posting")
            rows = threads.submit(
                Database(searching).column, "SELECT source_key FROM lexical_search('wine')"
            )
            wait_until(lambda: rows.done() or waits(admin, searching))
            locked = threads.submit(lock, reindexing, "segment")
            wait_until(lambda: locked.done() or waits(admin, reindexing))
            assert not rows.done()
            assert not locked.done()
        locked.result()  # the search has given up what it held
        reindexing.execute("COMMIT")
        assert rows.result() == ["wine"]
