"""What a table's owner does in a superuser's session, while the table is read, is undone."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.database import Database
from support.hostile_tables import ATTACH, owner_of_a_table
from support.sampled import sampled

POLICY = """
    CREATE FUNCTION app.act() RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
        found record;
        held refcursor;
    BEGIN
        {action}
        RETURN true;
    END $$;
    ALTER TABLE app.t ENABLE ROW LEVEL SECURITY;
    ALTER TABLE app.t FORCE ROW LEVEL SECURITY;
    CREATE POLICY p ON app.t FOR SELECT USING (app.act());
"""
# All that a session may look at of itself.
STATE = """
    SELECT jsonb_build_object(
        'role', CURRENT_USER || '/' || session_user || '/' || current_setting('role'),
        'settings', (SELECT jsonb_object_agg(s.name, s.setting) FROM pg_settings AS s
            WHERE s.name NOT LIKE '%.%'),
        'own', current_setting('app.tenant', true) || current_setting('pgblend.purpose', true),
        'prepared', (SELECT jsonb_agg(p ORDER BY p.name) FROM pg_prepared_statements AS p
            WHERE p.name <> ''),
        'cursors', (SELECT jsonb_agg(c.name ORDER BY c.name) FROM pg_cursors AS c
            WHERE c.name LIKE 'owner%'),
        'channels', (SELECT jsonb_agg(n) FROM pg_listening_channels() AS n),
        'locks', (SELECT jsonb_agg(l.objid) FROM pg_locks AS l
            WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.objid = 77),
        'own tables', (SELECT jsonb_agg(c.relname) FROM pg_class AS c
            WHERE c.relnamespace = pg_my_temp_schema()))
"""
ACTIONS = {
    "settings of the session": """
        PERFORM set_config(s.name, s.value, false) FROM (VALUES
            ('search_path', 'app, pg_catalog'), ('standard_conforming_strings', 'off'),
            ('client_encoding', 'SJIS'), ('datestyle', 'German, DMY'), ('timezone', 'Asia/Tokyo'),
            ('row_security', 'off'), ('check_function_bodies', 'off'),
            ('synchronous_commit', 'off'), ('password_encryption', 'md5'),
            ('statement_timeout', '1'), ('client_min_messages', 'error'),
            ('default_transaction_read_only', 'on'), ('app.tenant', 'b'),
            ('pgblend.purpose', 'evaluation')) AS s (name, value)
        WHERE s.name <> 'standard_conforming_strings'
            OR current_setting('server_version_num')::int < 190000;  -- which refuses 'off'
    """,
    "settings of the transaction": """
        PERFORM set_config(s.name, s.value, true) FROM (VALUES
            ('search_path', 'app, pg_catalog'), ('standard_conforming_strings', 'off'),
            ('datestyle', 'German, DMY'), ('row_security', 'off'), ('app.tenant', 'b'),
            ('pgblend.purpose', 'evaluation')) AS s (name, value)
        WHERE s.name <> 'standard_conforming_strings'
            OR current_setting('server_version_num')::int < 190000;  -- which refuses 'off'
    """,
    "a role": """
        BEGIN EXECUTE 'SET ROLE pg_monitor'; EXCEPTION WHEN OTHERS THEN NULL; END;
        BEGIN EXECUTE 'RESET ROLE'; EXCEPTION WHEN OTHERS THEN NULL; END;
        BEGIN EXECUTE 'SET SESSION AUTHORIZATION DEFAULT'; EXCEPTION WHEN OTHERS THEN NULL; END;
    """,
    "a new prepared statement": """
        IF NOT EXISTS (SELECT FROM pg_prepared_statements WHERE name = '_pg3_0') THEN
            EXECUTE 'PREPARE _pg3_0 AS SELECT app.act()';
        END IF;
    """,
    "channels": "EXECUTE 'LISTEN owner'; PERFORM pg_notify('owner', 'x');",
    "a cursor": """
        IF NOT EXISTS (SELECT FROM pg_cursors WHERE name = 'owner') THEN
            EXECUTE 'DECLARE owner CURSOR WITH HOLD FOR SELECT 1';
        END IF;
        held := 'owner 2';
        BEGIN OPEN held FOR SELECT 1; EXCEPTION WHEN OTHERS THEN NULL; END;
    """,
    "a lock of the transaction": "PERFORM pg_advisory_xact_lock(77);",
    "a table of the session": """
        BEGIN EXECUTE 'CREATE TEMP TABLE document (id int)'; EXCEPTION WHEN OTHERS THEN NULL; END;
    """,
    "an error that is caught": """
        BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN NULL; END;
    """,
}
CALLS = (
    "SELECT fill_table('app.t', 10, true)",
    "SELECT count(*) FROM check_attached_tables()",
    ATTACH,
)


@pytest.fixture
def app(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Iterator[Database]:
    """A login role that owns app.t, which is attached."""
    with owner_of_a_table(committed, connect_as) as owner:
        committed.rows(ATTACH)
        yield owner


@pytest.mark.parametrize("action", sampled(ACTIONS, 3))
def test_nothing_outlives_the_reading_of_a_table(
    committed: Database, app: Database, action: str
) -> None:
    app.connection.execute(POLICY.format(action=action))  # type: ignore[call-overload]
    with connect(committed.url) as opened:
        administrator = Database(opened)
        administrator.rows("SET app.tenant = 'a'")
        administrator.rows("SET pgblend.purpose = 'search'")
        administrator.rows("PREPARE mine AS SELECT 1")
        before = administrator.value(STATE)
        for call in CALLS:
            with opened.transaction():
                administrator.rows(call)
                assert administrator.value(STATE) == before, call
            assert administrator.value(STATE) == before, call
        assert administrator.rows("EXECUTE mine") == [(1,)]
    assert committed.column("SELECT source_key FROM lexical_search('walrus')") == ["1"]


@pytest.mark.parametrize(
    "then", ["", "PERFORM 1 / 0;", "PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60);"]
)
def test_a_prepared_statement_that_has_another_meaning_is_gone(
    committed: Database, app: Database, then: str
) -> None:
    """PREPARE survives all that undoes; its name is freed, since the statement before is lost."""
    action = "EXECUTE 'DEALLOCATE mine'; EXECUTE 'PREPARE mine AS SELECT app.act()';" + then
    app.connection.execute(POLICY.format(action=action))  # type: ignore[call-overload]
    with connect(committed.url) as opened:
        administrator = Database(opened)
        administrator.rows("PREPARE mine AS SELECT 1")
        with suppress(psycopg.Error):
            administrator.rows("SELECT fill_table('app.t', 10, true)")
        assert administrator.error("EXECUTE mine").sqlstate == "26000"


def test_errors_of_the_owner_s_code_are_told(committed: Database, app: Database) -> None:
    """Not taken for the end of the reading, whatever their code."""
    for code in ("P0001", "22012"):
        app.connection.execute(
            "DROP POLICY IF EXISTS p ON app.t; DROP FUNCTION IF EXISTS app.act()"
        )
        action = f"RAISE EXCEPTION 'not today' USING ERRCODE = '{code}';"
        app.connection.execute(POLICY.format(action=action))  # type: ignore[call-overload]
        error = committed.error("SELECT fill_table('app.t', 10, true)")
        assert (error.sqlstate, error.message_primary) == (code, "not today")
    assert committed.column("SELECT source_key FROM lexical_search('walrus')") == ["1"]


def test_no_row_is_taken_from_a_query_that_reads_the_registry(
    committed: Database, app: Database
) -> None:
    """Any code may FETCH from a cursor of its session, those of loops included."""
    action = """
        FOREACH held IN ARRAY ARRAY(SELECT c.name::refcursor FROM pg_cursors AS c) LOOP
            FETCH held INTO found;
            RAISE WARNING 'fetched (%)', found;
        END LOOP;
    """
    for number in range(20):  # a loop fetches ten rows at first
        app.rows(f"CREATE TABLE app.t{number} (id int PRIMARY KEY, body text)")
        committed.rows(f"SELECT attach_table('app.t{number}', '{{body}}')")
    app.connection.execute(POLICY.format(action=action))  # type: ignore[call-overload]
    committed.warnings()
    committed.rows("SELECT * FROM check_attached_tables()")
    assert [told for told in committed.warnings() if "fetched" in told] == []
