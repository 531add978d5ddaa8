"""`migrate up --managed`: an owner who is no superuser, on a server whose PL/Python is not used."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result
from conftest import Server
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from support.database import Database
from support.outside import fill_library
from support.server import throwaway_server

LEFT = "SELECT nspname::text FROM pg_namespace WHERE nspname ~ 'blend'"
HINT = (
    "Connect through pgblend door, which brings the program, or use the command line, HTTP or "
    "Python: see docs/managed.md."
)


def run(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--database-url", url, *arguments])


def error_of(url: str, statement: str) -> tuple[str | None, str | None]:
    """Return SQLSTATE and hint of a statement that fails."""
    with psycopg.connect(url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(statement.encode())
    return raised.value.sqlstate, raised.value.diag.message_hint


OTHER = "the program of this pgblend is not the one that the database's routines are made for"


def as_of_another_pgblend(url: str) -> None:
    """Have stand-ins ask for another program, as another version of pgblend makes them."""
    with psycopg.connect(url) as connection:
        told = "pgblend._told(text, json)"
        row = connection.execute("SELECT pg_get_functiondef(%s::regprocedure)", (told,)).fetchone()
        assert row is not None
        first = r"(?<='program', ')\w"  # of a digest, which may begin with any
        made, count = re.subn(first, lambda found: "1" if found[0] == "0" else "0", row[0])
        assert count == 1
        connection.execute(made.encode())


@contextmanager
def owned(url: str, owner: str, rights: str = "") -> Iterator[str]:
    """Give an empty database with pgvector to a role that is no superuser; yields its URL."""
    role = sql.Identifier(owner)
    with psycopg.connect(url, autocommit=True) as admin:
        name = sql.Identifier(admin.info.dbname)
        admin.execute("CREATE EXTENSION vector")
        made = sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret' {}")
        admin.execute(made.format(role, sql.SQL(rights)))
        try:
            admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(name, role))
            yield make_conninfo(url, user=owner, password="secret")
        finally:
            admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(name))
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            admin.execute(sql.SQL("DROP ROLE {}").format(role))


def test_an_owner_without_rights_has_all_but_the_program(
    server: Server, template: str, new_database: Callable[..., str]
) -> None:
    admin = new_database()
    with owned(admin, "managed_owner", "CREATEROLE") as url:
        made = run(url, "migrate", "up", "--managed")
        assert made.exit_code == 0, made.output
        status = run(url, "migrate", "status").stdout
        assert "pending: none\nroutines changed by hand: no" in status
        assert run(url, "migrate", "up").exit_code == 0  # the edition stays
        # What needs the program says where it is; the rest is as inside.
        for call in (
            "SELECT * FROM blend.hybrid_search('x')",
            "SELECT blend.set_setting('rrf_k', '70')",
        ):
            assert error_of(url, call) == ("PB017", HINT)
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM collections").fetchone() == (0,)
        checks = run(url, "doctor").stdout
        assert "runs in clients; this one has the program of the routines" in checks
        assert "problem" not in checks
        # The server's own place, not that of the door through which it is asked.
        port = conninfo_to_dict(url)["port"]
        assert f"connection: managed_owner at 127.0.0.1:{port}, database " in checks
        as_of_another_pgblend(url)
        other = run(url, "search", "x")
        assert (other.exit_code, OTHER in other.stderr) == (1, True), other.output
        assert OTHER in run(url, "doctor").output
        mended = run(url, "migrate", "up")
        assert mended.exit_code == 0, mended.output
        assert run(url, "search", "x").exit_code == 0
        # Who reads trusts the database's owner; a superuser does not.
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE managed_reader LOGIN PASSWORD 'secret'")
            connection.execute("CREATE ROLE managed_admin LOGIN PASSWORD 'secret'")
            connection.execute("GRANT pgblend_reader TO managed_reader")
            connection.execute("GRANT pgblend_admin TO managed_admin")
            try:
                found = run(make_conninfo(url, user="managed_reader"), "search", "x")
                # What would believe an admin's program is the owner's to do, and says so.
                admin_url = make_conninfo(url, user="managed_admin")
                asked = run(admin_url, "space", "create", "s", "--model", "m")
                made = run(
                    admin_url,
                    *["space", "create", "s", "--model", "m", "--dimensions", "8", "--no-probe"],
                )
            finally:
                connection.execute("DROP ROLE managed_reader, managed_admin")
        assert (found.exit_code, "may read no collection" in found.stderr) == (0, True)
        assert "_post_to_gateway would run with the rights of managed_owner" in asked.stderr
        assert "hint: Connect as managed_owner" in asked.stderr
        assert made.exit_code == 0, made.output
        refused = run(admin, "search", "x")
        assert "belongs to others, no superusers: schema blend of managed_owner" in refused.stderr
        down = run(url, "migrate", "down", "base", "--yes")
        assert (down.exit_code, "the roles" in down.stderr) == (0, True), down.output
        with psycopg.connect(url) as connection:
            assert connection.execute(LEFT).fetchall() == []


PLANTED = "CREATE FUNCTION public.lower(name) RETURNS text LANGUAGE sql AS 'SELECT $1::text'"


def test_wrong_places_are_refused(server: Server, new_database: Callable[..., str]) -> None:
    admin = new_database()
    with owned(admin, "managed_owner", "CREATEROLE") as url:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("GRANT CREATE ON SCHEMA public TO public")
            connection.execute("CREATE ROLE managed_planter")
            connection.execute("SET ROLE managed_planter")
            connection.execute(PLANTED)
            planted = run(url, "migrate", "up", "--managed")
            connection.execute("RESET ROLE")
            connection.execute("DROP OWNED BY managed_planter")
            connection.execute("DROP ROLE managed_planter")
        assert "the database would run code of others: public.lower(name) of" in planted.stderr
        stranger = make_conninfo(admin, dbname="postgres", user="managed_owner", password="secret")
        refused = run(stranger, "migrate", "up", "--managed")
        assert "role managed_owner does not own the database postgres" in refused.stderr
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute('DROP COLLATION pg_catalog."und-x-icu"')
        assert 'no collation "und-x-icu"' in run(url, "migrate", "up", "--managed").stderr


@pytest.mark.slow
def test_a_library_made_inside_is_searched_by_an_owner_without_rights(
    server: Server, template: str, new_database: Callable[..., str], tmp_path: Path
) -> None:
    home, away, dump = new_database(template), new_database(), tmp_path / "dump"
    query = ["query", "red fox", "--json", "--option", 'weights={"vector": 0}']
    with connect(home) as connection:
        fill_library(Database(connection))
    expected = json.loads(run(home, *query).stdout)["results"]
    assert run(home, "migrate", "up", "--managed").exit_code == 0
    subprocess.run(["pg_dump", "--format=c", f"--file={dump}", home], check=True)
    with owned(away, "managed_owner", "CREATEROLE") as url:
        restored = subprocess.run(
            ["pg_restore", "--no-owner", f"--dbname={url}", str(dump)],
            capture_output=True,
            text=True,
        )
        # What belongs to others is there before: both extensions' comments, at most.
        wrong = [line for line in restored.stderr.splitlines() if "error:" in line]
        assert all("must be owner of extension" in line for line in wrong), restored.stderr
        assert run(url, "migrate", "up").exit_code == 0
        assert json.loads(run(url, *query).stdout)["results"] == expected
        assert error_of(url, "SELECT * FROM blend.hybrid_search('x')") == ("PB017", HINT)
    assert len(expected) == 10


@pytest.mark.slow
def test_an_administrator_runs_six_lines(tmp_path: Path) -> None:
    with throwaway_server() as given:
        place = Server(**given)
        with (
            place.admin as admin,
            place.database("first") as url,
            owned(url, "bert") as owner,
        ):
            refused = run(owner, "migrate", "up", "--managed").stderr
            lines = [line for line in refused.splitlines() if line.endswith(";")]
            assert len(lines) == 6
            for line in lines:
                admin.execute(line.removeprefix("hint: ").encode())
            assert run(owner, "migrate", "up", "--managed").exit_code == 0
            restore(owner, place, tmp_path / "dump")
            down = run(owner, "migrate", "down", "base", "--yes")
            assert "dropping them is not your right" in down.stderr


def restore(owner: str, place: Server, dump: Path) -> None:
    """Dump a database and restore it into another of the same owner, who looks at it."""
    subprocess.run(["pg_dump", "--format=c", f"--file={dump}", owner], check=True)
    with place.database("second") as other:
        with psycopg.connect(other, autocommit=True) as admin:
            admin.execute("CREATE EXTENSION vector")
            admin.execute("ALTER DATABASE second OWNER TO bert")
        url = make_conninfo(owner, dbname="second")
        ended = subprocess.run(
            ["pg_restore", f"--dbname={url}", str(dump)], capture_output=True, text=True
        )
        # The extension is there and another's: all else is restored.
        assert "errors ignored on restore: 1" in ended.stderr, ended.stderr
        assert run(url, "migrate", "up").exit_code == 0
        assert "routines changed by hand: no" in run(url, "migrate", "status").stdout
        with psycopg.connect(other, autocommit=True) as admin:
            admin.execute("ALTER DATABASE second OWNER TO CURRENT_USER")
            admin.execute("DROP OWNED BY bert CASCADE")
