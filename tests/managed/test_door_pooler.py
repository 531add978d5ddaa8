"""pgbouncer in transaction mode behind the door and before it: equal rows, nothing stays."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from conftest import Server, login_role
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database
from support.door import door_process
from support.outside import WAIT, fill_library, take_python_away
from support.pgbouncer import pgbouncer, pgbouncer_program

pytestmark = pytest.mark.slow
SEARCH = "SELECT chunk_id, score FROM blend.lexical_search(%s, 20)"
CLIENTS, SESSIONS, TURNS = 4, 2, 100
WORDS = ("wine", "fox", "sea", "red")


@pytest.fixture(scope="module")
def told(server: Server, module_url: str) -> Iterator[dict[str, Any]]:
    """What two readers find, by their URL, while the program is inside; then it is taken out."""
    database = str(conninfo_to_dict(module_url)["dbname"])
    with connect(module_url) as connection, ExitStack() as stack:
        library = Database(connection)
        fill_library(library)
        library.rows(WAIT)
        found: dict[str, Any] = {}
        for collection in ("books", "briefe"):
            url = stack.enter_context(login_role(server, database, "pgblend_reader"))
            role = str(conninfo_to_dict(url)["user"])
            library.rows("SELECT grant_collection(%s, %s)", collection, role)
            with psycopg.connect(url) as reader:
                found[url] = {one: reader.execute(SEARCH, (one,)).fetchall() for one in WORDS}
        connection.commit()
        take_python_away(module_url)
        yield found


@pytest.fixture(params=["behind", "before"])
def pooled(request: pytest.FixtureRequest, told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the readers found, by their URL through a door and a pooler."""
    program = pgbouncer_program()
    if program is None:
        pytest.skip("there is no pgbouncer (make managed)")
    places = [conninfo_to_dict(url) for url in told]
    passwords = {str(at["user"]): str(at["password"]) for at in places}

    def moved(through: str, port: int | str | None) -> dict[str, Any]:
        at = conninfo_to_dict(through)
        there = {"host": str(at["host"]), "port": str(port or at["port"])}
        return {make_conninfo(url, **there): found for url, found in told.items()}

    first, place = next(iter(told)), places[0]
    if request.param == "behind":
        address = str(place["host"]), str(place["port"])
        with (
            pgbouncer(program, *address, passwords, SESSIONS) as (port, _),
            door_process(make_conninfo(first, host="127.0.0.1", port=port)) as (through, _),
        ):
            yield moved(through, None)
    else:
        with door_process(first) as (through, _):
            at = conninfo_to_dict(through)
            address = str(at["host"]), str(at["port"])
            with pgbouncer(program, *address, passwords, SESSIONS) as (port, _):
                yield moved(make_conninfo(first, host="127.0.0.1"), port)


def opened(url: str) -> "psycopg.Connection[Any]":
    # pgbouncer before 1.21 keeps no prepared statements in transaction mode.
    return psycopg.connect(url, autocommit=True, prepare_threshold=None)


def test_two_roles_search_by_turns(pooled: dict[str, Any]) -> None:
    def searched(number: int) -> int:
        chance, turns = random.Random(number), 0
        with ExitStack() as stack:
            sessions = {url: stack.enter_context(opened(url)) for url in pooled}
            for _ in range(TURNS // CLIENTS):
                url = chance.choice([*pooled])
                word = chance.choice(WORDS)
                with sessions[url].transaction():
                    found = sessions[url].execute(SEARCH, (word,)).fetchall()
                assert found == pooled[url][word]
                assert sessions[url].execute(SEARCH, (word,)).fetchall() == found
                turns += 1
        return turns

    first, second = pooled.values()
    assert first != second
    with ThreadPoolExecutor(CLIENTS) as pool:
        assert sum(pool.map(searched, range(CLIENTS))) == TURNS


def test_nothing_stays_behind(pooled: dict[str, Any]) -> None:
    state = (
        "SELECT current_user = session_user, current_setting('plan_cache_mode'),"
        " current_setting('transaction_read_only'), (SELECT count(*) FROM pg_prepared_statements),"
        " (SELECT string_agg(current_setting('pgblend.told_' || s, true), '')"
        " FROM unnest(string_to_array('0123456789abcdef', NULL)) AS s)"
    )
    url, found = next(iter(pooled.items()))
    with opened(url) as one, opened(url) as other:
        for _ in range(10):
            assert one.execute(SEARCH, ("wine",)).fetchall() == found["wine"]
            row = other.execute(state).fetchone()
            assert row is not None
            assert row[:3] == (True, "auto", "off")
            assert not row[4]


def test_who_comes_without_the_door_is_not_taken_for_one_who_does(
    server: Server, told: dict[str, Any]
) -> None:
    """A pooler gives both the same session: the second one's text is stored by plain SQL."""
    program = pgbouncer_program()
    if program is None:
        pytest.skip("there is no pgbouncer (make managed)")
    at = conninfo_to_dict(next(iter(told)))
    database = str(at["dbname"])
    with login_role(server, database, "pgblend_writer", server.user) as url, ExitStack() as stack:
        own = conninfo_to_dict(url)
        passwords = {str(own["user"]): str(own["password"])}
        place = str(at["host"]), str(at["port"])
        port, _ = stack.enter_context(pgbouncer(program, *place, passwords, 1))
        pooled = make_conninfo(url, host="127.0.0.1", port=port)
        through, _ = stack.enter_context(door_process(pooled))
        ingest = "SELECT status FROM blend.ingest_document('books', %s, 'a word of wine')"
        for number, way in enumerate((through, pooled, through, pooled)):
            with opened(way) as connection:
                assert connection.execute(ingest, (f"p{number}",)).fetchone() == ("added",)
