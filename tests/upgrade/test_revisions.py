import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.migrations import preflight, runner
from pgblend.migrations.replace_routines import digest, replace_routines
from pgblend.sql import render
from support.catalogue import revisions, run_client, schema, settings_of
from support.database import Database

pytestmark = pytest.mark.extended


def test_down_and_up_again(database_url: str, fresh_schema: str, fill) -> None:
    fill(database_url)
    runner.downgrade(database_url, "base")
    runner.upgrade(database_url)
    assert schema(database_url) == fresh_schema


def test_base_leaves_nothing(empty: str, fill) -> None:
    before = schema(empty), settings_of(empty)
    runner.upgrade(empty)
    fill(empty)
    assert schema(empty) != before[0]
    runner.downgrade(empty, "base")
    assert (schema(empty), settings_of(empty)) == before
    assert runner.status(empty)["current"] is None
    runner.downgrade(empty, "base")  # again: nothing to do


def test_roles_stay_while_another_database_uses_them(empty: str, template: str) -> None:
    runner.upgrade(empty)
    runner.downgrade(empty, "base")
    with psycopg.connect(empty) as connection:
        row = connection.execute(
            "SELECT count(*), bool_and(pg_has_role('pgblend_admin', oid, 'MEMBER'))"
            " FROM pg_roles WHERE rolname LIKE 'pgblend\\_%er' OR rolname = 'pgblend_admin'"
        ).fetchone()
    assert row == (3, True)


def test_upgrading_again_changes_nothing(empty: str, fresh_schema: str) -> None:
    runner.upgrade(empty)
    runner.upgrade(empty)
    assert schema(empty) == fresh_schema
    assert settings_of(empty) == ['search_path="$user", public, blend']


def test_a_users_search_path_is_kept(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET search_path = app, "odd, name", public')  # type: ignore[call-overload]
    before = settings_of(empty)
    runner.upgrade(empty)
    assert settings_of(empty) == [before[0] + ", blend"]
    with psycopg.connect(empty) as connection:
        assert Database(connection).rows("SELECT * FROM hybrid_search('x')") == []
    runner.downgrade(empty, "base")
    assert settings_of(empty) == before


def test_extensions_may_live_in_a_schema_of_their_own(new_database: Callable[..., str]) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA "My Ext"')
        connection.execute('CREATE EXTENSION vector SCHEMA "My Ext"')
    runner.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c')")
        db.rows("SELECT ingest_document('c', 'k', 'word')")
        db.rows("SELECT create_embedding_space('s', 'm', 2, probe => false)")
        db.rows(
            "INSERT INTO pgblend_data.embedding_s SELECT id, document_id, chunk_index,"
            " collection_id, bucket, '[1,0]' FROM pgblend_data.chunk"
        )
        row = db.row("SELECT score FROM hybrid_search('word', query_embedding => '[1,0]')")
    assert row == (1.0,)


@pytest.mark.slow
def test_dump_and_restore(empty: str, new_database: Callable[..., str], fill) -> None:
    runner.upgrade(empty)
    kept = fill(empty)
    target = new_database()
    run_client("psql", target, "-v", "ON_ERROR_STOP=1", stdin=run_client("pg_dump", empty))
    assert schema(target) == schema(empty)
    with psycopg.connect(target) as connection:
        db = Database(connection)
        assert [db.value(query) for query in kept] == [1] * len(kept)
        assert db.column("SELECT source_key FROM blend.hybrid_search('words')") == ["k"]
    assert settings_of(target) == []  # a plain dump leaves it out
    runner.upgrade(target)
    assert settings_of(target) == settings_of(empty)
    assert runner.status(target)["drift"] is False
    with psycopg.connect(target) as connection:
        assert Database(connection).column("SELECT source_key FROM hybrid_search('words')") == ["k"]


def test_a_users_view_on_a_routine_stops_the_migration(empty: str) -> None:
    runner.upgrade(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("CREATE VIEW mine AS SELECT rrf('{1}') AS fused")
    before = schema(empty)
    with pytest.raises(Exception, match="mine"):
        runner.downgrade(empty, "base")
    assert schema(empty) == before
    assert runner.status(empty)["current"] == revisions()[-1]


def test_up_replaces_routines_that_differ_from_those_of_the_newest_revision(empty: str) -> None:
    runner.upgrade(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            "CREATE OR REPLACE FUNCTION blend.rrf(ranks integer[], weights float8[] = NULL,"
            " k float8 = 60, normalized boolean = false) RETURNS float8 LANGUAGE plpgsql"
            " AS 'BEGIN RETURN 7; END'"
        )
        assert runner.status(empty)["drift"] is True
        runner.upgrade(empty)
        assert Database(connection).value("SELECT rrf('{1}', k => 1)") == 0.5
    assert runner.status(empty)["drift"] is False


def test_a_release_is_written_into_the_checkout() -> None:
    """Not into the folder of links that an editable install has."""
    checkout = Path(__file__).parents[2]
    assert checkout / "migrations" == runner._FOLDER


def test_a_release_is_frozen_and_then_followed_by_a_new_revision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of the folder, so that the checkout stays as it is."""
    folder = tmp_path / "migrations"
    shutil.copytree(runner._FOLDER, folder)
    monkeypatch.setattr(runner, "_FOLDER", folder)
    monkeypatch.setattr(runner, "_RELEASED", folder / "snapshots" / "released.sha256")
    head = revisions()[-1]
    if head in runner.released():
        head = runner.revise("next").name[:4]
    with pytest.raises(UserError, match=f"revision {head} is not released yet"):
        runner.revise("more")
    frozen = runner.freeze()
    assert frozen.read_text(encoding="utf-8") == render()
    assert runner.released()[head] == digest(render())
    with pytest.raises(UserError, match=f"revision {head} is released and never changes"):
        runner.freeze()
    made = runner.revise("more words")
    assert made.name == f"{int(head) + 1:04d}_more_words.py"
    assert f'down_revision = "{head}"' in made.read_text(encoding="utf-8").replace("'", '"')


EMPTY = "CREATE SCHEMA pgblend; CREATE SCHEMA pgblend_data CREATE TABLE alembic_version ()"
FIRST = """
CREATE OR REPLACE FUNCTION pgblend.stays() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION pgblend.goes() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE OR REPLACE FUNCTION pgblend.goes_too() RETURNS int LANGUAGE sql RETURN pgblend.goes();
CREATE OR REPLACE VIEW pgblend.seen AS SELECT pgblend.goes_too() AS n;
"""
SECOND = """
CREATE OR REPLACE FUNCTION pgblend.stays() RETURNS int LANGUAGE sql AS 'SELECT 2';
"""
OBJECTS = (
    "SELECT proname::text FROM pg_proc WHERE pronamespace = 'pgblend'::regnamespace UNION ALL"
    " SELECT relname::text FROM pg_class WHERE relnamespace = 'pgblend'::regnamespace ORDER BY 1"
)


def test_replacing_keeps_grants_owners_and_what_is_the_users(empty: str) -> None:
    with runner._session(empty) as connection:
        connection.exec_driver_sql(EMPTY)
        replace_routines(connection, FIRST, None)
        connection.exec_driver_sql(
            "CREATE FUNCTION pgblend.users() RETURNS int LANGUAGE sql AS 'SELECT 3'"
        )
        connection.exec_driver_sql("GRANT EXECUTE ON FUNCTION pgblend.stays() TO pg_monitor")
        replace_routines(connection, SECOND, FIRST)
        assert list(connection.exec_driver_sql(OBJECTS).scalars()) == ["stays", "users"]
        assert connection.exec_driver_sql("SELECT pgblend.stays()").scalar() == 2
        access = "SELECT proacl::text FROM pg_proc WHERE proname = 'stays'"
        assert "pg_monitor=X" in str(connection.exec_driver_sql(access).scalar())
        replace_routines(connection, None, SECOND)
        assert list(connection.exec_driver_sql(OBJECTS).scalars()) == ["users"]


def test_a_routine_with_other_arguments_takes_the_place_of_the_old(empty: str) -> None:
    rights = "\n-- 99_access/access\nGRANT EXECUTE ON FUNCTION pgblend.stays TO pg_monitor;"
    more = FIRST.replace("stays()", "stays(n int DEFAULT 1)")
    with runner._session(empty) as connection:
        connection.exec_driver_sql(EMPTY)
        replace_routines(connection, FIRST + rights, None)
        replace_routines(connection, more + rights, FIRST + rights)
        arguments = "SELECT pronargs FROM pg_proc WHERE proname = 'stays'"
        assert list(connection.exec_driver_sql(arguments).scalars()) == [1]


@pytest.mark.slow
def test_many_upgrade_at_once(empty: str, fresh_schema: str) -> None:
    errors: list[BaseException] = []

    def upgrade() -> None:
        try:
            runner.upgrade(empty)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert schema(empty) == fresh_schema


def test_a_database_of_a_newer_pgblend_is_left_alone(empty: str) -> None:
    runner.upgrade(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("UPDATE pgblend_data.alembic_version SET version_num = '9999'")
    before = schema(empty)
    for action in (
        runner.upgrade,
        runner.status,
        runner.apply,
        lambda url: runner.downgrade(url, "base"),
    ):
        with pytest.raises(UserError, match="at revision 9999") as caught:
            action(empty)
        assert caught.value.hint
    assert schema(empty) == before


def test_apply_needs_the_newest_revision(empty: str) -> None:
    with pytest.raises(UserError, match="apply needs"):
        runner.apply(empty)


def test_roles_that_are_not_superusers_are_told(connect_as, database_url: str) -> None:
    member = connect_as("pgblend_admin").info
    url = f"{database_url} user={member.user} password=secret"
    with pytest.raises(Exception, match=r"permission denied|must be owner"):
        runner.downgrade(url, "base")


@pytest.mark.parametrize("major", [9, 12, 14])
def test_an_old_server(major: int) -> None:
    with pytest.raises(UserError, match=f"the server is PostgreSQL {major}, pgblend needs 15") as e:
        preflight._check_server_version(major)
    assert e.value.hint


@pytest.mark.parametrize("version", ["0.5.1", "0.7.4"])
def test_an_old_pgvector(version: str) -> None:
    with pytest.raises(UserError, match=f"pgvector {version}, pgblend needs") as caught:
        preflight._check_extension("vector", version)
    assert "ALTER EXTENSION" in caught.value.hint


@pytest.mark.parametrize("version", ["0.8.0", "0.8.1", "0.10.0", "1.0"])
def test_pgvectors_that_will_do(version: str) -> None:
    preflight._check_extension("vector", version)


@pytest.mark.parametrize("name", preflight.EXTENSIONS)
def test_a_missing_extension(name: str) -> None:
    with pytest.raises(UserError, match=f"the server has no extension '{name}'") as caught:
        preflight._check_extension(name, None)
    assert caught.value.hint


def test_a_missing_extension_leaves_the_database_alone(
    new_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    before = schema(url)
    monkeypatch.setattr(preflight, "EXTENSIONS", (*preflight.EXTENSIONS, "no_such_extension"))
    with pytest.raises(UserError, match="no extension 'no_such_extension'"):
        runner.upgrade(url)
    assert schema(url) == before


def test_search_path_of_a_name_that_needs_quotes(server) -> None:
    name = 'pgblend test "quoted"'
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute('CREATE DATABASE "pgblend test ""quoted"""')
        try:
            runner.upgrade(server.url(name))
            assert settings_of(server.url(name)) == ['search_path="$user", public, blend']
        finally:
            connection.execute('DROP DATABASE "pgblend test ""quoted"""')
