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


DIGITS = "7" * 5000
NUMBERS = [
    "ingest_document('c', 'k', 'x', metadata => {value})",
    "ingest_document('c', 'k', 'x', chunks => jsonb_build_array({chunk}))",
    "ingest_document('c', 'k', 'x', links => jsonb_build_array({link}))",
    "set_metadata({a}, {value})",
    "add_links('c', 'a', jsonb_build_array({link}))",
    "add_edge(graph_node('c', 'a'), graph_node('c', 'b'), 'cites', 1, {value})",
]


@pytest.mark.parametrize("call", NUMBERS)
@pytest.mark.parametrize(
    ("number", "what"),
    [
        (DIGITS, "has a number of more than 4,300 digits"),
        (f"-{DIGITS}", "has a number of more than 4,300 digits"),
        ("1e4300", "has a number of more than 4,300 digits"),
        (f"[{DIGITS}.25]", "has a number of more than 4,300 digits"),
        ("7" * 400 + ".5", "has a number with a fraction beyond 1e308"),
    ],
)
def test_numbers_that_clients_do_not_read_are_named(
    stored: Database, call: str, number: str, what: str
) -> None:
    stored.rows("SELECT ingest_document('c', 'b', 'a seal')")
    values = {
        "a": stored.value("SELECT min(id) FROM pgblend_data.document"),
        "value": f"""'{{"n": {number}}}'::jsonb""",
        "chunk": f"""'{{"content": "x", "metadata": {{"n": {number}}}}}'::jsonb""",
        "link": f"""'{{"target": "b", "metadata": {{"n": {number}}}}}'::jsonb""",
    }
    said = stored.error(f"SELECT {call.format(**values)}")
    assert said.sqlstate == "22023"
    assert said.message_primary == f"metadata {what}"
    assert "text" in str(said.message_hint)
    assert len(str(said.message_detail)) < 200


@pytest.mark.parametrize("number", ["7" * 4300, "1e308", "-" + "7" * 400, "0." + "7" * 5000])
def test_numbers_that_clients_read_are_stored(stored: Database, number: str) -> None:
    """The client here is Python's json, as it is for commands and over HTTP."""
    stored.rows("SELECT ingest_document('c', 'k', 'x', metadata => %s)", f'{{"n": {number}}}')
    found = "SELECT metadata FROM lexical_search('x') WHERE source_key = 'k'"
    assert abs(stored.value(found)["n"]) > 0.7


@pytest.mark.parametrize("table", ["document", "chunk", "link", "edge"])
@pytest.mark.parametrize("value", [f'{{"n": {DIGITS}}}', '{"a":' * 150 + "1" + "}" * 150])
def test_a_writer_writes_none_past_the_routines(stored: Database, table: str, value: str) -> None:
    """Else one row ended the searches of all who may read its collection."""
    stored.rows("SELECT ingest_document('c', 'b', 'a seal')")
    stored.rows("SELECT add_links('c', 'a', %s)", '[{"target": "b"}]')
    said = stored.error(f"UPDATE pgblend_data.{table} SET metadata = %s", value)
    assert (said.sqlstate, said.constraint_name) == ("23514", f"{table}_metadata_readable_check")


def test_a_row_of_a_table_with_such_a_number_is_named(stored: Database) -> None:
    stored.rows("CREATE TABLE public.shop (id int PRIMARY KEY, body text, n numeric)")
    stored.rows("SELECT * FROM attach_table('shop', '{body}', metadata_columns => '{n}')")
    said = stored.error("INSERT INTO public.shop VALUES (1, 'x', %s::text::numeric)", DIGITS)
    assert said.message_primary == "metadata has a number of more than 4,300 digits"
    stored.rows("INSERT INTO public.shop VALUES (1, 'x y', %s::text::numeric)", "7" * 4000)
    stored.rows("INSERT INTO public.shop VALUES (2, 'x z', 'NaN'), (3, 'x', 'Infinity')")
    assert len(stored.rows("SELECT metadata FROM lexical_search('x', 10, '{shop}')")) == 3


def test_nothing_is_stored_of_what_is_refused(stored: Database) -> None:
    nested = "[" * 150 + "]" * 150
    with pytest.raises(psycopg.errors.InvalidParameterValue), stored.connection.transaction():
        stored.rows("SELECT ingest_document('c', 'k', 'x', metadata => %s)", f'{{"a": {nested}}}')
    assert stored.column("SELECT source_key FROM pgblend_data.document") == ["a"]
