import json
import re
from typing import Any

import pytest

from support.database import Database, add_documents, add_space, embed_waiting


def test_add_and_remove(db: Database) -> None:
    number = db.value("SELECT add_collection('c', 'german', '{\"k1\": 2}')")
    add_space(db)
    add_documents(db, "c", [("a", "", "Text"), ("b", "", "Text")])
    columns = "id, name, text_search_config, settings, documents, chunks, chunks_without_vector"
    assert db.row(f"SELECT {columns} FROM collections") == (
        number,
        "c",
        "german",
        {"k1": 2},
        2,
        2,
        2,
    )
    embed_waiting(db)
    assert db.value("SELECT chunks_without_vector FROM collections") == 0
    assert db.value("SELECT remove_collection('c')") is True
    assert db.value("SELECT remove_collection('c')") is False
    for table in ("collection", "document", "chunk", "embedding_test_space", "collection_language"):
        assert db.value(f"SELECT count(*) FROM pgblend_data.{table}") == 0


@pytest.mark.parametrize(
    ("name", "config", "settings", "sqlstate", "part"),
    [
        (None, "english", {}, "22023", "collection name is NULL"),
        ("", "english", {}, "22023", "collection name is ''"),
        (" c", "english", {}, "22023", "without spaces"),
        ("c\n", "english", {}, "22023", "without spaces"),
        ("x" * 201, "english", {}, "22023", "1 to 200 characters"),
        ("there", "english", {}, "42710", 'a collection "there" already'),
        ("c", "klingon", {}, "22023", 'no text search configuration "klingon"'),
        ("c", None, {}, "22023", "no text search configuration NULL"),
        ("c", "english", {"k1": -1}, "22023", '"k1" is -1'),
        ("c", "english", {"gateway_url": "x"}, "22023", 'no setting "gateway_url"'),
        ("c", "english", [], "22023", "expected a JSON object"),
    ],
)
def test_wrong_arguments(db: Database, name, config, settings, sqlstate, part) -> None:
    db.rows("SELECT add_collection('there')")
    error = db.error("SELECT add_collection(%s, %s, %s)", name, config, json.dumps(settings))
    assert error.sqlstate == sqlstate
    assert part in str(error.message_primary)
    assert error.message_hint
    assert db.column("SELECT name FROM collections") == ["there"]


def test_who_gives_a_code_of_a_language_hears_the_names(db: Database) -> None:
    hint = str(db.error("SELECT add_collection('c', 'de')").message_hint)
    assert "german, not de" in hint
    assert {"danish", "german", "simple"} <= set(re.findall(r"\w+", hint.partition(":")[2]))


def test_any_name_will_do(db: Database) -> None:
    for name in ("Ärger & co.", "'; DROP TABLE x; --", '"quoted"', "a/b\\c", "🦊"):
        db.rows("SELECT add_collection(%s)", name)
        add_documents(db, name, [(name, name, "word")])
        query = (
            "SELECT collection, source_key, title FROM lexical_search('word', collections => %s)"
        )
        assert db.rows(query, [name]) == [(name, name, name)]
        assert db.value("SELECT remove_collection(%s)", name) is True


@pytest.mark.parametrize(
    ("arguments", "sqlstate", "part"),
    [
        ("'nope', 'pgblend_reader'", "42704", 'no collection "nope"'),
        ("NULL, 'pgblend_reader'", "42704", "no collection NULL"),
        ("'c', 'nobody_here'", "42704", "no role nobody_here"),
        ("'c', NULL", "42704", "no role NULL"),
        ("'c', 'pgblend_reader', 'own'", "22023", "privilege is 'own': expected read or write"),
        ("'c', 'pgblend_reader', NULL", "22023", "privilege is NULL"),
    ],
)
@pytest.mark.parametrize("function", ["grant_collection", "revoke_collection"])
def test_wrong_grants(
    db: Database, function: str, arguments: str, sqlstate: str, part: str
) -> None:
    db.rows("SELECT add_collection('c')")
    error = db.error(f"SELECT {function}({arguments})")
    assert error.sqlstate == sqlstate
    assert part in str(error.message_primary)
    assert error.message_hint


def test_grant_and_revoke(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    grants = "SELECT privilege FROM pgblend_data.collection_grant ORDER BY 1"
    for privilege in ("read", "read", "write", "write"):
        db.rows("SELECT grant_collection('c', 'pgblend_reader', %s)", privilege)
    assert db.column(grants) == ["read", "write"]
    revoke = "SELECT revoke_collection('c', 'pgblend_reader', %s)"
    assert db.value(revoke, "write") is True
    assert db.column(grants) == ["read"]
    db.rows("SELECT grant_collection('c', 'pgblend_reader', 'write')")
    assert db.value(revoke, "read") is True  # both go
    assert db.column(grants) == []
    assert db.value(revoke, "read") is False


def test_a_grant_to_a_role_that_is_gone_can_be_revoked(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("INSERT INTO pgblend_data.collection_grant SELECT id, 'gone', 'read'"
            " FROM pgblend_data.collection")  # fmt: skip
    assert db.value("SELECT revoke_collection('c', 'gone')") is True


@pytest.mark.parametrize(
    ("given", "merge", "expected"),
    [
        ({"b": 2}, True, {"a": {"x": None}, "n": None, "b": 2}),
        ({"a": 3}, True, {"a": 3, "n": None}),
        ({"a": None}, True, {"n": None}),  # a null takes its key away, and no other null
        ({}, True, {"a": {"x": None}, "n": None}),
        ({"b": 2}, None, {"a": {"x": None}, "n": None, "b": 2}),
        ({"b": None}, False, {"b": None}),
        ({}, False, {}),
    ],
)
def test_set_metadata(db: Database, given: Any, merge: bool | None, expected: Any) -> None:
    db.rows("SELECT add_collection('c')")
    (number,) = add_documents(db, "c", [("k", "", "text")])
    db.rows("""SELECT set_metadata(%s, '{"a": {"x": null}, "n": null}', false)""", number)
    chunks = db.column("SELECT chunk_id FROM chunks")
    query = "SELECT set_metadata(%s, %s, %s)"
    assert db.value(query, number, json.dumps(given), merge) == expected
    assert db.value("SELECT metadata FROM documents") == expected
    assert db.column("SELECT chunk_id FROM chunks") == chunks


@pytest.mark.parametrize(
    ("number", "metadata", "sqlstate"),
    [(-1, "{}", "42704"), (None, "{}", "42704"), (1, "[]", "22023"), (1, None, "22023")],
)
def test_set_metadata_of_nothing(db: Database, number, metadata, sqlstate) -> None:
    error = db.error("SELECT set_metadata(%s, %s)", number, metadata)
    assert error.sqlstate == sqlstate
    assert error.message_hint


def test_delete_document(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    add_space(db)
    first, _ = add_documents(db, "c", [("a", "", "word"), ("b", "", "word")])
    embed_waiting(db)
    assert db.value("SELECT delete_document(%s)", first) is True
    assert db.value("SELECT delete_document(%s)", first) is False
    assert db.value("SELECT delete_document(NULL::bigint)") is False
    assert db.column("SELECT source_key FROM lexical_search('word')") == ["b"]
    assert db.value("SELECT delete_document('c', 'b')") is True
    assert db.value("SELECT delete_document('c', 'b')") is False
    assert db.value("SELECT delete_document('c', NULL)") is False
    assert db.error("SELECT delete_document('nope', 'b')").sqlstate == "42704"
    for table in ("document", "chunk", "embedding_test_space", "embedding_queue"):
        assert db.value(f"SELECT count(*) FROM pgblend_data.{table}") == 0


def test_views_of_documents_and_chunks(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    (number,) = add_documents(db, "c", [("k", "T", "some text here")])
    columns = "document_id, collection, source_key, title, language, chunks, tokens > 0"
    assert db.row(f"SELECT {columns} FROM documents") == (number, "c", "k", "T", "english", 1, True)
    columns = "document_id, collection, chunk_index, content, start_line, end_line, start_offset"
    row = (number, "c", 0, "some text here", 1, 1, 0)
    assert db.row(f"SELECT {columns} FROM chunks") == row
