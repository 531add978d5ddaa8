"""A dump restored on a server with another Python: PGBLEND_OTHER_TEST_SERVER, a superuser's URL.

Say, PostgreSQL 15 with Python 3.11 here, PostgreSQL 18 with Python 3.14 there.
"""

import json
import os
from collections.abc import Callable, Iterator

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgblend.cli.main import cli
from support.catalogue import run_client
from support.database import Database

pytestmark = pytest.mark.slow

MAGIC = """
CREATE FUNCTION pg_temp.magic() RETURNS bytea LANGUAGE plpython3u
AS 'from _frozen_importlib_external import MAGIC_NUMBER; return MAGIC_NUMBER';
SELECT pg_temp.magic();
"""
# A dump has no roles, and they are the server's.
ROLES = """
DO $do$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['admin', 'analyst', 'gateway', 'reader', 'serve', 'writer'] LOOP
        IF to_regrole('pgblend_' || name) IS NULL THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', 'pgblend_' || name);
        END IF;
    END LOOP;
END
$do$;
"""
IS_COMPILED = "SELECT pgblend._load_program()"
SEARCH = "SELECT source_key, score, snippet FROM blend.hybrid_search('words')"


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """An empty database on the other server, which has our roles; yields its URL."""
    server = os.environ.get("PGBLEND_OTHER_TEST_SERVER")
    if not server:
        pytest.skip("PGBLEND_OTHER_TEST_SERVER names no server with another Python")
    name = f"pgblend_other_python_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(ROLES.encode())
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield make_conninfo(server, dbname=name)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


def in_a_new_session(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        return Database(connection).rows(query)


def magic_number(url: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(MAGIC.encode())
        cursor.nextset()
        return cursor.fetchone()


def told_of_the_program(url: str) -> dict[str, str]:
    """What doctor says of it."""
    output = CliRunner().invoke(cli, ["--database-url", url, "doctor", "--json"]).stdout
    (check,) = (each for each in json.loads(output)["checks"] if each["name"] == "program")
    return check


def test_it_searches_by_the_text_until_it_is_compiled_anew(
    database_url: str, elsewhere: str, fill: Callable[[str], list[str]]
) -> None:
    fill(database_url)
    assert in_a_new_session(database_url, IS_COMPILED) == [(True,)]
    expected = in_a_new_session(database_url, SEARCH)
    assert [key for key, *_ in expected] == ["k"]
    dump = run_client("pg_dump", database_url, "--no-owner")
    run_client("psql", elsewhere, "--quiet", "--set", "ON_ERROR_STOP=1", stdin=dump)
    if magic_number(elsewhere) == magic_number(database_url):
        pytest.skip("both servers have one Python")
    assert in_a_new_session(elsewhere, IS_COMPILED) == [(False,)]
    assert in_a_new_session(elsewhere, SEARCH) == expected
    warned = told_of_the_program(elsewhere)
    assert warned["status"] == "warning"
    assert "its compiled code is of another Python" in warned["found"]
    assert "run: pgblend migrate up" in warned["mend"]
    mended = CliRunner().invoke(cli, ["--database-url", elsewhere, "migrate", "up"])
    assert mended.exit_code == 0, mended.output
    assert in_a_new_session(elsewhere, IS_COMPILED) == [(True,)]
    assert in_a_new_session(elsewhere, SEARCH) == expected
    assert told_of_the_program(elsewhere)["status"] == "ok"
