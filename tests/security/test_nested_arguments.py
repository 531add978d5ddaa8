"""JSON that nests deeper than programs read, and numbers that are longer: errors that name them."""

import psycopg
import pytest

from support.database import Database

DEPTHS = [150, 1000, 6000]
CALLS = {
    "ingest_document('c', 'k', 'x', metadata => {object})": "metadata is nested more than 100 deep",
    "ingest_document('c', 'k', 'x', chunks => {chunks})": "metadata is nested more than 100 deep",
    "set_metadata(1, {object})": "metadata is nested more than 100 deep",
    "hybrid_search('x', filter => {filter})": "is nested more than 16 deep",
    "hybrid_search('x', options => {weights})": "",
    "search_facets('x', ARRAY['a'], filter => {filter})": "is nested more than 16 deep",
    "get_context('x', options => {weights})": "",
    "set_setting('weights', {object})": "",
    "set_profile('p', 'd', {object})": "",
}


@pytest.fixture
def stored(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'a', 'a walrus')")
    return db


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_what_nests_too_deep_is_named(stored: Database, call: str, depth: int) -> None:
    nested = '{"a":' * depth + "1" + "}" * depth
    values = {
        "object": nested,
        "weights": f'{{"weights": {nested}}}',
        "chunks": f'[{{"content": "x", "metadata": {nested}}}]',
        "filter": '{"and": [' * depth + "{}" + "]}" * depth,
    }
    arguments = {name: f"'{value}'::jsonb" for name, value in values.items()}
    said = stored.error(f"SELECT count(*) FROM {call.format(**arguments)}")
    assert said.sqlstate == "22023"
    assert CALLS[call] in str(said.message_primary)
    assert "Recursion" not in str(said.message_primary)
    assert len(str(said.message_primary)) < 500


@pytest.mark.parametrize(
    "call",
    ["ingest_document('c', 'k', 'x', metadata => %s::jsonb)", "set_metadata({a}, %s::jsonb)"],
)
def test_numbers_that_clients_do_not_read_are_named(stored: Database, call: str) -> None:
    a = stored.value("SELECT id FROM pgblend_data.document")
    said = stored.error(f"SELECT {call.format(a=a)}", f'{{"n": {"7" * 5000}}}')
    assert said.sqlstate == "22023"
    assert said.message_primary == "metadata has a number of more than 4,300 digits"
    assert "text" in str(said.message_hint)


def test_nothing_is_stored_of_what_is_refused(stored: Database) -> None:
    nested = "[" * 150 + "]" * 150
    with pytest.raises(psycopg.errors.InvalidParameterValue), stored.connection.transaction():
        stored.rows("SELECT ingest_document('c', 'k', 'x', metadata => %s)", f'{{"a": {nested}}}')
    assert stored.column("SELECT source_key FROM pgblend_data.document") == ["a"]
