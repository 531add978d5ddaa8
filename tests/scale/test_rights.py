"""Row security on a coordinator: each role goes to the shards as itself."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database
from support.shards import Scale, run_command

SEARCH = "SELECT * FROM lexical_search('wine')"


def test_a_role_sees_what_it_may_read_and_no_more(two_shards: Scale) -> None:
    scale = two_shards
    scale.clear()
    for place, collection in enumerate(["books", "briefe", "books", "rest"]):
        scale.add(collection, f"k{place}", f"wine of house {place}")
    role = f"ann_{scale.coordinator.connection.info.backend_pid}"
    admin = scale.coordinator
    admin.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pgblend_reader")
    try:
        for database in (scale.one, admin):
            database.rows("SELECT grant_collection('books', %s)", role)
        run_command(admin.url, "shards", "push")
        one, ann = (as_role(database, role) for database in (scale.one, admin))
        with ann.connection, one.connection:
            said = ann.error(SEARCH)
            assert "no shard answered" in str(said.message_primary)
            assert "pgblend shards grant ROLE" in str(said.message_hint)
            run_command(admin.url, "shards", "grant", role, "--password", "x")
            assert len(ann.rows(SEARCH)) == 2
            assert ann.rows(SEARCH) == one.rows(SEARCH)
            assert ann.error("SELECT pgblend._map_user('x', 'y', 'z')").sqlstate == "42501"
            for database in (scale.one, admin):
                database.rows("SELECT revoke_collection('books', %s)", role)
            # A shard that has not learned that a grant was taken back shows nothing.
            assert "lacks the last changes of settings, grants" in str(
                ann.error(SEARCH).message_primary
            )
            run_command(admin.url, "shards", "push")
            assert ann.rows(SEARCH) == one.rows(SEARCH) == []
    finally:
        for database in (admin, scale.one, *scale.shards):
            database.connection.execute(f"DROP OWNED BY {role}".encode())
        admin.connection.execute(
            f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards".encode()
        )
        admin.connection.execute(f"DROP ROLE {role}".encode())


@contextmanager
def reader(scale: Scale, *, superuser: bool = False) -> Iterator[str]:
    """A role with password x, which may read books; it is gone afterwards."""
    admin = scale.coordinator
    role = f"bob_{admin.connection.info.backend_pid}"
    admin.rows(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x' {'SUPERUSER' if superuser else ''}"
        " IN ROLE pgblend_reader"
    )
    try:
        admin.rows("SELECT grant_collection('books', %s)", role)
        run_command(admin.url, "shards", "push")
        yield role
    finally:
        admin.rows("SELECT revoke_collection('books', %s)", role)
        run_command(admin.url, "shards", "push")
        for database in (admin, *scale.shards):
            database.rows(f"DROP OWNED BY {role}")
        admin.rows(f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards")
        admin.rows(f"DROP ROLE {role}")


@pytest.mark.slow
def test_a_new_password_takes_the_place_of_the_old_one(two_shards: Scale) -> None:
    """Sessions that are connected go on; the next ones need the new one, and so do shards."""
    two_shards.clear()
    two_shards.add("books", "k", "red wine")
    admin = two_shards.coordinator
    with reader(two_shards) as role:
        run_command(admin.url, "shards", "grant", role, "--password", "x")
        earlier = as_role(admin, role)
        with earlier.connection:
            assert len(earlier.rows(SEARCH)) == 1
            admin.rows(f"ALTER ROLE {role} PASSWORD 'y'")
            assert len(earlier.rows(SEARCH)) == 1
            with connect(make_conninfo(admin.url, user=role, password="y")) as connection:
                said = str(Database(connection).error(SEARCH).message_primary)
                assert "no shard answered" in said
                assert "password authentication failed" in said
            run_command(admin.url, "shards", "grant", role, "--password", "y")
            with connect(make_conninfo(admin.url, user=role, password="y")) as connection:
                assert len(Database(connection).rows(SEARCH)) == 1
            assert len(earlier.rows(SEARCH)) == 1
        options = "SELECT umoptions FROM pg_user_mappings WHERE usename = %s"
        assert admin.column(options, role) == [[f"user={role}", "password=y"]]


@pytest.mark.slow
def test_urls_that_are_added_again_bring_a_new_login(two_shards: Scale) -> None:
    """The command line and searches of who added them go by the last ones."""
    two_shards.clear()
    two_shards.add("books", "k", "red wine")
    admin = two_shards.coordinator

    def add(**login: str) -> None:
        # Without what the tests' libpq adds: the server's may be older.
        known = [conninfo_to_dict(shard.url) for shard in two_shards.shards]
        parts = "host", "port", "dbname", "user", "password"
        urls = [make_conninfo("", **{name: one[name] for name in parts} | login) for one in known]
        named = (f"b{number}={url}" for number, url in enumerate(urls))
        run_command(admin.url, "shards", "add", *named)

    def states() -> list[str]:
        told = json.loads(run_command(admin.url, "shards", "status", "--json"))
        return [one["state"] for one in told["shards"]]

    with reader(two_shards, superuser=True) as role:
        try:
            add(user=role, password="x")
            assert states() == ["ready", "ready"]
            admin.rows(f"ALTER ROLE {role} PASSWORD 'y'")
            assert all("password authentication failed" in state for state in states())
            add(user=role, password="y")
            assert states() == ["ready", "ready"]
            with connect(admin.url) as connection:
                assert len(Database(connection).rows(SEARCH)) == 1
        finally:
            add()


def as_role(database: Database, role: str) -> Database:
    """Connect once more, as a role."""
    url = make_conninfo(database.url, user=role, password="x")
    return Database(connect(url))


def test_nobody_goes_to_shards_as_everybody(two_shards: Scale) -> None:
    mapped = two_shards.coordinator.column("SELECT usename FROM pg_user_mappings")
    assert "public" not in mapped
    assert mapped


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["b1"], "expected NAME=URL"),
        (["b1=dbname=a user=x", "b1=dbname=b user=x"], "each name once"),
        (["b1=dbname=a user=x", "b2=dbname=b user=y"], "different users"),
        (["b1=dbname=a"], "no user"),
        (["other=dbname=a user=x"], "a split adds others"),
    ],
)
def test_shards_that_cannot_be_added(two_shards: Scale, given: list[str], said: str) -> None:
    if said == "a split adds others":
        given = [f"other={two_shards.shards[0].url}"]
    assert said in run_command(two_shards.coordinator.url, "shards", "add", *given, fails=True)


def test_a_database_with_documents_becomes_neither(two_shards: Scale) -> None:
    shard, one = two_shards.shards[0], two_shards.one
    two_shards.clear()
    two_shards.add("books", "k", "wine")
    said = run_command(one.url, "shards", "add", f"b1={shard.url}", fails=True)
    assert "this database has documents: a coordinator has none" in said
    assert "this database has no shards" in run_command(one.url, "shards", "push", fails=True)
    said = run_command(two_shards.coordinator.url, "shards", "status")
    assert "ready" in said


@pytest.mark.slow
def test_a_reader_comes_in_by_nothing_that_the_server_s_account_has(two_shards: Scale) -> None:
    """It may change its own user mapping, but knows no password of another user."""
    two_shards.clear()
    two_shards.add("books", "k", "wine of another house")
    admin = two_shards.coordinator
    login = conninfo_to_dict(two_shards.shards[0].url)
    file = admin.value("SELECT current_setting('data_directory')") + "/passwords"
    options = "SELECT o.option_name, o.option_value FROM pg_foreign_server AS s"
    options += " CROSS JOIN LATERAL pg_options_to_table(s.srvoptions) AS o"
    options += " WHERE s.srvname = 'pgblend_shards'"
    shielded = dict(admin.rows(options))

    def place(of: Callable[[str], str]) -> None:
        told = ", ".join(f"SET {name} $v${of(value)}$v$" for name, value in shielded.items())
        admin.rows(f"ALTER SERVER pgblend_shards OPTIONS ({told})")

    admin.rows(
        "CREATE FUNCTION public.begun_with(password text) RETURNS void LANGUAGE plpython3u"
        " AS 'import os; os.environ[\"PGPASSWORD\"] = password'"
    )

    def found(role: str, password: str | None = None) -> list[tuple[object, ...]] | str:
        """What a session of its own finds, of a server that was begun with PGPASSWORD."""
        with as_role(admin, role).connection as connection:
            try:
                if password is not None:
                    Database(connection).rows("SELECT public.begun_with(%s)", password)
                return Database(connection).rows(
                    "SELECT source_key FROM blend.lexical_search('house')"
                )
            except psycopg.Error as error:
                return str(error)

    with reader(two_shards) as role:
        run_command(admin.url, "shards", "grant", role, "--password", "x")
        assert found(role) == [("k",)]
        with as_role(admin, role).connection as connection:
            bob = Database(connection)
            assert bob.error("SELECT * FROM pgblend._tell_shards('{0}', '{x}')").sqlstate == "42501"
            bob.rows(
                "ALTER USER MAPPING FOR CURRENT_USER SERVER pgblend_shards"
                f" OPTIONS (SET user '{login['user']}', DROP password)"
            )
        assert "no shard answered" in found(role, login["password"])
        admin.rows(
            f"COPY (SELECT '*:*:*:{login['user']}:{login['password']}')"
            f" TO PROGRAM 'umask 077; cat > {file}'"
        )
        try:
            # As the account's own file of passwords would be read.
            place(lambda value: value.replace("/dev/null password=none ", f"{file} ", 1))
            told = " ".join(run_command(admin.url, "shards", "check", fails=True).split())
            assert "is reached with what the server's account has (its passwords)" in told
            assert "asks for no password" in told
            assert found(role) == [("k",)]
        finally:
            place(str)
            admin.rows(f"COPY (SELECT 1) TO PROGRAM 'rm {file}'")
        admin.rows("DROP FUNCTION public.begun_with")
        run_command(admin.url, "shards", "check")
        assert "no shard answered" in found(role)


def test_connection_strings_of_shards_name_no_file_of_the_server_s_account(
    two_shards: Scale,
) -> None:
    for value in two_shards.coordinator.column(
        "SELECT o.option_value FROM pg_foreign_server AS s"
        " CROSS JOIN LATERAL pg_options_to_table(s.srvoptions) AS o"
        " WHERE s.srvname = 'pgblend_shards'"
    ):
        parts = conninfo_to_dict(value)
        assert (parts["passfile"], parts["gssencmode"]) == ("/dev/null", "disable")
        assert (parts["password"], parts["krbsrvname"]) == ("none", "none")
        assert not Path(str(parts["sslcert"])).exists()


def test_a_coordinator_s_request_calls_nothing_but_routines_of_pgblend(two_shards: Scale) -> None:
    request = {"version": -1, "routine": "pg_catalog.version", "arguments": {}}
    (answer,) = two_shards.shards[0].column(
        "SELECT answer::jsonb -> 'error' FROM pgblend._carry_out('{0}', ARRAY[%s])",
        json.dumps(request),
    )
    assert answer[:2] == ["42501", "pg_catalog.version is no routine of pgblend"]
