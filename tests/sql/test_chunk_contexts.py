"""What a table's rows are to be read with is searched and embedded with them, and shown apart."""

import json
from typing import Any

import pytest

from support.database import Database

ROWS = "Ulm 120 130\nBern 140 150"
CONTEXT = "Rainfall in millimetres\nStation | 2022 | 2023\nUlm, Bern"


def chunk(content: str, context: str | None = None, **more: object) -> dict[str, object]:
    return {"content": content, "context": context, **more}


def ingest(db: Database, key: str, *chunks: dict[str, object], title: str = "Yearbook") -> None:
    db.rows(
        "SELECT ingest_document('c', %s, '', title => %s, content_hash => %s, chunks => %s)",
        *(key, title, json.dumps(chunks), json.dumps(chunks)),
    )


@pytest.fixture
def tables(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    ingest(db, "rain", chunk("Some prose."), chunk(ROWS, CONTEXT))
    ingest(db, "other", chunk("Some prose."), chunk("Ulm 7 8\nBern 9 1"))
    return db


def test_rows_are_found_by_their_context_and_shown_as_they_are(tables: Database) -> None:
    found = tables.rows("SELECT source_key, content FROM lexical_search('rainfall in Bern')")
    assert found[0] == ("rain", ROWS)
    assert tables.column("SELECT source_key FROM lexical_search('\"in millimetres\"')") == ["rain"]
    assert tables.column("SELECT source_key FROM lexical_search('bern -rainfall')") == ["other"]
    shown = "SELECT context FROM chunks WHERE context IS NOT NULL"
    assert tables.column(shown) == [CONTEXT]


def test_only_words_that_the_chunk_lacks_are_added_and_they_count_for_no_length(
    tables: Database,
) -> None:
    with_context, without = tables.rows(
        "SELECT c.lexemes::text, p.length, p.own_length FROM pgblend_data.chunk AS c"
        " JOIN pgblend_data.pending AS p ON p.chunk_id = c.id"
        " WHERE c.chunk_index = 1 ORDER BY c.id"
    )
    assert "'rainfal':1C" in with_context[0]
    assert with_context[0].count("'ulm'") == 1
    assert "'ulm':8 " in f"{with_context[0]} "  # after six words of the context and the title
    assert with_context[1:] == without[1:]


def test_a_phrase_goes_from_no_context_into_the_text(tables: Database) -> None:
    ingest(tables, "gap", chunk("alpha"), chunk("gamma delta", "beta"), title="")
    assert tables.column("SELECT source_key FROM lexical_search('\"gamma delta\"')") == ["gap"]


def test_a_document_has_the_words_of_a_repeated_context_once(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    ingest(db, "k", *(chunk(f"row {n}", "header words") for n in range(5)))
    own = db.column(
        "SELECT c.own_position >= 2 FROM pgblend_data.chunk AS c ORDER BY c.chunk_index"
    )
    assert own == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("prefix", "heading", "expected"),
    [
        ("title", None, "title: t | text: x\nrows"),
        ("title", "h", "title: t > h | text: x\nrows"),
        ("none", "h", "x\nrows"),
        ("summary", "h", "s\n---\nx\nrows"),
    ],
)
def test_the_context_is_embedded_before_the_text(
    db: Database, prefix: str, heading: str | None, expected: str
) -> None:
    call = "SELECT pgblend._embedding_input(%s, 't', %s, 'rows', 's', %s)"
    assert db.value(call, prefix, heading, "x") == expected
    without = db.value(call, prefix, heading, None)
    assert without == expected.replace("x\n", "")


def test_chunks_without_a_context_have_the_lexemes_of_ever(db: Database) -> None:
    lexemes = (
        "SELECT l.lexemes::text, l.own_position FROM pgblend._chunk_lexemes("
        "'english', 'k', 'The title', 'A heading', %s, 'a text of ERR-1042', 2, %s, NULL, NULL)"
        " AS l"
    )
    assert db.rows(lexemes, False, 0) == [
        ("'1042':9 '==k':11C '=err-1042':10C 'err':8 'head':4B 'text':6 'titl':2A", 0)
    ]


def test_a_context_cannot_be_changed(tables: Database) -> None:
    error = tables.error("UPDATE pgblend_data.chunk SET context = 'other' WHERE chunk_index = 1")
    assert error.sqlstate == "0A000"


@pytest.mark.parametrize("shape", ["json", "markdown", "messages"])
def test_a_context_for_a_model_says_what_the_rows_are_of(tables: Database, shape: str) -> None:
    around = '{"context_chars": {"before": 0, "after": 0}}'
    call = "SELECT get_context('rainfall in Bern', output_format => %s, options => %s)"
    found = tables.value(call, shape, around)
    part = found["parts"][0]
    assert part["text"] == ROWS
    assert part["context"] == "Rainfall in millimetres\nStation | 2022 | 2023"
    assert {other["context"] for other in found["parts"][1:]} == {""}
    text = {
        "json": part["context"],
        "markdown": found.get("markdown", ""),
        "messages": found.get("messages", [{}])[-1].get("content", ""),
    }[shape]
    assert "Station | 2022 | 2023" in text


def test_a_header_within_the_text_is_not_said_twice(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    ingest(db, "k", chunk(f"{CONTEXT}\n{ROWS}", CONTEXT))
    assert db.value("SELECT get_context('rainfall')")["parts"][0]["context"] == ""


@pytest.mark.parametrize("encoding", ["LATIN1", "UTF8"])
def test_a_client_of_another_encoding_writes_the_same_context(db: Database, encoding: str) -> None:
    db.rows("SELECT add_collection('c', 'simple')")
    db.rows(f"SET client_encoding = {encoding}")
    ingest(db, "k", chunk("1 2"), chunk("3 4", "Öffentliche Brücken"))
    db.rows("RESET client_encoding")
    for _ in range(2):
        found = db.rows("SELECT source_key, content FROM lexical_search('brücken')")
        assert found == [("k", "3 4")]
        db.rows("SELECT lexical_rebuild('c')")


def test_a_reader_of_other_collections_sees_no_context(two_collections: Any) -> None:
    two_collections.admin.rows(
        "SELECT ingest_document('secret', 'k', '', content_hash => 'x',"
        """ chunks => '[{"content": "1 2", "context": "rainfall"}]')"""
    )
    assert two_collections.admin.value("SELECT count(*) FROM chunks WHERE context <> ''") == 1
    assert two_collections.reader.value("SELECT count(*) FROM chunks WHERE context <> ''") == 0
    assert two_collections.reader.rows("SELECT * FROM lexical_search('rainfall')") == []
