"""A seeded random walk over several sessions, each search held against BM25 done by hand.

Sessions add, replace and delete documents, seal and rebuild, in transactions that stay open, roll
back or go back to a savepoint. What a session finds must be exactly what BM25 gives over the chunks
that it sees.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg.errors import ActiveSqlTransaction, LockNotAvailable, SerializationFailure

from pgblend.cli.base.database import connect
from support.bm25 import CHUNKS, FOUND, bm25

SESSIONS = 4
STEPS = 400
WORDS = [f"word{letter}" for letter in "abcdefghijkl"]  # with digits they were identifiers


class Session:
    """A connection with a transaction that may be open, and what it can do."""

    def __init__(self, connection: psycopg.Connection, chance: random.Random) -> None:
        self.connection = connection
        self.chance = chance
        connection.execute("SET lock_timeout = 50")

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open."""
        return self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def begin(self) -> None:
        """Open a transaction, sometimes at a higher isolation level."""
        level = self.chance.choice(["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"])
        if not self.is_open:
            self.connection.execute(f"BEGIN ISOLATION LEVEL {level}")

    def end(self) -> None:
        """Commit or roll back."""
        self.connection.execute(self.chance.choice(["COMMIT", "COMMIT", "ROLLBACK"]))

    def ingest(self) -> None:
        """Add or replace a document of a few chunks."""
        chunks = [
            {"content": " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 9)))}
            for _ in range(self.chance.randint(1, 4))
        ]
        key = f"key{self.chance.randrange(200)}"
        self.connection.execute(
            "SELECT ingest_document('walk', %s, 'x', chunks => %s, content_hash => %s)",
            [key, psycopg.types.json.Jsonb(chunks), str(self.chance.random())],
        )

    def delete(self) -> None:
        """Delete a document that may be there."""
        key = f"key{self.chance.randrange(200)}"
        self.connection.execute("SELECT delete_document('walk', %s)", [key])

    def seal(self) -> None:
        """Seal what is pending."""
        self.connection.execute("SELECT lexical_seal('walk')")

    def rebuild(self) -> None:
        """Make the index anew."""
        self.connection.execute("SELECT lexical_rebuild('walk')")

    def go_back(self) -> None:
        """Do something, look at it, and undo it by a savepoint."""
        if self.is_open:
            self.connection.execute("SAVEPOINT here")
            for action in self.chance.choices([self.ingest, self.delete, self.seal], k=3):
                action()
            self.search()
            self.connection.execute("ROLLBACK TO here")

    def search(self) -> None:
        """Search, and compare with BM25 over the chunks that this session sees."""
        self.search_for(self.chance.choices(WORDS, k=self.chance.randint(1, 4)))

    def search_for(self, query: list[str]) -> None:
        """Search for these words, and compare."""
        chunks = self.connection.execute(CHUNKS).fetchall()
        found = self.connection.execute(FOUND, [" ".join(query)]).fetchall()
        expected = bm25(chunks, query)
        assert [row[0] for row in found] == [row[0] for row in expected]
        assert [row[1] for row in found] == pytest.approx([row[1] for row in expected], rel=1e-9)


@pytest.fixture
def sessions(database_url: str, connection: psycopg.Connection) -> Iterator[list[Session]]:
    """Several sessions on a database with the collection `walk`."""
    connection.execute("SELECT add_collection('walk', 'simple')")
    connection.execute(  # a segment that is large enough to have dead rows without being merged
        "SELECT ingest_document('walk', 'key' || n, format('word%s word%s',"
        " chr(97 + n % 12), chr(97 + n % 5)))"
        " FROM generate_series(1, 200) AS n"
    )
    connection.execute("SELECT lexical_seal('walk')")
    chance = random.Random()
    with ExitStack() as stack:
        yield [Session(stack.enter_context(connect(database_url)), chance) for _ in range(SESSIONS)]


@pytest.mark.fault("a deletion rolled back after a seal", "the document is found again")
def test_a_deletion_that_was_rolled_back_is_forgotten(sessions: list[Session]) -> None:
    session = sessions[0]
    for end, key in (("ROLLBACK", "key3"), ("COMMIT", "key4")):
        session.connection.execute("BEGIN")
        session.connection.execute("SELECT delete_document('walk', %s)", [key])
        session.connection.execute("SELECT lexical_seal('walk')")
        session.search_for(["word3", "word4"])
        session.connection.execute(end)
        session.search_for(["word3", "word4"])


@pytest.mark.slow
@pytest.mark.fault(
    "sessions that write, seal, roll back at random",
    "each search is BM25 by hand over what it sees",
)
@pytest.mark.parametrize("seed", range(6))
def test_every_search_is_bm25_over_the_chunks_that_its_session_sees(
    sessions: list[Session], seed: int
) -> None:
    chance = sessions[0].chance
    chance.seed(seed)
    done = Counter[str]()
    actions: dict[Callable[[Session], None], int] = {
        Session.begin: 3,
        Session.end: 4,
        Session.ingest: 8,
        Session.delete: 4,
        Session.seal: 4,
        Session.rebuild: 1,
        Session.go_back: 2,
        Session.search: 6,
    }
    for _ in range(STEPS):
        session = chance.choice(sessions)
        (action,) = chance.choices(list(actions), weights=list(actions.values()))
        try:
            action(session)
            done[action.__name__] += 1
        except (LockNotAvailable, SerializationFailure, ActiveSqlTransaction) as error:
            # Waiting for another session, or having seen too little for an isolation level.
            done[type(error).__name__] += 1
            session.connection.execute("ROLLBACK")
    for session in sessions:
        session.connection.execute("COMMIT")
        session.search()
    statuses = sessions[0].connection.execute("SELECT status FROM lexical_status()").fetchall()
    assert statuses == [("ready",)]
    assert min(done[action.__name__] for action in actions) > 0, done
