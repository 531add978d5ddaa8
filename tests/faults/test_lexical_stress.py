"""Writers, sealers and readers at once: every snapshot's search must be complete and exact."""

import random
import time

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from support.sessions import run_sessions
from support.word_lists import add_word_lists

pytestmark = pytest.mark.extended

SECONDS = 12
WORDS = [f"word{n}" for n in range(40)]
INGEST = "SELECT ingest_document('stress', %s, 'x', chunks => %s, content_hash => %s)"
# One statement, so one snapshot: what the arm finds beside what the chunks say.
COMPARE = """
    WITH found AS (
        SELECT u.chunk_id, u.score FROM word_list(
            'lexical', %(word)s, '{1}', NULL, pgblend._search_settings(
                '{"candidate_depth": 10000, "timeouts_ms": {"lexical": 60000}}', NULL, '{1}')) AS a,
            unnest(a.chunk_ids, a.scores) AS u (chunk_id, score)
    ), expected AS (
        SELECT c.id FROM pgblend_data.chunk AS c WHERE c.content ~ %(pattern)s
    )
    SELECT
        (SELECT count(*) FROM found),
        (SELECT count(DISTINCT chunk_id) FROM found),
        (SELECT count(*) FROM found FULL JOIN expected AS e ON e.id = found.chunk_id
            WHERE e.id IS NULL OR found.chunk_id IS NULL),
        (SELECT concat_ws(' ', c.n, c.total_length, c.df[1])
            FROM lexical_counts('{1}', '{simple}', ARRAY[%(word)s], false) AS c),
        (SELECT concat_ws(' ', count(*), coalesce(sum(
                (SELECT count(*) FROM unnest(c.lexemes) AS l, unnest(l.positions))), 0),
            count(*) FILTER (WHERE %(word)s = ANY(tsvector_to_array(c.lexemes))))
            FROM pgblend_data.chunk AS c WHERE c.collection_id = 1)
"""


def compare(connection: psycopg.Connection, word: str) -> int:
    """Hold one word's search against the chunks; return how many it found."""
    parameters = {"word": word, "pattern": rf"\m{word}\M"}
    row = connection.execute(COMPARE, parameters).fetchone()
    assert row is not None
    found, distinct, different, statistics, expected = row
    assert (distinct, different) == (found, 0)
    assert statistics == expected
    return int(found)


def write(connection: psycopg.Connection, chance: random.Random) -> str:
    """Add, replace or delete a few documents in one transaction."""
    with connection.transaction(force_rollback=chance.random() < 0.1):
        for _ in range(chance.randint(1, 3)):
            key = str(chance.randrange(150))
            if chance.random() < 0.3:
                connection.execute("SELECT delete_document('stress', %s)", [key])
                continue
            chunks = [
                {"content": " ".join(chance.choices(WORDS, k=6))}
                for _ in range(chance.randint(1, 60))
            ]
            connection.execute(INGEST, [key, Jsonb(chunks), str(chance.random())])
    return "written"


def seal(connection: psycopg.Connection, chance: random.Random) -> str:
    """Seal or rebuild."""
    call = "lexical_rebuild('stress')" if chance.random() < 0.1 else "lexical_seal('stress')"
    connection.execute(f"SELECT {call}")
    time.sleep(0.02)
    return "sealed"


def read(connection: psycopg.Connection, chance: random.Random) -> str:
    """Search once."""
    compare(connection, chance.choice(WORDS))
    return "read"


def read_again(connection: psycopg.Connection, chance: random.Random) -> str:
    """Search the same twice in one snapshot, with others writing in between."""
    word = chance.choice(WORDS)
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        first = compare(connection, word)
        time.sleep(0.3)
        assert compare(connection, word) == first
    return "read again"


@pytest.mark.slow
@pytest.mark.fault("writers, sealers and readers at once", "no chunk missed or doubled")
def test_concurrent_sessions_never_miss_nor_double_a_chunk(
    database_url: str, connection: psycopg.Connection
) -> None:
    assert connection.execute("SELECT add_collection('stress', 'simple')").fetchone() == (1,)
    add_word_lists(connection)
    steps = (write, write, write, seal, read, read, read_again)
    done = run_sessions(database_url, steps, SECONDS, least=6)
    connection.execute("SELECT lexical_seal('stress')")
    assert sum(compare(connection, word) for word in WORDS) > 0
    row = connection.execute("SELECT status, last_error FROM lexical_status()").fetchone()
    assert row == ("ready", None), done


@pytest.mark.fault("seals and rebuilds beside an open snapshot", "the snapshot sees its own rows")
@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ"])
def test_a_snapshot_outlives_seals_and_rebuilds(
    database_url: str, connection: psycopg.Connection, isolation: str
) -> None:
    connection.execute("SELECT add_collection('stress', 'simple')")
    add_word_lists(connection)
    write_all = "SELECT ingest_document('stress', n::text, 'word1 word' || n)"
    connection.execute(f"{write_all} FROM generate_series(1, 300) AS n")
    with connect(database_url) as reader, reader.transaction():
        reader.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        assert compare(reader, "word1") == 300
        connection.execute("SELECT lexical_seal('stress')")
        connection.execute("DELETE FROM pgblend_data.document WHERE id % 3 = 0")
        connection.execute("SELECT lexical_rebuild('stress')")
        expected = 300 if isolation == "REPEATABLE READ" else 200
        assert compare(reader, "word1") == expected
