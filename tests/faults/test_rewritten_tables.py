"""Searches, ingests and seals beside VACUUM FULL and CLUSTER: they wait, and none is a deadlock."""

import random

import psycopg
import pytest
from psycopg import sql

from support.database import Database
from support.sessions import run_sessions

SECONDS = 20
WORDS = [f"word{n}" for n in range(40)]
TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r'"
    " AND relnamespace = 'pgblend_data'::regnamespace"
)
INDEXES = (
    "SELECT i.indrelid::regclass::text, c.relname FROM pg_index AS i"
    " INNER JOIN pg_class AS c ON c.oid = i.indexrelid INNER JOIN pg_am AS a ON a.oid = c.relam"
    " WHERE c.relnamespace = 'pgblend_data'::regnamespace AND a.amname = 'btree'"
    " AND i.indpred IS NULL"
)


def text(chance: random.Random) -> str:
    return " ".join(chance.choices(WORDS, k=60))


def ingest(connection: psycopg.Connection, chance: random.Random) -> str:
    """Replace a document, after a search in the same transaction: it holds locks already."""
    with connection.transaction():
        connection.execute("SELECT count(*) FROM hybrid_search(%s)", [chance.choice(WORDS)])
        key = str(chance.randrange(50))
        connection.execute("SELECT ingest_document('c', %s, %s)", [key, text(chance)])
    return "ingested"


def search(connection: psycopg.Connection, chance: random.Random) -> str:
    connection.execute("SELECT * FROM hybrid_search(%s)", [chance.choice(WORDS)]).fetchall()
    return "searched"


def write(connection: psycopg.Connection, chance: random.Random) -> str:
    """Change a row of an attached table, and a document's metadata; delete another document."""
    number = chance.randrange(50)
    connection.execute("UPDATE public.shop SET body = %s WHERE id = %s", [text(chance), number])
    connection.execute("SELECT delete_document('c', %s)", [str(number)])
    return "written"


def seal(connection: psycopg.Connection, chance: random.Random) -> str:
    connection.execute("SELECT lexical_seal('c')")
    return "sealed"


def vacuum(connection: psycopg.Connection, chance: random.Random) -> str:
    (name,) = chance.choice(connection.execute(TABLES).fetchall())
    connection.execute(sql.SQL("VACUUM FULL {}").format(sql.Identifier("pgblend_data", name)))
    return "vacuumed"


def cluster(connection: psycopg.Connection, chance: random.Random) -> str:
    table, index = chance.choice(connection.execute(INDEXES).fetchall())
    connection.execute(f"CLUSTER {table} USING {index}")
    return "clustered"


@pytest.mark.slow
@pytest.mark.fault("VACUUM FULL and CLUSTER beside everything", "all wait; no deadlock")
def test_nobody_meets_a_deadlock(committed: Database, database_url: str) -> None:
    committed.rows("SELECT add_collection('c')")
    committed.rows("CREATE TABLE public.shop (id int PRIMARY KEY, body text)")
    committed.rows("INSERT INTO public.shop SELECT g, 'word1' FROM generate_series(0, 49) AS g")
    committed.rows("SELECT attach_table('shop', '{body}')")
    steps = [ingest, ingest, search, write, seal, vacuum, cluster]
    done = run_sessions(database_url, steps, SECONDS, 20)
    assert done["DeadlockDetected"] == 0, done
    assert min(done[name] for name in ("ingested", "searched", "written", "vacuumed")) >= 20
    assert committed.rows("SELECT * FROM check_attached_tables()") == []
