"""Whoever owns a database and is no superuser gains nothing by what it makes there beforehand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql

from pgblend.cli.main import cli
from pgblend.migrations import runner
from support.planted import PLANTED

pytestmark = pytest.mark.extended

OWNER = "pgblend_database_owner"
# Makes its owner a superuser where a superuser runs it, whatever else the statement does.
EVIL = f"""
    CREATE SCHEMA evil;
    CREATE FUNCTION evil.rise() RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE 'ALTER ROLE {OWNER} SUPERUSER';
        RETURN '0001';
    EXCEPTION WHEN OTHERS THEN RETURN '0001';
    END $$;
"""
PLAIN = "CREATE TABLE pgblend_data.alembic_version (version_num varchar(32) PRIMARY KEY);"
MADE = {
    "a view": "CREATE SCHEMA pgblend_data;"
    " CREATE VIEW pgblend_data.alembic_version AS SELECT evil.rise() AS version_num",
    "a default": "CREATE SCHEMA pgblend_data;"
    " CREATE TABLE pgblend_data.alembic_version (version_num text DEFAULT evil.rise() PRIMARY KEY)",
    "a trigger": f"CREATE SCHEMA pgblend_data; {PLAIN}"
    " CREATE FUNCTION evil.fires() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM evil.rise(); RETURN NEW; END $$;"
    " CREATE TRIGGER t BEFORE INSERT ON pgblend_data.alembic_version"
    " FOR EACH ROW EXECUTE FUNCTION evil.fires()",
    "a rule": f"CREATE SCHEMA pgblend_data; {PLAIN} CREATE RULE r AS"
    " ON INSERT TO pgblend_data.alembic_version DO ALSO SELECT evil.rise()",
    "a schema": "CREATE SCHEMA pgblend_data",
    "all schemas": "CREATE SCHEMA blend; CREATE SCHEMA pgblend; CREATE SCHEMA pgblend_data;"
    " CREATE FUNCTION blend.hybrid_search() RETURNS text LANGUAGE sql AS 'SELECT evil.rise()';"
    " CREATE FUNCTION blend.get_setting(text) RETURNS jsonb LANGUAGE sql AS"
    " 'SELECT to_jsonb(evil.rise())'",
}
PATH = """
    CREATE FUNCTION evil.same(text, text) RETURNS boolean LANGUAGE sql AS
    $$ SELECT evil.rise() IS NOT NULL AND $1 OPERATOR(pg_catalog.=) $2 $$;
    CREATE FUNCTION evil.same(name, text) RETURNS boolean LANGUAGE sql AS
    $$ SELECT evil.rise() IS NOT NULL AND $1 OPERATOR(pg_catalog.=) $2 $$;
    CREATE FUNCTION evil.same(name, name) RETURNS boolean LANGUAGE sql AS
    $$ SELECT evil.rise() IS NOT NULL AND $1 OPERATOR(pg_catalog.=) $2 $$;
    CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = text, RIGHTARG = text);
    CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = name, RIGHTARG = text);
    CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = name, RIGHTARG = name);
"""
COMMANDS = (["migrate", "status"], ["migrate", "up"], ["doctor"], ["search", "x"])


@contextmanager
def owned(url: str, made: str) -> Iterator[psycopg.Connection]:
    """Let a role own the database and make things in it; yields a superuser's connection."""
    with psycopg.connect(url, autocommit=True) as admin:
        database = sql.Identifier(admin.info.dbname)
        admin.execute(f"CREATE ROLE {OWNER}")
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, sql.SQL(OWNER)))
        try:
            admin.execute(f"SET ROLE {OWNER}")
            admin.execute(made)  # type: ignore[call-overload]
            admin.execute("RESET ROLE")
            yield admin
        finally:
            admin.execute("RESET ROLE")
            admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))
            admin.execute(f"DROP OWNED BY {OWNER} CASCADE")
            admin.execute(f"DROP ROLE {OWNER}")


def is_superuser(admin: psycopg.Connection) -> bool:
    found = admin.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", [OWNER]).fetchone()
    assert found is not None
    return bool(found[0])


@pytest.mark.parametrize("made", MADE)
def test_nothing_of_a_database_is_read_before_it_is_checked(
    new_database: Callable[..., str], made: str
) -> None:
    url = new_database()
    with owned(url, EVIL + MADE[made]) as admin:
        for arguments in COMMANDS:
            result = CliRunner().invoke(cli, ["--database-url", url, *arguments])
            assert result.exit_code == 1, (arguments, result.output)
            assert "belongs to others, no superusers: schema " in result.output + result.stderr
            assert OWNER in result.output + result.stderr
            assert not is_superuser(admin)
        # Handed over, the schemas still hold what the owner made.
        admin.execute(
            "DO $$ DECLARE n name; BEGIN FOR n IN SELECT nspname FROM pg_namespace"
            " WHERE nspname LIKE '%blend%' LOOP"
            " EXECUTE format('ALTER SCHEMA %I OWNER TO CURRENT_USER', n); END LOOP; END $$"
        )
        for arguments in COMMANDS:
            CliRunner().invoke(cli, ["--database-url", url, *arguments])
            assert not is_superuser(admin)


def test_the_documents_are_not_the_database_owner_s_to_drop(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with owned(url, EVIL) as admin:
        runner.upgrade(url)
        admin.execute(f"SET ROLE {OWNER}")
        for statement in (
            "DROP SCHEMA pgblend_data CASCADE",
            "ALTER SCHEMA pgblend_data RENAME TO mine",
            "CREATE TABLE pgblend_data.mine ()",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                admin.execute(statement)  # type: ignore[call-overload]
        admin.execute("RESET ROLE")


@pytest.mark.parametrize("after", [True, False], ids=["migrated", "empty"])
def test_the_search_path_that_the_owner_sets_is_not_a_superuser_s(
    new_database: Callable[..., str], after: bool
) -> None:
    url = new_database()
    if after:
        runner.upgrade(url)
    with owned(url, EVIL + PATH) as admin:
        database = sql.Identifier(admin.info.dbname)
        admin.execute(f"SET ROLE {OWNER}")
        admin.execute(
            sql.SQL("ALTER DATABASE {} SET search_path = evil, pg_catalog, public, blend").format(
                database
            )
        )
        admin.execute("RESET ROLE")
        for arguments in (*COMMANDS, ["status"], ["config", "get", "limits"]):
            CliRunner().invoke(cli, ["--database-url", url, *arguments])
            assert not is_superuser(admin), arguments


# Leaves the role that the owner had the session take: what is left is who logged in.
LEAVES = EVIL.replace("BEGIN\n", "BEGIN\n        PERFORM set_config('role', 'none', false);\n", 1)


@pytest.mark.parametrize("made", [*MADE, "a path"])
def test_a_superuser_does_not_become_the_owner_by_a_setting_of_the_database(
    new_database: Callable[..., str], made: str
) -> None:
    url = new_database()
    with owned(url, LEAVES + MADE.get(made, PATH)) as admin:
        database = sql.Identifier(admin.info.dbname)
        admin.execute(f"SET ROLE {OWNER}")
        for setting in ("search_path = evil, pg_catalog, public, blend", f"role = {OWNER}"):
            admin.execute(sql.SQL("ALTER DATABASE {} SET {}").format(database, sql.SQL(setting)))  # type: ignore[arg-type]
        admin.execute("RESET ROLE")
        for arguments in (*COMMANDS, ["status"], ["config", "get", "limits"]):
            result = CliRunner().invoke(cli, ["--database-url", url, *arguments])
            assert not is_superuser(admin), arguments
            assert f"whoever connects to this database becomes {OWNER}" in result.output
        admin.execute(sql.SQL("ALTER DATABASE {} RESET role").format(database))
        # Whoever chose the role is a superuser as before.
        as_owner = psycopg.conninfo.make_conninfo(url, options=f"-c role={OWNER}")
        for arguments in COMMANDS:
            CliRunner().invoke(cli, ["--database-url", as_owner, *arguments])
            assert not is_superuser(admin), arguments


def test_who_becomes_the_owner_by_a_setting_of_the_database_runs_none_of_its_code(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with owned(url, "SELECT") as admin:
        database = sql.Identifier(admin.info.dbname)
        admin.execute(f"CREATE ROLE pgblend_visitor LOGIN PASSWORD 'x' IN ROLE {OWNER}")
        try:
            admin.execute(
                f"GRANT CREATE ON DATABASE {admin.info.dbname} TO {OWNER}; SET ROLE {OWNER};"
                f"{MADE['all schemas'].replace('evil.rise()', 'current_user::text')}; RESET ROLE"
            )  # type: ignore[call-overload]
            admin.execute(
                sql.SQL("ALTER DATABASE {} SET role = {}").format(database, sql.SQL(OWNER))
            )
            visitor = psycopg.conninfo.make_conninfo(url, user="pgblend_visitor", password="x")
            result = CliRunner().invoke(cli, ["--database-url", visitor, "migrate", "status"])
            assert "belongs to others, no superusers: schema " in result.output
        finally:
            admin.execute(sql.SQL("ALTER DATABASE {} RESET role").format(database))
            admin.execute("DROP ROLE pgblend_visitor")


def test_a_table_of_another_shape_is_refused_whoever_owns_it(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA pgblend_data")
        admin.execute(
            "CREATE VIEW pgblend_data.alembic_version AS SELECT '0001'::varchar AS version_num"
        )
    result = CliRunner().invoke(cli, ["--database-url", url, "migrate", "up"])
    assert result.exit_code == 1
    assert "alembic_version is not the table that migrations made" in result.stderr


@pytest.mark.parametrize("extension", ["hstore", "vector", "pg_trgm"])
def test_membership_of_an_extension_hides_no_planted_routine(
    new_database: Callable[..., str], extension: str
) -> None:
    url = new_database()
    with owned(url, PLANTED["format(text,text)"]) as admin:
        admin.execute(f"CREATE EXTENSION {extension}")  # type: ignore[call-overload]
        admin.execute(f"ALTER EXTENSION {extension} ADD FUNCTION public.format(text, text)")  # type: ignore[call-overload]
        for arguments in COMMANDS[:3]:
            result = CliRunner().invoke(cli, ["--database-url", url, *arguments])
            told = result.output + result.stderr
            assert "ran as" not in told
            if extension != "hstore" or arguments == ["migrate", "up"]:
                assert "a superuser would run code of others: " in told
                assert result.exit_code == 1
        admin.execute(f"ALTER EXTENSION {extension} DROP FUNCTION public.format(text, text)")  # type: ignore[call-overload]


def test_what_fits_better_than_a_name_of_an_extension_is_refused_as_well(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    planted = (
        "CREATE EXTENSION pg_trgm;"
        " CREATE FUNCTION public.similarity(name, text) RETURNS real LANGUAGE sql"
        " AS 'SELECT 1::real'"
    )
    with owned(url, planted):
        result = CliRunner().invoke(cli, ["--database-url", url, "migrate", "up"])
        assert result.exit_code == 1
        assert f"similarity(name,text) of {OWNER}" in result.stderr


def test_extensions_that_the_owner_made_are_no_hindrance(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with owned(url, "CREATE EXTENSION pg_trgm; CREATE EXTENSION hstore"):
        runner.upgrade(url)
        assert runner.status(url)["pending"] == []


@pytest.mark.parametrize("how", ["database", "schema"])
def test_doctor_names_who_may_drop_the_schema_of_an_extension(
    new_database: Callable[..., str], template: str, how: str
) -> None:
    url = new_database(template)
    with owned(url, "SELECT 1") as admin:
        if how == "schema":
            admin.execute("CREATE SCHEMA kept")
            admin.execute("ALTER EXTENSION vector SET SCHEMA kept")
            admin.execute("ALTER EXTENSION pg_trgm SET SCHEMA kept")
            admin.execute(f"ALTER SCHEMA kept OWNER TO {OWNER}")
        result = CliRunner().invoke(cli, ["--database-url", url, "doctor"])
        name = "kept" if how == "schema" else "public"
        assert f"{OWNER} owns {name}, the schema of the extension vector" in result.output
        assert f"{OWNER} owns {name}, the schema of the extension pg_trgm" in result.output
        if how == "schema":
            admin.execute("ALTER SCHEMA kept OWNER TO CURRENT_USER")


def test_doctor_names_who_may_drop_an_extension(new_database: Callable[..., str]) -> None:
    url = new_database()
    with owned(url, "CREATE EXTENSION pg_trgm"):
        runner.upgrade(url)
        result = CliRunner().invoke(cli, ["--database-url", url, "doctor"])
        assert f"{OWNER} owns the extension pg_trgm, and may drop it" in result.output
