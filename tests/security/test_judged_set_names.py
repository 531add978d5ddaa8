"""Names of judged sets are a collection's own: no writer takes, or reads, another's."""

from collections.abc import Callable

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.measure.learn import learn
from support.database import Database


@pytest.fixture
def writer(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Database:
    """A writer of `theirs` alone; `ours` has a document as well."""
    opened = Database(connect_as("pgblend_writer"))
    for name in ("ours", "theirs"):
        committed.rows("SELECT add_collection(%s)", name)
        committed.rows("SELECT ingest_document(%s, 'k', 'a walrus')", name)
    role = opened.connection.info.user
    committed.rows("SELECT grant_collection('theirs', %s, 'write')", role)
    return opened


def test_a_writer_stops_no_feedback_of_another_collection(
    committed: Database, writer: Database
) -> None:
    writer.rows("SELECT blend.add_judged_set('feedback: ours', 'theirs')")
    chunk = committed.value("SELECT chunk_id FROM chunks WHERE collection = 'ours'")
    committed.rows("SELECT pgblend._note_feedback('walrus', %s, 1)", chunk)
    assert writer.rows("SELECT query FROM blend.judgements") == []
    assert committed.rows("SELECT name, collection, judgements FROM judged_sets ORDER BY 2") == [
        ("feedback: ours", "ours", 1),
        ("feedback: ours", "theirs", 0),
    ]


def test_where_several_have_the_name_the_call_says_which(
    committed: Database, writer: Database
) -> None:
    committed.rows("SELECT add_judged_set('mine', 'ours')")
    writer.rows("SELECT blend.add_judged_set('mine', 'theirs')")
    said = committed.error("SELECT record_judgement('mine', 'of the board', 'k', 1)")
    assert said.sqlstate == "42725"
    assert said.message_primary == 'judged set "mine" is of several collections: ours, theirs'
    committed.rows("SELECT record_judgement('mine', 'of the board', 'k', 1, 'ours')")
    assert writer.rows("SELECT query FROM blend.judgements") == []
    writer.rows("SELECT blend.record_judgement('mine', 'walrus', 'k', 1)")
    start = "SELECT pgblend._start_run('mine', 'lexical', NULL, NULL, 10%s)"
    assert committed.error(start % "").sqlstate == "42725"
    run = committed.value(start % ", 'theirs'")
    assert committed.rows("SELECT run_id, collection FROM evaluation_runs") == [(run, "theirs")]
    committed.rows("SELECT add_judged_set('mine', NULL)")
    committed.rows("SELECT record_judgement('mine', 'of all', 'k', 1, '')")
    assert committed.value("SELECT collection FROM judgements WHERE query = 'of all'") is None
    assert committed.value("SELECT remove_judged_set('mine', '')") is True
    assert committed.error("SELECT remove_judged_set('mine')").sqlstate == "42725"
    assert committed.value("SELECT remove_judged_set('mine', 'theirs')") is True
    assert committed.value("SELECT remove_judged_set('mine', 'theirs')") is False
    assert committed.column("SELECT query FROM judgements") == ["of the board"]
    assert committed.error("SELECT add_judged_set('mine', 'ours')").sqlstate == "42710"


def test_clicks_are_joined_by_no_other_collection_s_judgements(
    committed: Database, writer: Database
) -> None:
    """What a collection's people judged is a set of its own, whatever another calls its sets."""
    committed.rows("SELECT ingest_document('ours', 'l', 'a seal')")
    writer.rows("SELECT ingest_document('theirs', 'l', 'a seal')")
    writer.rows("SELECT blend.add_judged_set('feedback: ours', 'theirs')")
    writer.rows("SELECT blend.record_judgement('feedback: ours', 'walrus', 'l', 1)")
    writer.rows("SELECT blend.add_judged_set('learned: ours', 'theirs')")
    chunk = committed.value(
        "SELECT chunk_id FROM chunks WHERE collection = 'ours' AND content = 'a walrus'"
    )
    committed.rows("SELECT pgblend._note_feedback('walrus', %s, 1)", chunk)
    with connect(committed.url) as connection:
        assert learn(connection, "ours").judged == 1
    assert committed.rows(
        "SELECT query, source_key FROM judgements"
        " WHERE judged_set = 'learned: ours' AND collection = 'ours'"
    ) == [("walrus", "k")]
