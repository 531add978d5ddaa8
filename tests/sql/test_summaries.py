"""Contextual prefixes and summaries: what is embedded, and what a change embeds anew."""

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database, add_documents, add_space, embed_waiting
from support.waiting import wait_until

ON = '{"summaries": true, "embedding_prefix": "summary"}'


@pytest.fixture
def library(db: Database) -> Database:
    """A collection with three embedded documents, one of them without a title."""
    db.rows("SELECT add_collection('c')")
    add_space(db, "s", 3)
    add_documents(db, "c", [("a", "A", "text a"), ("b", "B", "text b"), ("n", "", "no title")])
    embed_waiting(db, "s", 3)
    return db


def settings(db: Database, **values: str) -> None:
    pairs = ", ".join(f'"{name}": {value}' for name, value in values.items())
    db.rows("SELECT set_collection_settings('c', %s)", "{" + pairs + "}")


def inputs(db: Database) -> list[str]:
    return db.column("SELECT input FROM pgblend._next_embeddings('s', NULL)")


def waiting(db: Database) -> list[str]:
    """Keys of the documents that wait for a summary."""
    return db.column(
        "SELECT d.source_key FROM pgblend_data.document_summary AS m"
        " JOIN pgblend_data.document AS d ON d.id = m.document_id"
        " WHERE m.summary IS NULL ORDER BY 1"
    )


def start_worker(db: Database) -> int:
    return int(db.value("SELECT pgblend._start_worker('host', 7)"))


def document(db: Database, key: str) -> int:
    return int(db.value("SELECT document_id FROM documents WHERE source_key = %s", key))


def test_a_statement_over_collections_queues_only_changed_texts_of_those_with_summaries(
    library: Database,
) -> None:
    library.rows("SELECT add_collection('other')")
    add_documents(library, "other", [("o", "O", "text o"), ("p", "P", "text p")])
    settings(library, summaries="true")
    for key in "abnop":
        library.rows("SELECT set_summary(%s, 'short')", document(library, key))
    assert waiting(library) == []
    library.rows(
        "UPDATE pgblend_data.document SET modified_at = now(),"
        " content_hash = CASE WHEN source_key IN ('a', 'o') THEN 'another' ELSE content_hash END"
    )
    assert waiting(library) == ["a"]
    kept = "SELECT d.source_key FROM pgblend_data.document_summary AS m JOIN"
    kept += (
        " pgblend_data.document AS d ON d.id = m.document_id WHERE m.summary = 'short' ORDER BY 1"
    )
    assert library.column(kept) == ["b", "n", "p"]


def test_another_prefix_embeds_what_it_touches(library: Database) -> None:
    assert inputs(library) == []
    settings(library, embedding_prefix='"none"')
    assert inputs(library) == ["text a", "text b"]  # "no title" is embedded as it was
    embed_waiting(library, "s", 3)
    settings(library, chunk_size_tokens="300")
    assert inputs(library) == []
    settings(library, embedding_prefix="null")
    assert inputs(library) == ["title: A | text: text a", "title: B | text: text b"]
    assert library.value("SELECT count(*) FROM pgblend_data.embedding_s") == 3  # still searchable


def test_the_setting_of_the_database_counts_where_a_collection_has_none(library: Database) -> None:
    library.rows("""SELECT add_collection('own', settings => '{"embedding_prefix": "title"}')""")
    add_documents(library, "own", [("o", "O", "text o")])
    embed_waiting(library, "s", 3)
    library.rows("SELECT set_setting('embedding_prefix', '\"none\"')")
    assert inputs(library) == ["text a", "text b"]
    embed_waiting(library, "s", 3)
    library.rows("SELECT reset_setting('embedding_prefix')")
    assert len(inputs(library)) == 2


def test_another_prefix_of_the_database_leaves_what_waits_for_a_summary(library: Database) -> None:
    settings(library, summaries="true")
    library.rows("SELECT set_setting('embedding_prefix', '\"none\"')")
    assert waiting(library) == ["a", "b", "n"]


def test_a_summary_embeds_its_document_anew(library: Database) -> None:
    settings(library, embedding_prefix='"summary"')
    assert inputs(library) == ["text a", "text b"]  # no summaries yet
    embed_waiting(library, "s", 3)
    assert library.value("SELECT set_summary(%s, ' About B. ')", document(library, "b")) is True
    assert inputs(library) == ["About B.\n---\ntext b"]
    embed_waiting(library, "s", 3)
    assert library.value("SELECT set_summary(%s, 'About B.')", document(library, "b")) is True
    assert inputs(library) == []  # the same once more
    assert library.value("SELECT set_summary(%s, NULL)", document(library, "b")) is True
    assert inputs(library) == ["text b"]
    assert library.value("SELECT set_summary(-1, 'x')") is False
    summaries = "SELECT summary FROM documents WHERE source_key = 'b'"
    assert library.value(summaries) is None


def test_a_summary_that_is_no_prefix_embeds_nothing(library: Database) -> None:
    library.rows("SELECT set_summary(%s, 'About A.')", document(library, "a"))
    assert inputs(library) == []
    assert library.value("SELECT summary FROM documents WHERE source_key = 'a'") == "About A."
    settings(library, embedding_prefix='"summary"')
    assert inputs(library) == ["About A.\n---\ntext a", "text b"]


def test_who_waits_for_a_summary(library: Database) -> None:
    assert waiting(library) == []
    for kind in ("application/x-slack-export", "message/rfc822", "text/plain"):
        library.rows(
            "SELECT ingest_document('c', %s, %s, media_type => %s)", kind, f"in {kind}", kind
        )
    library.rows("SELECT set_summary(%s, 'About A.')", document(library, "a"))
    settings(library, summaries="true")
    assert waiting(library) == ["b", "n", "text/plain"]
    add_documents(library, "c", [("new", "", "new text"), ("a", "A", "another text")])
    assert waiting(library) == ["a", "b", "n", "new", "text/plain"]
    library.rows("SELECT set_metadata(%s, '{}')", document(library, "new"))
    settings(library, summaries="false")
    assert waiting(library) == []
    add_documents(library, "c", [("off", "", "text")])
    assert waiting(library) == []


def test_a_new_text_loses_the_summary_of_the_old(library: Database) -> None:
    library.rows("SELECT set_summary(%s, 'About A.')", document(library, "a"))
    add_documents(library, "c", [("a", "A", "another text")])
    assert library.value("SELECT summary FROM documents WHERE source_key = 'a'") is None


def test_claims_and_failures(committed: Database, database_url: str) -> None:
    committed.rows("SELECT add_collection('c', settings => %s)", ON)
    committed.rows("SELECT set_setting('summary_model', '\"openai/test-chat\"')")
    add_space(committed, "s", 3)
    long = [{"content": "one "}, {"content": "one two three", "own_start": 4}]
    committed.rows(
        "SELECT ingest_document('c', 'a', '', title => 'A', content_hash => 'h', chunks => %s)",
        psycopg.types.json.Jsonb(long),
    )
    add_documents(committed, "c", [("b", "B", "text b")])
    take = "SELECT title, content FROM pgblend._next_summaries(%s, %s, %s)"
    worker = start_worker(committed)
    assert committed.rows(take, 1, 1000, worker) == [("A", "one \ntwo three")]
    with connect(database_url) as opened, connect(database_url) as third:
        other = Database(opened)
        assert other.rows(take, 10, 3, start_worker(other)) == [("B", "tex")]
        assert Database(third).rows(take, 10, 3, start_worker(Database(third))) == []
    wait_until(lambda: committed.value("SELECT pgblend._live_workers()") == [worker])
    assert inputs(committed) == []  # both wait for their summaries
    a, b = document(committed, "a"), document(committed, "b")
    committed.rows("SELECT pgblend._fail_summary(%s, 'too long', true)", a)
    assert inputs(committed) == ["one ", "one two three"]  # embedded without
    found = committed.rows(take, 10, 1000, worker)
    assert found == [("B", "text b"), ("A", "one \ntwo three")]
    store = "SELECT pgblend._store_summary(%s, %s, 'About.', 'key')"
    assert committed.value(store, b, "another hash") is False
    hash_of = "SELECT content_hash FROM documents WHERE document_id = %s"
    assert committed.value(store, b, committed.value(hash_of, b)) is True
    assert inputs(committed) == ["one ", "one two three", "About.\n---\ntext b"]
    for _ in range(2):
        committed.rows("SELECT pgblend._fail_summary(%s, 'too long', true)", a)
    assert committed.rows(take, 10, 1000, worker) == []  # given up
    committed.rows("SELECT set_setting('summary_model', 'null')")


def test_a_failure_of_the_model_is_not_the_texts(committed: Database) -> None:
    committed.rows("SELECT add_collection('c', settings => %s)", ON)
    add_documents(committed, "c", [("a", "A", "text a")])
    take = f"SELECT title FROM pgblend._next_summaries(10, 10, {start_worker(committed)})"
    for _ in range(5):
        assert committed.column(take) == ["A"]
        committed.rows(
            "SELECT pgblend._fail_summary(%s, 'no answer', false)", document(committed, "a")
        )


def test_a_worker_that_has_an_old_text_loses_its_claim(library: Database) -> None:
    settings(library, embedding_prefix='"none"')
    library.rows("UPDATE pgblend_data.embedding_queue SET worker = 1, attempts = 2")
    settings(library, embedding_prefix='"title"')
    rows = library.rows("SELECT worker, attempts FROM pgblend_data.embedding_queue")
    assert rows == [(None, 0), (None, 0)]


def test_wrong_settings(library: Database) -> None:
    for wrong, expected in (
        ('{"summaries": 1}', "true or false"),
        ('{"embedding_prefix": "x"}', "title, summary, none"),
    ):
        error = library.error("SELECT set_collection_settings('c', %s)", wrong)
        assert error.sqlstate == "22023"
        assert expected in str(error.message_primary)
