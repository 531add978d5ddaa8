"""The server's configuration pins gateway_url and log_address, as docs/security.md says."""

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from pgblend.cli.base.database import connect
from support.database import Database, add_documents
from support.raw_server import RawServer

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
NAMES = ("gateway_url", "log_address")
VALUE = "SELECT get_setting(%s) #>> '{}'"


@pytest.fixture
def pin(connection: psycopg.Connection) -> Iterator[Callable[..., None]]:
    """Set, by a superuser; of all databases while other tests search theirs is left to the end."""
    database = sql.Identifier(connection.info.dbname)

    def set_pin(name: str, value: str, where: str = "DATABASE {}") -> None:
        connection.execute(
            sql.SQL("ALTER " + where + " SET {} = {}").format(  # type: ignore[arg-type]
                *([database] if "{}" in where else []),
                sql.Identifier("pgblend", name),
                sql.Literal(value),
            )
        )

    yield set_pin
    for name in NAMES:
        connection.execute(
            sql.SQL("ALTER ROLE ALL RESET {}").format(sql.Identifier("pgblend", name))
        )


def test_the_documented_statements_pin_both(
    connection: psycopg.Connection, pin: Callable[..., None]
) -> None:
    written = re.search(r"```sql\n(ALTER ROLE ALL .*?)```", PAGE.read_text(), re.S)
    assert written
    connection.execute(written[1])  # type: ignore[call-overload]
    values = [Database(connection).value(VALUE, name) for name in NAMES]
    assert values == ["unix:/run/pgblend/gateway.sock", "unix:/run/pgblend/gateway.sock.log"]
    shown = Database(connection).rows("SELECT name FROM settings WHERE source = 'server'")
    assert sorted(name for (name,) in shown) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_nobody_else_changes_what_is_pinned(
    connection: psycopg.Connection, url_as: Callable[..., str], pin: Callable[..., None], name: str
) -> None:
    pinned, other = "127.0.0.1:1", "127.0.0.1:2"
    if name == "gateway_url":
        pinned, other = f"http://{pinned}", f"http://{other}"
    url = url_as("pgblend_admin")
    with connect(url) as opened:
        admin = Database(opened)
        admin.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, other)
        pin(name, pinned)
        assert admin.value(VALUE, name) == pinned
        error = admin.error("SELECT set_setting(%s, to_jsonb(%s::text))", name, other)
        assert (error.sqlstate, error.message_primary) == (
            "42501",
            f"{name} is pinned by the server's configuration",
        )
        assert admin.error("SELECT reset_setting(%s)", name).sqlstate == "42501"
        admin.rows("UPDATE pgblend_data.setting SET value = to_jsonb(%s::text)", other)
        admin.rows(f"SET pgblend.{name} = '{other}'")
        role = admin.value("SELECT quote_ident(current_user)")
        for whose in (f"ROLE {role}", f"ROLE {role} IN DATABASE {connection.info.dbname}"):
            connection.execute(f"ALTER {whose} SET pgblend.{name} = '{other}'")  # type: ignore[call-overload]
        assert admin.value(VALUE, name) == pinned
    with connect(f"{url} options='-c pgblend.{name}={other}'") as opened:
        assert Database(opened).value(VALUE, name) == pinned


def test_a_database_s_owner_does_not_change_what_is_pinned(
    connection: psycopg.Connection, url_as: Callable[..., str], pin: Callable[..., None]
) -> None:
    """A parameter that the server does not know is a superuser's to keep."""
    pinned = "127.0.0.1:1"
    pin("log_address", pinned)
    database = connection.info.dbname
    with connect(url_as("pgblend_admin")) as opened:
        owner = Database(opened)
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
                sql.Identifier(database), sql.Identifier(opened.info.user)
            )
        )
        try:
            for whose in ("ROLE ALL", f"ROLE ALL IN DATABASE {database}", f"DATABASE {database}"):
                for change in (
                    "SET pgblend.log_address = '127.0.0.1:2'",
                    "RESET pgblend.log_address",
                ):
                    owner.rows("SET pgblend.log_address = '127.0.0.1:2'")
                    assert owner.error(f"ALTER {whose} {change}").sqlstate == "42501"
            owner.rows(f"ALTER DATABASE {database} RESET ALL")
            assert owner.value("SELECT blend.get_setting('log_address') #>> '{}'") == pinned
        finally:
            connection.execute(
                sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(sql.Identifier(database))
            )


def test_what_is_pinned_for_all_databases_comes_first(
    connection: psycopg.Connection, pin: Callable[..., None]
) -> None:
    pin("log_address", "127.0.0.1:2")
    pin("log_address", "127.0.0.1:1", "ROLE ALL")
    assert Database(connection).value(VALUE, "log_address") == "127.0.0.1:1"


def test_calls_and_reports_go_where_they_are_pinned(
    committed: Database, pin: Callable[..., None]
) -> None:
    committed.rows("SELECT add_collection('c')")
    add_documents(committed, "c", [("one", "", "a red fox")])
    committed.rows("SELECT * FROM hybrid_search('fox')")  # the session knows of no pins
    with (
        RawServer(lambda _: b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n") as gateway,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log,
    ):
        log.bind(("127.0.0.1", 0))
        log.settimeout(5)
        pin("gateway_url", gateway.url)
        pin("log_address", f"127.0.0.1:{log.getsockname()[1]}")
        for name in NAMES:
            committed.rows("DELETE FROM pgblend_data.setting WHERE name = %s", name)
        assert "500" in str(committed.error("SELECT embed_text('{x}')").message_primary)
        committed.rows("SELECT * FROM hybrid_search('fox')")
        assert b"red" not in log.recv(65536)
