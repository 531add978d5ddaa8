"""Two sessions that make embedding spaces at once: the second waits, and is told."""

import threading

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database
from support.waiting import wait_until


@pytest.mark.parametrize("name", ["one", "other"])
def test_two_spaces_at_once(committed: Database, name: str) -> None:
    make = "SELECT blend.create_embedding_space(%s, 'm', 3, 'vector', probe => false)"
    told: list[str] = []

    def second() -> None:
        with connect(committed.url) as opened:
            try:
                Database(opened).rows(make, name)
            except psycopg.Error as error:
                told.append(str(error.sqlstate))

    with connect(committed.url) as opened, opened.transaction():
        Database(opened).rows(make, "one")
        thread = threading.Thread(target=second)
        thread.start()
        wait_until(lambda: bool(committed.value("SELECT count(*) FROM pg_locks WHERE NOT granted")))
    thread.join()
    assert told == (["42710"] if name == "one" else [])
    assert committed.column("SELECT name FROM embedding_spaces WHERE active") == [name]
