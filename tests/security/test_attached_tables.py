"""Whoever owns an attached table gains no right by it, nor does an admin.

Every piece of code that a table's owner can have evaluated tries to make its owner a superuser, and
tells as whom it ran.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database
from support.hostile_tables import (
    ATTACH,
    ATTACH_VECTORS,
    CASTS,
    CHANGES,
    VECTOR_CHANGES,
    change_table,
    is_superuser,
    owner_of_a_table,
)
from support.sampled import sampled

pytestmark = pytest.mark.extended

WRITES = (
    "INSERT INTO app.t (id) SELECT (array_agg(id))[1] FROM app.t WHERE false HAVING count(*) > 0",
    "INSERT INTO app.t (id, note, page) SELECT 99, note, page FROM app.t LIMIT 1",
    "UPDATE app.t SET page = page, note = NULL",
    "UPDATE app.t SET note = page",
    "DELETE FROM app.t WHERE id::text = '99'",
    "TRUNCATE app.t",
)
READS = (
    "SELECT fill_table('app.t', 10, true)",
    "SELECT fill_table('app.t', 10)",
    "SELECT * FROM check_attached_tables()",
)


@pytest.fixture
def app(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Iterator[Database]:
    """A login role that owns app.t, with no role of pgblend."""
    with owner_of_a_table(committed, connect_as) as owner:
        yield owner


def try_all(db: Database, statements: tuple[str, ...]) -> set[str]:
    """Run each, whether or not it fails; return as whom the owner's code ran."""
    for statement in statements:
        with_errors(db, statement)
    return {told.removeprefix("ran as ") for told in db.warnings() if told.startswith("ran as ")}


def with_errors(db: Database, statement: str) -> None:
    """Run a statement; what it says is of no account here."""
    try:
        db.rows(statement)
    except psycopg.Error:
        db.connection.rollback()


@pytest.mark.parametrize(
    ("attach", "change"),
    sampled(
        {name: (ATTACH, change) for name, change in CHANGES.items()}
        | {f"vectors, {name}": (ATTACH_VECTORS, c) for name, c in VECTOR_CHANGES.items()},
        5,
    ),
)
def test_the_owner_of_an_attached_table_gains_no_right(
    committed: Database, app: Database, attach: str, change: str
) -> None:
    role = str(app.connection.info.user)
    committed.rows(attach)
    if "_RETURN" in change and app.connection.info.server_version >= 160000:
        pytest.skip("no table becomes a view any more")
    change_table(app, change)
    app.warnings()
    assert try_all(app, WRITES) <= {role}
    with connect(committed.url) as opened:
        administrator = Database(opened)
        assert try_all(administrator, READS) <= {role}
    assert not is_superuser(committed, role)


VIEWS = {
    "volatile": "SELECT id, body || app.pwn() AS body FROM app.t",
    "key": "SELECT length(app.pwn()) AS id, body FROM app.t",
    "filter": "SELECT id, body FROM app.t WHERE app.pwn() IS NOT NULL",
    "cast": "SELECT id, 'a'::app.evil AS body FROM app.t",
}


@pytest.mark.parametrize("options", ["", "WITH (security_invoker)", "WITH (security_barrier)"])
@pytest.mark.parametrize("query", sampled(VIEWS, 3))
def test_the_owner_of_an_attached_view_gains_no_right(
    committed: Database, app: Database, query: str, options: str
) -> None:
    """It is attached as another view, and then gets what its owner wants."""
    role = str(app.connection.info.user)
    change_table(app, "CREATE TYPE app.evil AS ENUM ('a');" + CASTS.format(type="app.evil"))
    app.rows("CREATE VIEW app.w AS SELECT id, body FROM app.t")
    committed.rows("SELECT attach_table('app.w', '{body}', key_columns => '{id}')")
    app.rows("DROP VIEW app.w" if "cast" in query or "evil" in query else "SELECT")
    app.rows(f"CREATE OR REPLACE VIEW app.w {options} AS {query}")
    with connect(committed.url) as opened:
        administrator = Database(opened)
        again = "SELECT attach_table('app.w', '{body}', key_columns => '{id}')"
        views = tuple(read.replace("app.t", "app.w") for read in READS)
        assert try_all(administrator, (*views, again, *views)) <= {role}
    assert not is_superuser(committed, role)


@pytest.mark.parametrize("change", [CHANGES["enum"], CHANGES["array of enum"]])
def test_nor_by_a_table_that_is_attached_as_it_is(
    committed: Database, app: Database, change: str
) -> None:
    role = str(app.connection.info.user)
    change_table(app, change)
    committed.warnings()
    assert try_all(committed, (ATTACH, *READS)) <= {role}
    assert try_all(app, WRITES[1:]) <= {role}
    assert not is_superuser(committed, role)


def test_an_admin_gains_no_right_by_its_own_table(committed: Database, app: Database) -> None:
    role = str(app.connection.info.user)
    committed.rows(f"GRANT pgblend_admin TO {role}")
    app.rows(f"SELECT blend.{ATTACH.strip().removeprefix('SELECT ')}")
    change_table(app, CHANGES["enum"])
    assert try_all(app, WRITES) <= {role}
    assert not is_superuser(committed, role)


def test_values_of_users_types_are_their_text(committed: Database, app: Database) -> None:
    app.connection.execute("""
        CREATE TYPE app.mood AS ENUM ('sad', 'it''s');
        CREATE DOMAIN app.number AS int CHECK (VALUE > 0);
        CREATE TYPE app.pair AS (a int, b text);
        CREATE TABLE app.typed (
            id bigint PRIMARY KEY, body app.mood, moods app.mood[], amount app.number,
            amounts app.number[], pair app.pair, flag boolean, host inet, code char(4), data jsonb);
        INSERT INTO app.typed VALUES (
            7, 'it''s', '{sad,NULL}', 5, '{6}', ROW(1, 'x'), true, '10.0.0.1', 'ab', '{"a": 1}')
    """)
    committed.rows(
        "SELECT attach_table('app.typed', '{body,host,flag,code}', metadata_columns =>"
        " '{body,moods,amount,amounts,pair,flag,data}')"
    )
    metadata = {"body": "it's", "moods": ["sad", None], "amount": 5, "amounts": [6],
                "pair": "(1,x)", "flag": True, "data": {"a": 1}}  # fmt: skip
    assert committed.rows("SELECT content, metadata FROM lexical_search('true')") == [
        ("it's\n\n10.0.0.1/32\n\ntrue\n\nab", metadata)
    ]
    app.rows("UPDATE app.typed SET pair = ROW(2, NULL), moods = NULL")
    assert committed.value("SELECT metadata FROM lexical_search('true')") == metadata | {
        "pair": "(2,)", "moods": None
    }  # fmt: skip
    assert committed.rows("SELECT * FROM check_attached_tables()") == []


@pytest.mark.parametrize("key", ["app.mood", "app.text", "app.number"])
def test_key_columns_are_of_types_of_postgresql(
    committed: Database, app: Database, key: str
) -> None:
    app.connection.execute(f"""
        CREATE TYPE app.mood AS ENUM ('sad');
        CREATE TYPE app.text AS ENUM ('sad');
        CREATE DOMAIN app.number AS int;
        CREATE TABLE app.keyed (id {key} PRIMARY KEY, body text);
    """)
    error = committed.error("SELECT attach_table('app.keyed', '{body}')")
    assert error.message_primary.startswith(f"key column id is of type {key}, which")


def test_a_key_column_that_gets_another_type_is_told_and_not_followed(
    committed: Database, app: Database
) -> None:
    committed.rows(ATTACH)
    change_table(app, CHANGES["key of a domain"])
    app.warnings()
    app.rows("INSERT INTO app.t (id) VALUES (2)")
    told = app.warnings()
    assert any("key column id is of type app.evil" in warning for warning in told)
    problem, mend = committed.row("SELECT problem, mend FROM check_attached_tables()")
    assert "key column id is of type app.evil" in problem
    assert mend.startswith("attach it anew")


def test_an_admin_reads_no_table_that_it_may_not(
    committed: Database, app: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    committed.rows(ATTACH)
    admin = Database(connect_as("pgblend_admin"))
    role = admin.connection.info.user
    for call in (
        "blend.fill_table('app.t', 10, true)",
        "pgblend._read_attached((SELECT id FROM pgblend_data.attached_table), 'keys', NULL, NULL)",
        "pgblend_data._read_attached_1('SELECT 1', NULL, NULL)",
    ):
        error = admin.error(f"SELECT * FROM {call}")
        assert error.sqlstate in ("42501", "42883")
    committed.rows(f"GRANT SELECT ON app.t TO {role}; GRANT USAGE ON SCHEMA app TO {role}")
    assert admin.value("SELECT blend.fill_table('app.t', 10, true)") == 1
    assert admin.rows("SELECT * FROM blend.check_attached_tables()") == [
        ("app.t", "not all rows are in yet", "run: pgblend table fill app.t")
    ]


def test_the_reader_goes_with_the_attachment(committed: Database, app: Database) -> None:
    readers = (
        "SELECT proowner::regrole::text FROM pg_proc"
        " WHERE pronamespace = 'pgblend_data'::regnamespace AND proname LIKE '%%read_attached%%'"
    )
    committed.rows(ATTACH)
    assert committed.column(readers) == [app.connection.info.user]
    committed.rows("ALTER TABLE app.t OWNER TO CURRENT_USER")
    committed.rows("INSERT INTO app.t (id, body) VALUES (2, 'A gnu.')")
    assert committed.column(readers) == [committed.value("SELECT CURRENT_USER")]
    committed.rows("SELECT detach_table('app.t')")
    assert committed.column(readers) == []
