import json
import threading
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database

INGEST = "SELECT document_id, status, chunk_count FROM ingest_document"


@pytest.fixture(autouse=True)
def collection(request: pytest.FixtureRequest) -> None:
    name = "committed" if "committed" in request.fixturenames else "db"
    request.getfixturevalue(name).rows("SELECT add_collection('c')")


def chunk_ids(db: Database) -> list[int]:
    return db.column("SELECT chunk_id FROM chunks ORDER BY document_id, chunk_index")


def test_added_unchanged_replaced(db: Database) -> None:
    first = db.row(f"{INGEST}('c', 'k', 'one two')")
    assert first[1:] == ("added", 1)
    ids = chunk_ids(db)
    assert db.row(f"{INGEST}('c', 'k', 'one two')") == (first[0], "unchanged", 1)
    assert chunk_ids(db) == ids
    assert db.row(f"{INGEST}('c', 'k', 'three')") == (first[0], "replaced", 1)
    assert not set(chunk_ids(db)) & set(ids)  # new text, new id
    assert db.rows("SELECT * FROM lexical_search('one')") == []
    assert db.column("SELECT content FROM lexical_search('three')") == ["three"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("uri => 'file:///k'", "updated"),
        ("metadata => '{\"a\": 1}'", "updated"),
        ("media_type => 'text/plain'", "updated"),
        ("modified_at => '2026-01-02'", "updated"),
        ("title => 'Title'", "replaced"),  # the title is in every chunk's words
        ("language => 'german'", "replaced"),
        ("content_hash => 'other'", "replaced"),
        ("title => ''", "unchanged"),
        ("metadata => NULL", "unchanged"),
        ("language => 'english'", "unchanged"),
    ],
)
def test_what_changes(db: Database, arguments: str, status: str) -> None:
    db.rows(f"{INGEST}('c', 'k', 'text')")
    ids = chunk_ids(db)
    assert db.row(f"{INGEST}('c', 'k', 'text', {arguments})")[1:] == (status, 1)
    assert (chunk_ids(db) == ids) == (status != "replaced")
    assert db.row(f"{INGEST}('c', 'k', 'text', {arguments})")[1] == "unchanged"


def test_hash_is_the_sha256_of_the_content(db: Database) -> None:
    db.rows(f"{INGEST}('c', 'k', 'Füchse 🦊')")
    digest = sha256("Füchse 🦊".encode()).hexdigest()
    assert db.value("SELECT content_hash FROM documents") == digest
    db.rows(f"{INGEST}('c', 'k', 'other text', content_hash => %s)", digest)
    assert db.column("SELECT content FROM chunks") == ["Füchse 🦊"]


def test_long_texts_are_split(db: Database) -> None:
    text = "\n\n".join(f"Paragraph {i}. " + "Some words follow here. " * 20 for i in range(12))
    count = db.row(f"{INGEST}('c', 'k', %s)", text)[2]
    rows = db.rows(
        "SELECT chunk_index, content, start_offset, end_offset, own_start, start_line, token_count"
        " FROM chunks ORDER BY chunk_index"
    )
    assert count == len(rows) > 2
    assert [row[0] for row in rows] == list(range(count))
    for _, content, start, end, own_start, line, tokens in rows:
        assert text[start:end] == content
        assert 0 <= own_start < len(content)
        assert line == text.count("\n", 0, start) + 1
        assert 0 < tokens <= 400


def test_settings_of_the_collection_split(db: Database) -> None:
    settings = {"chunk_size_tokens": 20, "chunk_overlap_tokens": 0, "min_chunk_size_tokens": 0}
    db.rows("SELECT add_collection('small', settings => %s)", json.dumps(settings))
    assert db.row(f"{INGEST}('small', 'k', %s)", "word " * 100)[2] >= 5


def test_given_chunks(db: Database) -> None:
    chunks = [
        {"content": "alpha", "kind": "code", "heading": "H", "own_start": 2, "token_count": 9},
        {"content": "beta", "metadata": {"x": 1}, "pages": [1, 2], "start_line": 4, "end_line": 5},
    ]
    db.rows(f"{INGEST}('c', 'k', NULL, content_hash => 'h', chunks => %s)", json.dumps(chunks))
    columns = (
        "chunk_index, content, kind, heading, own_start, pages, start_line, end_line, metadata"
    )
    assert db.rows(f"SELECT {columns} FROM chunks ORDER BY 1") == [
        (0, "alpha", "code", "H", 2, None, None, None, {}),
        (1, "beta", "doc", None, 0, [1, 2], 4, 5, {"x": 1}),
    ]
    assert db.column("SELECT token_count FROM chunks ORDER BY chunk_index") == [9, 1]


@pytest.mark.parametrize(
    ("chunks", "part"),
    [
        ({}, "expected an array"),
        (None, "expected an array"),
        ("text", "expected an array"),
        ([1], "chunk 0 is 1: expected an object"),
        ([[{"content": "x"}]], "expected an object"),
        ([{"content": "x"}, {}], 'chunk 1 is {}: "content": expected a string'),
        ([{"content": None}], '"content"'),
        ([{"content": 5}], '"content"'),
        ([{"content": "x", "kind": "poem"}], '"kind": expected code, doc'),
        ([{"content": "x", "metadata": [1]}], '"metadata": expected an object'),
        ([{"content": "x", "own_start": 2}], '"own_start"'),
        ([{"content": "x", "own_start": -1}], '"own_start"'),
        ([{"content": "x", "own_start": "0"}], '"own_start"'),
    ],
)
def test_wrong_chunks(db: Database, chunks: Any, part: str) -> None:
    db.rows(f"{INGEST}('c', 'k', 'old text')")
    error = db.error(f"{INGEST}('c', 'k', 'new text', chunks => %s)", json.dumps(chunks))
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint
    assert db.column("SELECT content FROM chunks") == ["old text"]


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "part"),
    [
        ("'nope', 'k', 'x'", "42704", 'no collection "nope"'),
        ("NULL, 'k', 'x'", "42704", "no collection NULL"),
        ("'c', NULL, 'x'", "22023", "source_key is NULL"),
        ("'c', '', 'x'", "22023", "source_key is ''"),
        ("'c', repeat('k', 2001), 'x'", "22023", "2001 bytes long"),
        ("'c', 'k', NULL", "22004", "neither content nor content_hash"),
        ("'c', 'k', NULL, content_hash => 'h'", "22023", "chunks is NULL"),
        ("'c', 'k', 'x', metadata => '[]'", "22023", "metadata of document"),
        ("'c', 'k', 'x', language => 'klingon'", "22023", "no text search configuration"),
    ],
)
def test_wrong_arguments(db: Database, arguments: str, sqlstate: str, part: str) -> None:
    error = db.error(f"{INGEST}({arguments})")
    assert error.sqlstate == sqlstate
    assert part in str(error.message_primary)
    assert error.message_hint
    assert db.rows("SELECT * FROM documents") == []


@pytest.mark.parametrize("content", ["", " \n\t "])
def test_blank_content_has_no_chunks(db: Database, content: str) -> None:
    assert db.row(f"{INGEST}('c', 'k', %s)", content)[1:] == ("added", 0)
    assert db.value("SELECT chunks FROM documents") == 0


def test_words_too_long_to_index_are_left_out_quietly(db: Database) -> None:
    db.rows(f"{INGEST}('c', 'k', %s)", "short " + "x" * 5000)
    assert db.column("SELECT source_key FROM lexical_search('short')") == ["k"]
    assert db.notices == []


def test_chunks_are_immutable(db: Database) -> None:
    db.rows(f"{INGEST}('c', 'k', 'text')")
    table = "UPDATE pgblend_data.chunk SET"
    for change in (
        "content = 'other'",
        "heading = 'x'",
        "own_start = 1",
        "lexemes = 'x'",
        "id = DEFAULT",
    ):
        error = db.error(f"{table} {change}")
        assert error.sqlstate == "0A000"
        assert "immutable" in str(error.message_primary)
    db.rows(f"{table} metadata = '{{\"a\": 1}}', token_count = 9, piece_tokens = '{{9}}'")
    assert db.value("SELECT metadata FROM chunks") == {"a": 1}


def test_bucket_and_keys_are_on_every_row(db: Database) -> None:
    db.rows(f"{INGEST}('c', 'k', 'text')")
    rows = db.rows("SELECT collection_id, bucket FROM pgblend_data.document")
    assert db.rows("SELECT collection_id, bucket FROM pgblend_data.chunk") == rows
    assert 0 <= rows[0][1] < 4096
    buckets = db.column(
        "SELECT pgblend._bucket(c.id, i::text)"
        " FROM pgblend_data.collection AS c, generate_series(1, 2000) AS i"
    )
    assert min(buckets) >= 0
    assert max(buckets) <= 4095
    assert len(set(buckets)) > 1500


def race(url: str, actions: list[Callable[[psycopg.Connection], Any]]) -> list[Any]:
    """Run each action in a session of its own at the same time; return what they returned."""
    results: list[Any] = [None] * len(actions)
    barrier = threading.Barrier(len(actions))

    def work(index: int) -> None:
        with connect(url) as connection:
            barrier.wait()
            results[index] = actions[index](connection)

    threads = [threading.Thread(target=work, args=[i]) for i in range(len(actions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_many_writers_of_one_key(committed: Database, database_url: str) -> None:
    def write(text: str) -> Callable[[psycopg.Connection], Any]:
        return lambda connection: [
            connection.execute(f"{INGEST}('c', 'k', %s)", [f"{text} {i}"]).fetchone()
            for i in range(10)
        ]

    results = race(database_url, [write(text) for text in ("red", "green", "blue")])
    statuses = [row[1] for rows in results for row in rows]
    assert statuses.count("added") == 1
    assert set(statuses) <= {"added", "replaced"}
    assert committed.value("SELECT count(*) FROM documents") == 1
    assert committed.value("SELECT count(*) FROM chunks") == 1
    found = committed.column("SELECT content FROM lexical_search('red green blue')")
    assert found == committed.column("SELECT content FROM chunks")


def test_writers_and_deleters_of_one_key(committed: Database, database_url: str) -> None:
    def repeat(query: str) -> Callable[[psycopg.Connection], Any]:
        return lambda connection: [
            connection.execute(query, [f"text {i % 3}"]) and None for i in range(30)
        ]

    delete = "SELECT delete_document('c', left('k', length(%s)))"
    race(database_url, [repeat(f"{INGEST}('c', 'k', %s)"), repeat(delete), repeat(delete)])
    documents = committed.value("SELECT count(*) FROM documents")
    assert documents == committed.value("SELECT count(*) FROM chunks")


def test_a_writer_waits_for_the_other(committed: Database, database_url: str) -> None:
    with connect(database_url, autocommit=False) as other:
        other.execute(f"{INGEST}('c', 'k', 'first')")
        results: list[Any] = []
        thread = threading.Thread(
            target=lambda: results.append(committed.row(f"{INGEST}('c', 'k', 'second')"))
        )
        thread.start()
        thread.join(0.1)
        assert not results
        other.commit()
        thread.join(5)
    assert results[0][1:] == ("replaced", 1)


def test_set_metadata_stays_over_the_sources(db: Database) -> None:
    ingest = f"{INGEST}('c', 'k', 'one two', metadata => %s)"
    number, _, _ = db.row(ingest, '{"a": 1, "b": 1, "c": 1}')
    db.rows("""SELECT set_metadata(%s, '{"b": 2}')""", number)
    db.rows("""SELECT set_metadata(%s, '{"c": null, "d": {"x": null}}')""", number)
    assert db.row(ingest, '{"a": 1, "b": 1, "c": 1}') == (number, "unchanged", 1)
    assert db.row(ingest, '{"a": 7, "b": 3, "c": 4, "e": null}') == (number, "updated", 1)
    metadata = {"a": 7, "b": 2, "d": {"x": None}, "e": None}
    assert db.value("SELECT metadata FROM documents") == metadata
    # What lies under a key set by hand changes, and is there again once that is forgotten.
    assert db.row(ingest, '{"a": 7, "b": 5, "c": 4, "e": null}') == (number, "updated", 1)
    assert db.value("SELECT metadata FROM documents") == metadata
    sources = {"a": 7, "b": 5, "c": 4, "e": None}
    assert db.value("SELECT reset_metadata(%s)", number) == sources
    assert db.row(ingest, '{"a": 8}') == (number, "updated", 1)
    assert db.value("SELECT metadata FROM documents") == {"a": 8}


def test_metadata_replaced_by_hand_stay_as_they_are(db: Database) -> None:
    ingest = f"{INGEST}('c', 'k', 'one two', metadata => %s)"
    number, _, _ = db.row(ingest, '{"a": 1}')
    db.rows("""SELECT set_metadata(%s, '{"b": 2, "n": null}', merge => false)""", number)
    assert db.row(ingest, '{"a": 2}') == (number, "unchanged", 1)
    db.rows("""SELECT set_metadata(%s, '{"c": 3}')""", number)
    assert db.row(ingest, '{"a": 3}') == (number, "unchanged", 1)
    assert db.value("SELECT metadata FROM documents") == {"b": 2, "c": 3, "n": None}
    assert db.value("SELECT reset_metadata(%s)", number) == {"b": 2, "c": 3, "n": None}
    assert db.row(ingest, '{"a": 3}') == (number, "updated", 1)
    assert db.value("SELECT metadata FROM documents") == {"a": 3}
    error = db.error("SELECT reset_metadata(-1)")
    assert (error.sqlstate, error.message_primary) == ("42704", "there is no document -1")


def test_a_small_document_takes_few_statements(db: Database) -> None:
    run: list[str | None] = []
    db.connection.add_notice_handler(lambda notice: run.append(notice.message_primary))
    db.rows(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;"
        " SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice"
    )
    db.rows(f"{INGEST}('c', 'warm', 'some words')")
    for status, most in (("added", 29), ("unchanged", 17)):
        run.clear()
        assert db.row(f"{INGEST}('c', 'k', 'other words')")[1] == status
        assert 5 < len(run) <= most


def test_a_wrong_chunk_is_refused_also_where_nothing_changed(db: Database) -> None:
    db.rows(f"{INGEST}('c', 'k', 'text')")
    error = db.error(f"{INGEST}('c', 'k', 'text', chunks => '[{{\"content\": 1}}]')")
    assert (error.sqlstate, error.message_primary) == (
        "22023",
        'chunk 0 is {"content": 1}: "content": expected a string',
    )
