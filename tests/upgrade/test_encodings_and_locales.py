"""Databases of other encodings are refused; locales of ICU change no answer."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.base.errors import UserError
from pgblend.cli.main import cli
from pgblend.migrations import runner
from support.catalogue import schema
from support.database import Database, add_documents

DOCUMENTS = [
    ("title", "ISTANBUL INDEX", "İstanbul and IZMIR: the LIMIT of a list is listed in ISTANBUL."),
    ("sea", "Sea", "Ships sail the sea when the wind is fair. Straße, café, naïve."),
    ("wine", "Wine", "The production of wine in France. Émile sails to Istanbul."),
]
QUERIES = ("istanbul", "ISTANBUL limit", '"list is"', "izmr", "sail -wine", "café", "INDEX")
SEARCHES = (
    "SELECT * FROM blend.hybrid_search(%s)",
    "SELECT * FROM blend.lexical_search(%s)",
    "SELECT * FROM blend.fuzzy_search(%s)",
)


@contextmanager
def database(server, options: str) -> Iterator[str]:  # type: ignore[no-untyped-def]
    """A database made with options of its own; yields its URL."""
    name = f"pgblend_locale_{os.getpid()}"
    server.admin.execute(f'CREATE DATABASE "{name}" TEMPLATE template0 {options}')
    try:
        yield server.url(name)
    finally:
        server.admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_another_encoding_is_refused_and_left_alone(server, encoding: str) -> None:  # type: ignore[no-untyped-def]
    with database(server, f"ENCODING '{encoding}' LOCALE 'C'") as url:
        before = schema(url)
        with pytest.raises(UserError, match=f"encoding is {encoding}, pgblend needs UTF8") as told:
            runner.upgrade(url)
        assert "ENCODING 'UTF8'" in told.value.hint
        result = CliRunner().invoke(cli, ["--database-url", url, "migrate", "up"])
        assert (result.exit_code != 0, encoding in result.stderr) == (True, True)
        assert schema(url) == before


def answers(url: str) -> list[list[tuple[object, ...]]]:
    """What searches of every kind give."""
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        return [db.rows(search, query) for search in SEARCHES for query in QUERIES]


def filled(url: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT blend.add_collection('c', 'english')")
        db.rows("SELECT blend.set_setting('timeouts_ms', '{\"lexical\": 60000}')")
        add_documents(db, "c", DOCUMENTS)
        db.rows("SELECT blend.lexical_seal('c')")
    return url


def told(url: str) -> dict[str, dict[str, str]]:
    """What doctor says, by name."""
    output = CliRunner().invoke(cli, ["--database-url", url, "doctor", "--json"]).stdout
    return {check["name"]: check for check in json.loads(output)["checks"]}


# Turkish has two letters i, of which neither case is the other's in English.
@pytest.mark.slow
@pytest.mark.parametrize("locale", ["de-DE", "tr-TR", "und-u-ks-level2"])
def test_a_default_locale_of_icu_changes_no_answer(
    server,  # type: ignore[no-untyped-def]
    new_database: Callable[..., str],
    template: str,
    locale: str,
) -> None:
    plain = filled(new_database(template))
    options = f"ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE '{locale}' LOCALE 'C.UTF-8'"
    with database(server, options) as url:
        runner.upgrade(url)
        expected = answers(plain)
        assert all(any(rows) for rows in expected[: len(QUERIES)])
        assert answers(filled(url)) == expected
        assert "collation" not in told(url)
        changed = "UPDATE pg_database SET datcollversion = '0' WHERE datname = current_database()"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(changed)
            check = told(url)["collation"]
            assert "built with version 0, the system has" in check["found"]
            for statement in check["mend"].split("\nthen: "):
                connection.execute(statement.encode())
        assert "collation" not in told(url)
        assert answers(url) == expected
