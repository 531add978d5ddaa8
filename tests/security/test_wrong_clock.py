"""A clock that was a year ahead for a while stops nothing afterwards."""

from support.database import Database, add_space

AHEAD = "now() + interval '1 year'"


def test_a_failed_seal_of_next_year_stops_no_seal(committed: Database) -> None:
    db = committed
    db.rows("SELECT add_collection('books')")
    db.rows("SELECT ingest_document('books', 'k', 'a walrus')")
    collection = db.value("SELECT id FROM pgblend_data.collection")
    failed = "INSERT INTO pgblend_data.lexical_failure VALUES (%s, 'it failed', {})"
    db.rows(failed.format("now()"), collection)
    assert db.value("SELECT pgblend._seal_waiting(1)") == 0
    db.rows("DELETE FROM pgblend_data.lexical_failure")
    db.rows(failed.format(AHEAD), collection)
    assert db.value("SELECT pgblend._seal_waiting(1)") == 1


def test_neither_do_an_allowance_and_a_time_to_try_again(committed: Database) -> None:
    db = committed
    add_space(db, "s", 3)
    db.rows("SELECT set_setting('embedding_texts_per_minute', '600')")
    db.rows("SELECT add_collection('books')")
    db.rows("SELECT ingest_document('books', 'k', 'a walrus')")
    db.rows(f"INSERT INTO pgblend_data.embedding_allowance VALUES ('s', 100, {AHEAD})")
    db.rows(f"UPDATE pgblend_data.embedding_queue SET not_before = {AHEAD}")
    assert len(db.rows("SELECT * FROM pgblend._next_embeddings('s', 10)")) == 1
    assert db.value("SELECT pgblend._embedding_allowance('s', 10)") == 10
