"""A table's column of tenants: searches find the rows of one tenant alone, without a filter."""

import pytest

from support.database import Database

ROWS = """
    CREATE TABLE public.tickets (id bigint PRIMARY KEY, shop {kind} NOT NULL, body text);
    INSERT INTO tickets VALUES
        (1, {first}, 'The printer burns.'), (2, {second}, 'A printer without paper.'),
        (3, {first}, 'Nothing prints.')
"""
ATTACH = "SELECT rows_filled FROM attach_table('tickets', '{body}', tenant_column => 'shop')"


@pytest.fixture(
    params=[("integer", "7", "70"), ("text", "'acme & co'", "'7'")], ids=["int", "text"]
)
def tenants(request: pytest.FixtureRequest, db: Database) -> list[str]:
    """Tickets of two tenants, and a document beside; returns the tenants."""
    kind, first, second = request.param
    db.rows(ROWS.format(kind=kind, first=first, second=second))
    assert db.column(ATTACH) == [3]
    db.rows("SELECT add_collection('open')")
    db.rows("SELECT ingest_document('open', 'manual', 'How a printer is fed.')")
    return [first.strip("'"), second.strip("'")]


def found(db: Database, call: str, *values: object) -> set[str]:
    return set(db.column(f"SELECT source_key FROM {call}", *values))


def test_a_search_finds_one_tenant_s_rows(db: Database, tenants: list[str]) -> None:
    for tenant, keys in zip(tenants, ({"1", "manual"}, {"2", "manual"}), strict=True):
        option = "options => jsonb_build_object('tenant', %s::text)"
        for search in ("lexical_search", "hybrid_search", "fuzzy_search"):
            assert found(db, f"{search}('printer', {option})", tenant) == keys
        where = f'{option}, filter => \'{{"shop": {{"exists": true}}}}\''
        assert found(db, f"hybrid_search('printer', {where})", tenant) == keys - {"manual"}
        counts = f"search_facets('printer', '{{$source_key}}', {option})"
        assert set(db.column(f"SELECT value #>> '{{}}' FROM {counts}", tenant)) == keys
        passages = db.value(f"SELECT get_context('printer', {option})::text", tenant)
        assert ("burns" in passages, "without paper" in passages) == ("1" in keys, "2" in keys)
        db.rows("SELECT set_config('pgblend.tenant', %s, true)", tenant)
        assert found(db, "hybrid_search('printer')") == keys
        assert found(db, "hybrid_search('printer', collections => '{tickets}')") == keys - {
            "manual"
        }
        other = ({"1", "2"} - keys).pop()
        diagnosis = str(db.value("SELECT search_diagnose('printer', %s)", other))
        assert "filter" in diagnosis, diagnosis
        db.rows("SELECT set_config('pgblend.tenant', '', true)")


def test_without_a_tenant_no_row_is_found(db: Database, tenants: list[str]) -> None:
    assert found(db, "hybrid_search('printer')") == {"manual"}
    told = [str(text) for severity, text in db.notices if severity == "WARNING"]
    assert any('no tenant is set: nothing of the collection "tickets"' in text for text in told)
    assert found(db, "hybrid_search('printer', options => '{\"tenant\": \"nobody\"}')") == {
        "manual"
    }


def test_the_column_is_metadata_and_is_followed(db: Database, tenants: list[str]) -> None:
    assert db.value("SELECT tenant_column FROM attached_tables") == "shop"
    db.rows("UPDATE tickets SET shop = %s WHERE id = 2", tenants[0])
    given = "options => jsonb_build_object('tenant', %s::text)"
    assert found(db, f"lexical_search('printer', {given})", tenants[0]) == {"1", "2", "manual"}
    db.rows("ALTER TABLE tickets DROP COLUMN body, ADD COLUMN body text")
    db.rows("ALTER TABLE tickets RENAME body TO words")
    mend = db.value("SELECT mend FROM check_attached_tables()")
    assert "tenant_column => 'shop'" in mend


def test_a_column_that_no_filter_can_name(db: Database) -> None:
    db.rows('CREATE TABLE public.odd (id int PRIMARY KEY, "a.b" text, body text)')
    for column, told in (("a.b", "a name without a dot"), ("nope", "has no column nope")):
        error = db.error(f"SELECT attach_table('odd', '{{body}}', tenant_column => '{column}')")
        assert told in str(error.message_primary)


@pytest.mark.parametrize(
    ("kind", "stored", "named"),
    [
        ("bigint", "1152921504606846976", "1152921504606846976"),
        ("numeric(6,2)", "1.5", "1.50"),
        ("boolean", "true", "true"),
        ("char(5)", "ab", "ab"),
        ("uuid", "0b0e7c1e-0000-4000-8000-00000000000a", "0B0E7C1E-0000-4000-8000-00000000000A"),
    ],
)
def test_tenants_of_other_types(db: Database, kind: str, stored: str, named: str) -> None:
    db.rows(f"CREATE TABLE public.rooms (id int PRIMARY KEY, hotel {kind}, body text)")
    db.rows("INSERT INTO rooms VALUES (1, %s, 'A blue room.'), (2, NULL, 'A room.')", stored)
    db.rows("SELECT attach_table('rooms', '{body}', tenant_column => 'hotel')")
    given = "options => jsonb_build_object('tenant', %s::text)"
    assert found(db, f"lexical_search('room', {given})", named) == {"1"}


@pytest.mark.parametrize("kind", ["jsonb", "text[]"])
def test_a_column_that_names_no_tenant(db: Database, kind: str) -> None:
    db.rows(f"CREATE TABLE public.rooms (id int PRIMARY KEY, hotel {kind}, body text)")
    error = db.error("SELECT attach_table('rooms', '{body}', tenant_column => 'hotel')")
    assert f"tenant_column is hotel, of type {kind}: expected texts" in str(error.message_primary)
