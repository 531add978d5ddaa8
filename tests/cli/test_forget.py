"""forget: nothing that is stored has a word of a forgotten document."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database, add_documents, add_space, embed_waiting

Pgblend = Callable[..., Result]
SECRET = "quokka"


@pytest.fixture
def library(committed: Database) -> Database:
    committed.rows("SELECT add_collection('c')")
    add_space(committed)
    same = "The same passage is in two documents."
    documents = [("kept", "", f"A red fox. {same}"), ("gone", SECRET, f"A {SECRET} and a fox.")]
    add_documents(committed, "c", [*documents, ("copy", "", "only the copy")])
    embed_waiting(committed)
    committed.rows("SELECT lexical_seal('c')")
    committed.rows(
        "INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version, result)"
        " SELECT collection_id, content_hash, 'v', to_jsonb(content) FROM pgblend_data.chunk"
    )
    return committed


def places_of(db: Database, word: str) -> list[str]:
    """Name the tables with a row that has a word, or its bytes."""
    tables = db.column(
        "SELECT c.oid::regclass::text FROM pg_class AS c"
        " WHERE relkind = 'r' AND relnamespace = 'pgblend_data'::regnamespace ORDER BY 1"
    )
    query = "SELECT count(*) FROM {} AS t WHERE t::text ILIKE %s OR t::text LIKE %s"
    like = (f"%{word}%", f"%{word.encode().hex()}%")
    return [table for table in tables if db.value(query.format(table), *like)]


def test_a_word_of_it_is_nowhere(
    pgblend: Pgblend, parse_valid: Callable[[Result, str], Any], library: Database
) -> None:
    before = places_of(library, SECRET)
    kept = ("chunk", "document", "entity_extraction", "vocabulary")
    assert {f"pgblend_data.{name}" for name in kept} <= set(before)
    done = pgblend("forget", "gone", "-c", "c", "--yes", "--json")
    assert done.exit_code == 0, done.stderr
    places = {row["place"]: row["gone"] for row in parse_valid(done, "forget")["places"]}
    assert places["vocabulary"] == places["segments of the lexical index"] == "now"
    assert "never there" in places["search log"]
    assert places_of(library, SECRET) == []
    assert library.value("SELECT count(*) FROM pgblend_data.entity_extraction") == 2
    assert library.column("SELECT source_key FROM lexical_search('fox')") == ["kept"]
    assert library.rows("SELECT status, dead FROM lexical_status('c')") == [("ready", 0)]


def test_delete_leaves_what_forget_takes(pgblend: Pgblend, library: Database) -> None:
    assert pgblend("document", "delete", "gone", "-c", "c", "--yes").exit_code == 0
    left = {"pgblend_data.entity_extraction", "pgblend_data.vocabulary"}
    assert set(places_of(library, SECRET)) == left


def test_the_same_passage_elsewhere_keeps_its_answers(pgblend: Pgblend, library: Database) -> None:
    add_documents(library, "c", [("twin", SECRET, f"A {SECRET} and a fox.")])
    assert pgblend("forget", "gone", "-c", "c", "--yes").exit_code == 0
    assert library.value("SELECT count(*) FROM pgblend_data.entity_extraction") == 3
    assert library.column("SELECT source_key FROM lexical_search(%s)", SECRET) == ["twin"]


def test_what_cannot_be_forgotten(
    pgblend: Pgblend, library: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    assert pgblend("forget", "gone", "-c", "c", input="n\n").exit_code == 1
    assert pgblend("forget", "none", "-c", "c", "--yes").exit_code == 1
    assert library.rows("SELECT * FROM forget_document(0)") == []
    writer = Database(connect_as("pgblend_writer"))
    role = writer.connection.info.user
    library.rows("SELECT grant_collection('c', %s)", role)
    find = "SELECT id FROM pgblend_data.document WHERE source_key = 'gone'"
    assert writer.error(f"SELECT * FROM forget_document(({find}))").sqlstate == "42501"
    assert library.value(f"SELECT count(*) FROM ({find}) AS d") == 1
    library.rows("SELECT grant_collection('c', %s, 'write')", role)
    assert writer.rows(f"SELECT * FROM forget_document(({find}))")
    writer.forget()
