"""150 sessions for two minutes, writers and sealers among them: every row is held against a model.

A reader takes chunks and search results in one snapshot, and does BM25 over the chunks by hand.
"""

import random
from collections.abc import Iterator
from itertools import pairwise

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.bm25 import CHUNKS, FOUND, bm25
from support.server import throwaway_server
from support.sessions import run_sessions

SECONDS = 120
WRITERS, SEALERS, READERS = 20, 2, 128
WORDS = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]  # with digits they were identifiers
DOCUMENTS = 150
INGEST = "SELECT ingest_document('crowd', %s, 'x', chunks => %s, content_hash => %s)"


@pytest.fixture
def url() -> Iterator[str]:
    """A migrated database on a server that lets so many in, without limits of a search's time."""
    with throwaway_server(max_connections="200") as parameters:
        url = make_conninfo("", **parameters, dbname="postgres")
        runner.upgrade(url)
        with connect(url) as connection:
            connection.execute("SELECT add_collection('crowd', 'simple')")
            connection.execute(
                "SELECT set_setting('timeouts_ms', '{\"lexical\": 600000, \"total\": 600000}')"
            )
            for number in range(DOCUMENTS):
                write_one(connection, random.Random(number), str(number))
        yield url


def write_one(connection: psycopg.Connection, chance: random.Random, key: str) -> None:
    """Add or replace a document of a few chunks."""
    chunks = [
        {"content": " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))}
        for _ in range(chance.randint(1, 5))
    ]
    connection.execute(INGEST, [key, Jsonb(chunks), str(chance.random())])


def write(connection: psycopg.Connection, chance: random.Random) -> str:
    """Change a few documents in one transaction, which is sometimes rolled back."""
    with connection.transaction(force_rollback=chance.random() < 0.1):
        for _ in range(chance.randint(1, 3)):
            key = str(chance.randrange(DOCUMENTS))
            if chance.random() < 0.3:
                connection.execute("SELECT delete_document('crowd', %s)", [key])
            else:
                write_one(connection, chance, key)
    return "written"


def seal(connection: psycopg.Connection, chance: random.Random) -> str:
    """Seal or rebuild."""
    call = "lexical_rebuild('crowd')" if chance.random() < 0.1 else "lexical_seal('crowd')"
    connection.execute(f"SELECT {call}")
    return "sealed"


def read(connection: psycopg.Connection, chance: random.Random) -> str:
    """Search in one snapshot, and compare each row and score with BM25 done by hand."""
    query = chance.choices(WORDS, k=chance.randint(1, 4))
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        chunks = connection.execute(CHUNKS).fetchall()
        found = connection.execute(FOUND, [" ".join(query)]).fetchall()
    expected = bm25(chunks, query)
    assert dict(found) == pytest.approx(dict(expected), rel=1e-9)
    # Sums that are equal may differ in the last bit, and what is shared out of them be a tie.
    assert all(first > after * (1 - 1e-9) for (_, first), (_, after) in pairwise(found))
    return "read"


@pytest.mark.slow
@pytest.mark.fault("150 sessions for two minutes, writers and sealers", "every row is the model's")
def test_every_row_of_every_session_is_the_models(url: str) -> None:
    steps = [write] * WRITERS + [seal] * SEALERS + [read] * READERS
    done = run_sessions(url, steps, SECONDS, least=3)
    with connect(url) as connection:
        assert read(connection, random.Random(0)) == "read"
        row = connection.execute("SELECT status, last_error FROM lexical_status()").fetchone()
    assert row == ("ready", None), done
    print(f"{len(steps)} sessions in {SECONDS} s: {dict(done)}")
