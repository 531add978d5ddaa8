"""What a coordinator learns of clicks is what one node learns of the same ones."""

import json
from collections.abc import Iterator

import pytest

from support.database import Database
from support.search_log import log_search
from support.shards import Scale, run_command

QUERIES, SEARCHES = 4, 20
GRADES = (
    "SELECT query, source_key, grade FROM judgements WHERE judged_set = 'learned: books'"
    ' ORDER BY query, source_key COLLATE "C"'
)
CHUNKS = (
    "SELECT d.source_key, c.document_id, c.chunk_id FROM chunks AS c"
    " INNER JOIN documents AS d USING (document_id)"
)


@pytest.fixture
def clicked(two_shards: Scale) -> Iterator[Scale]:
    """Queries that show two documents each, the second of which is opened."""
    two_shards.clear()
    for number in range(2 * QUERIES):
        two_shards.add("books", f"d{number}", f"word{number % QUERIES} text {number}")
    two_shards.add("rest", "d0", "word0 of another collection")
    for database in (two_shards.one, two_shards.coordinator):
        note_clicks(database)
    yield two_shards
    for database in (two_shards.one, two_shards.coordinator):
        database.rows("SELECT remove_judged_set(s.name) FROM judged_sets AS s")
        database.rows("DELETE FROM pgblend_data.search_log")
        database.rows("DELETE FROM pgblend_data.click")


def note_clicks(database: Database) -> None:
    ids = {key: more for key, *more in database.rows(CHUNKS + " WHERE d.collection = 'books'")}
    role = str(database.value("SELECT session_user::text"))
    for number in range(QUERIES * SEARCHES):
        shown = [ids[f"d{number % QUERIES + more}"] for more in (0, QUERIES)]
        found = [
            {"rank": rank, "chunk_id": chunk, "document_id": document, "score": 1}
            for rank, (document, chunk) in enumerate(shown, 1)
        ]
        search = log_search(
            database, query=f"Word{number % QUERIES}", collections=["books"], results=found,
            role_name=role,
        )  # fmt: skip
        database.rows("SELECT click(%s, %s)", search, shown[1][1])
    # It was deleted since, and one was judged by hand.
    database.rows("SELECT pgblend._note_feedback('word2', %s, -1)", ids[f"d{2 + QUERIES}"][1])


@pytest.mark.slow
def test_learned_is_what_one_node_learns(clicked: Scale) -> None:
    clicked.forget("books", "d1")
    learn = "eval", "learn", "-c", "books", "--json"
    both = clicked.one, clicked.coordinator
    one, other = (json.loads(run_command(database.url, *learn)) for database in both)
    assert other == one
    told = {name: one[name] for name in ("clicks", "documents", "relevant", "judged", "queries")}
    assert told == {
        "clicks": QUERIES * SEARCHES, "documents": 2 * QUERIES - 1, "relevant": QUERIES,
        "judged": 1, "queries": QUERIES - 1,
    }  # fmt: skip
    grades, of_shards = (database.rows(GRADES) for database in both)
    assert of_shards == grades
    assert ("word2", f"d{2 + QUERIES}", -1) in grades
    with clicked.without(1):
        said = run_command(clicked.coordinator.url, *learn, fails=True)
        assert "not all of collection 'books' is known: answering without some shards" in said
        assert "1 of 2 did not answer (b1: " in said
    assert clicked.coordinator.rows(GRADES) == grades
