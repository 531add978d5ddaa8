"""Behind pgbouncer in transaction mode settings travel with BEGIN, and nothing stays behind."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from conftest import login_role
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from pgblend.cli.search.calls_outside import SearchArguments, search
from pgblend.cli.search.connection import Connection
from support.database import Database
from support.outside import rows_outside
from support.pgbouncer import newer_pgbouncer, pgbouncer, pgbouncer_program
from support.random_searches import VECTOR

pytestmark = pytest.mark.slow

CLIENTS, SWITCHES, SESSIONS = 4, 1000, 2
STATE = (
    "SELECT current_user AS role, session_user AS login,"
    " current_setting('hnsw.ef_search', true) AS width,"
    " current_setting('plan_cache_mode') AS plans, current_setting('search_path') AS path,"
    " current_setting('transaction_read_only') AS reads, $1::integer AS turn"
)


@pytest.fixture(params=["as it is", 0, 100])
def pooled(request: pytest.FixtureRequest, library: Database) -> Iterator[str]:
    """The library's URL through a pooler, which keeps so many prepared statements."""
    kept = None if request.param == "as it is" else request.param
    program = pgbouncer_program() if kept is None else newer_pgbouncer()
    if program is None:
        pytest.skip("there is no pgbouncer, or none of 1.21 or newer (make managed)")
    at = conninfo_to_dict(library.url)
    passwords = {str(at["user"]): str(at["password"])}
    place = str(at["host"]), str(at["port"])
    with pgbouncer(program, *place, passwords, SESSIONS, kept) as (port, _):
        yield make_conninfo(library.url, host="127.0.0.1", port=port)


@pytest.fixture
def two_roles(server: Any, library: Database) -> Iterator[list[str]]:
    """Two readers, one of `books`, one of `briefe`."""
    name = library.connection.info.dbname
    with (
        login_role(server, name, "pgblend_reader") as first,
        login_role(server, name, "pgblend_reader") as second,
    ):
        roles = [str(conninfo_to_dict(url)["user"]) for url in (first, second)]
        for role, collection in zip(roles, ("books", "briefe"), strict=True):
            library.rows("SELECT grant_collection(%s, %s)", collection, role)
        yield roles


def opened(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, autocommit=True, prepare_threshold=None)


def through_a_pooler(connection: psycopg.Connection[Any]) -> Connection:
    """As serve makes it: a pooler gives statements names of its own, which any code may take."""
    return Connection(connection, prepares=False)


def test_searches_and_writes_go_through(
    library: Database, pooled: str, two_roles: list[str]
) -> None:
    expected = library.rows("SELECT * FROM hybrid_search('red fox', query_embedding => %s)", VECTOR)
    with opened(pooled) as connection:
        asked = SearchArguments("red fox", query_embedding=VECTOR)
        for _ in range(3):  # by whichever session is free
            found = rows_outside(through_a_pooler(connection), library, asked)
            assert found == expected
        connection.execute("SELECT blend.ingest_document('rest', 'written', 'a pooled fox')")
        words = SearchArguments("pooled", only_arm="lexical")
        db = through_a_pooler(connection)
        assert [row.source_key for row in search(db, words)["results"]] == ["written"]
        connection.execute("SELECT blend.delete_document('rest', 'written')")
        assert search(db, words)["results"] == []


def test_roles_change_between_clients(library: Database, pooled: str, two_roles: list[str]) -> None:
    login = library.value("SELECT current_user")
    plain = library.value("SELECT current_setting('plan_cache_mode')")

    def switched(number: int) -> list[tuple[str, list[str]]]:
        chance, found = random.Random(number), []
        with opened(pooled) as connection:
            db = through_a_pooler(connection)
            for turn in range(SWITCHES // CLIENTS):
                role = chance.choice([*two_roles, None])
                with db.transaction(role):
                    (state,) = db.run(STATE, ["integer"], turn)
                assert (state["role"], state["login"]) == (role or login, login)
                assert (state["width"], state["plans"]) == ("40", "force_generic_plan")
                assert state["path"].startswith("pg_catalog, blend, ")
                assert state["reads"] == "on"
                assert state["turn"] == turn
                behind = connection.execute(
                    "SELECT current_user::text, current_setting('plan_cache_mode'),"
                    " current_setting('transaction_read_only')"
                ).fetchone()
                assert behind == (login, plain, "off")
                if turn % 25 == 0:
                    rows = search(db, SearchArguments("wine", 200, only_arm="lexical"), role)[
                        "results"
                    ]
                    found.append((role or login, sorted({row.collection for row in rows})))
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        seen = [pair for of_client in pool.map(switched, range(CLIENTS)) for pair in of_client]
    readable = {two_roles[0]: ["books"], two_roles[1]: ["briefe"]}
    assert all(names == readable.get(role, ["books", "briefe", "rest"]) for role, names in seen)
    assert {role for role, _ in seen} == {*two_roles, login}
    used = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = ''"
    assert library.value(used, library.connection.info.dbname) <= SESSIONS
