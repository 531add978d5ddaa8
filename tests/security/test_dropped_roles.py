"""Grants and tokens end with their role: one that is made later under the name has none of them."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from conftest import Server, temporary_database

from pgblend.cli.base.database import connect
from pgblend.cli.doors.tokens import make_link
from pgblend.cli.main import cli
from pgblend.migrations import runner
from support.catalogue import run_client
from support.database import Database, add_documents
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.server import throwaway_server

pytestmark = pytest.mark.extended

READ = "SELECT count(*) FROM lexical_search('wine')"
# What reads as its owner and asks itself who may see a collection.
DOORS = (
    READ,
    "SELECT count(*) FROM blend.documents",
    """SELECT count(*) FROM lexical_search('wine', filter => '{"a": {"contains": 1}}')""",
    "SELECT count(*) FROM fuzzy_search('wime')",
)
CHANGES = {
    "dropped": "DROP ROLE {0}; CREATE ROLE {0} IN ROLE pgblend_writer",
    "renamed": "ALTER ROLE {0} RENAME TO {0}_old; CREATE ROLE {0} IN ROLE pgblend_writer",
}
FOUND = {"dropped": "was made anew", "renamed": "is called {0}_old"}


@pytest.fixture
def role(server: Server) -> Iterator[str]:
    """A name that a writer has, dropped at the end whatever it became."""
    name = f"dropped_{os.getpid()}"
    server.admin.execute(f"CREATE ROLE {name} IN ROLE pgblend_writer")  # type: ignore[arg-type]
    yield name
    for left in (name, f"{name}_old"):
        server.admin.execute(f"DROP ROLE IF EXISTS {left}")  # type: ignore[arg-type]


def fill(db: Database, role: str) -> None:
    """Give the role two grants on a collection with a document."""
    db.rows("SELECT add_collection('cellar')")
    add_documents(db, "cellar", [("k", "Wine", "Wine is kept cool.")])
    db.rows("SELECT set_metadata(id, '{\"a\": [1]}') FROM pgblend_data.document")
    for privilege in ("read", "write"):
        db.rows("SELECT grant_collection('cellar', %s, %s)", role, privilege)


def seen(db: Database, role: str) -> list[int]:
    """What the role finds, one door after the other."""
    db.rows(f"SET ROLE {role}")
    try:
        return [db.value(door) for door in DOORS]
    finally:
        db.rows("RESET ROLE")


def may_write(db: Database, role: str) -> bool:
    """Whether the role may store a document."""
    db.rows(f"SET ROLE {role}")
    try:
        with db.connection.transaction(force_rollback=True):
            db.rows("SELECT ingest_document('cellar', 'other', 'text')")
        return True
    except psycopg.Error:
        return False
    finally:
        db.rows("RESET ROLE")


def doctor(db: Database) -> str:
    return CliRunner().invoke(cli, ["--database-url", db.url, "doctor"]).stdout


@pytest.mark.parametrize("change", CHANGES)
def test_a_role_of_that_name_has_no_grant_and_doctor_tells(
    committed: Database, role: str, change: str
) -> None:
    fill(committed, role)
    assert seen(committed, role) == [1, 1, 1, 1]
    assert may_write(committed, role)
    committed.rows(CHANGES[change].format(role))
    assert seen(committed, role) == [0, 0, 0, 0]
    assert not may_write(committed, role)
    told = doctor(committed)
    assert FOUND[change].format(role) in told
    assert "read on cellar, write on cellar count for nobody" in told
    # Who grants one of them gives back that one.
    committed.rows("SELECT grant_collection('cellar', %s)", role)
    assert seen(committed, role) == [1, 1, 1, 1]
    assert not may_write(committed, role)
    assert committed.value("SELECT revoke_collection('cellar', %s)", role) is True
    assert "count for nobody" not in doctor(committed)


def test_a_role_of_that_name_has_no_token(server: Server, committed: Database) -> None:
    role = f"tenant_{os.getpid()}"
    with door_role(committed.connection, f"{role}_door", role) as login:
        fill(committed, role)
        token = token_of(committed.connection, role)
        link = make_link(committed.connection, "http://page", role, 1).partition("open=")[2]
        url = server.url(committed.connection.info.dbname, user=login, password=DOOR_PASSWORD)
        with ServeProcess(url, "--pool-size", "2") as process, process.client(token) as client:
            asked: dict[str, Any] = {"json": {"query": "wine"}}
            assert client.post("/v1/search", **asked).status_code == 200
            committed.rows(CHANGES["dropped"].format(role))
            committed.rows(f"GRANT {role} TO {login}")
            committed.rows("SELECT grant_collection('cellar', %s)", role)
            # A good token is kept for a second; each statement asks again.
            refused = client.post("/v1/search", **asked)
            assert refused.status_code == 401, refused.text
        with psycopg.connect(url, autocommit=True) as serve:
            serve.execute("SET ROLE pgblend_serve")
            opened = serve.execute(
                "UPDATE pgblend_data.access_token SET digest = sha256('x'), is_link = false"
                " WHERE is_link"
            )
            assert (opened.rowcount, bool(link)) == (0, True)
        assert "token" in doctor(committed)


def test_an_admin_makes_no_token_for_a_role_to_come(
    committed: Database, connect_as: Callable[..., psycopg.Connection], role: str
) -> None:
    """Numbers of roles are not the maker's to choose, and neither is the server."""
    admin = Database(connect_as("pgblend_admin"))
    committed.rows(f"GRANT {role} TO {admin.connection.info.user}")

    def make(columns: str, values: str) -> str:
        return (
            "INSERT INTO pgblend_data.access_token (name, digest, role_name, scopes, expires_at,"
            f" {columns}) VALUES ('x', sha256('x'), '{role}', '{{search}}', now() + '1 day',"
            f" {values})"
        )

    number = committed.value("SELECT oid::text FROM pg_roles WHERE rolname = %s", role)
    assert admin.error(make("role_oid", "1")).sqlstate == "42501"
    assert admin.error(make("role_oid, made_in", f"{number}, 1")).sqlstate == "42501"
    admin.rows(make("role_oid", number))


@pytest.mark.slow
def test_a_restored_database_keeps_grants_and_tokens_and_binds_them(
    server: Server, template: str, role: str
) -> None:
    """In another server numbers of roles mean nothing: names count, until `migrate up`."""
    with ExitStack() as stack:
        source = Database(
            stack.enter_context(connect(stack.enter_context(temporary_database(server, template))))
        )
        fill(source, role)
        token_of(source.connection, role)
        other = Server(**stack.enter_context(throwaway_server()))
        stack.enter_context(other.admin)
        url = stack.enter_context(other.database("restored"))
        with psycopg.connect(url, autocommit=True) as admin:
            for name in ("admin", "analyst", "gateway", "reader", "serve", "writer"):
                admin.execute(f"CREATE ROLE pgblend_{name}")  # type: ignore[arg-type]
            # Other roles have the numbers that those of the source have.
            number = source.value("SELECT oid::bigint FROM pg_roles WHERE rolname = %s", role)
            admin.execute("GRANT pgblend_reader TO pgblend_analyst")
            admin.execute("GRANT pgblend_reader TO pgblend_writer")
            admin.execute("GRANT pgblend_analyst, pgblend_writer TO pgblend_admin")
            admin.execute(f"CREATE ROLE {role} IN ROLE pgblend_writer")  # type: ignore[arg-type]
        dumped = run_client("pg_dump", source.url, "--no-owner")
        run_client("psql", url, "-q", "-v", "ON_ERROR_STOP=1", stdin=dumped)
        restored = Database(stack.enter_context(connect(url)))
        assert restored.value("SELECT oid::bigint FROM pg_roles WHERE rolname = %s", role) != number
        assert seen(restored, role) == [1, 1, 1, 1]
        token = "SELECT pgblend._token_role(digest, 'search') FROM pgblend_data.access_token"
        assert restored.value(token) == role
        told = doctor(restored)
        assert f"3 grants and tokens came from another server and count for whoever has the name: {role}" in told.replace("\n", " ")  # fmt: skip  # noqa: E501
        runner.upgrade(url)
        assert "another server" not in doctor(restored)
        assert (seen(restored, role), restored.value(token)) == ([1, 1, 1, 1], role)
        restored.rows(CHANGES["dropped"].format(role))
        assert (seen(restored, role), restored.value(token)) == ([0, 0, 0, 0], None)
