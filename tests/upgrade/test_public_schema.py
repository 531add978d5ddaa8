"""What is public is in the schema blend, which the database's search_path has."""

import os
from collections.abc import Callable

import psycopg
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.migrations import runner
from support.catalogue import schema, settings_of
from support.database import Database

pytestmark = pytest.mark.extended

PLACES = """
    SELECT array_agg(DISTINCT pronamespace::regnamespace::text) FROM pg_proc
    WHERE proname IN ('hybrid_search', 'rrf', 'last_search')
"""


def test_a_schema_of_somebody_else_is_refused(new_database: Callable[..., str], connect_as) -> None:
    url = new_database()
    owner = connect_as("pgblend_reader").info.user
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA blend AUTHORIZATION {owner}")  # type: ignore[call-overload]
        connection.execute("CREATE TABLE blend.coffee ()")
        connection.execute(
            "CREATE FUNCTION blend.hybrid_search() RETURNS int LANGUAGE sql RETURN 1"
        )  # a name of ours makes it not ours
    before = schema(url), settings_of(url)
    with pytest.raises(UserError, match=f"belongs to others.*: schema blend of {owner}"):
        runner.upgrade(url)
    assert (schema(url), settings_of(url)) == before
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SCHEMA blend RENAME TO coffee_blends")
        connection.execute("DROP FUNCTION coffee_blends.hybrid_search()")
    runner.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        assert Database(connection).value(PLACES) == ["blend"]
        connection.execute("DROP SCHEMA coffee_blends CASCADE")  # its owner's role goes away


def test_another_superuser_may_migrate(database_url: str, server) -> None:  # type: ignore[no-untyped-def]
    other = f"pgblend_test_other_{os.getpid()}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        db = Database(connection)
        owner = db.value("SELECT current_user::text")
        db.rows(f"CREATE ROLE {other} SUPERUSER LOGIN PASSWORD 'secret'")
        try:
            url = server.url(connection.info.dbname, user=other, password="secret")
            runner.upgrade(url)
            runner.upgrade(database_url)
            owners = "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'blend'"
            assert db.value(owners) == owner
            assert settings_of(database_url) == ['search_path="$user", public, blend']
        finally:
            db.rows(f"REASSIGN OWNED BY {other} TO {owner}")
            db.rows(f"DROP OWNED BY {other}")
            db.rows(f"DROP ROLE {other}")


def test_the_role_of_up_makes_nothing_in_a_schema_of_ours(empty: str) -> None:
    """Its name is pgblend, and so "$user" would be our schema."""
    runner.upgrade(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        db = Database(connection)
        if db.value("SELECT current_user::text") != "pgblend":
            pytest.skip("the server's superuser has another name")
        db.rows("CREATE TABLE made_here ()")
        assert db.value("SELECT 'public.made_here'::regclass::text") == "made_here"
        assert db.value("SELECT rrf('{1}') > 0") is True
        db.rows("CREATE SCHEMA app")
        own = f"ALTER ROLE pgblend IN DATABASE {connection.info.dbname} {{}} search_path"
        db.rows(own.format("SET") + " = app, blend")
        runner.upgrade(empty)
        with psycopg.connect(empty) as again:
            assert Database(again).value("SHOW search_path") == "app, blend"
        db.rows(own.format("RESET"))
    runner.downgrade(empty, "base")
    with psycopg.connect(empty, autocommit=True) as connection:
        assert Database(connection).value("SHOW search_path") == '"$user", public'
