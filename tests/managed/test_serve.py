"""`pgblend serve` on a server without PL/Python: many callers, a kill, and the log of searches."""

import json
import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database
from support.outside import fill_library, take_python_away
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.waiting import SOON_SECONDS, wait_until

pytestmark = pytest.mark.slow

CLIENTS, CALLS = 32, 6
TENANTS = {"books": "managed_books", "briefe": "managed_briefe"}
BODY = {"query": "wine red fox", "limit": 5}
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgblend serve'"


@pytest.fixture(scope="module")
def library(module_url: str) -> Iterator[Database]:
    """A library whose program is outside, with a reader of each of two collections."""
    with connect(module_url) as connection:
        fill_library(Database(connection))
    take_python_away(module_url)
    with psycopg.connect(module_url, autocommit=True) as connection:
        yield Database(connection)


@contextmanager
def serving(library: Database) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield a login of a door, and the token of each collection's reader."""
    url = library.url
    with connect(url) as admin, door_role(admin, "managed_door", *TENANTS.values()) as login:
        for collection, role in TENANTS.items():
            Database(admin).rows("SELECT blend.grant_collection(%s, %s)", collection, role)
        tokens = {collection: token_of(admin, role) for collection, role in TENANTS.items()}
        yield make_conninfo(url, user=login, password=DOOR_PASSWORD), tokens


def answer(client: httpx.Client) -> list[dict[str, Any]] | None:
    """Return the rows of a search; None where the process had ended, or ended meanwhile."""
    while True:
        try:
            response = client.post("/v1/search", json=BODY)
        except httpx.TransportError:
            return None
        if response.status_code != 429:  # many calls of a token that is asked for anew
            assert response.status_code == 200, response.text
            rows: list[dict[str, Any]] = response.json()["results"]
            return [row | {"details": None} for row in rows]


@pytest.mark.fault(
    "kill -9 of serve amid 32 callers of a managed server",
    "whole answers or a broken connection, sessions end, a new process answers alike",
)
def test_32_callers_and_a_kill(library: Database) -> None:
    with serving(library) as (login, tokens):

        def calls(process: ServeProcess, number: int) -> tuple[str, list[Any]]:
            collection = list(TENANTS)[number % 2]
            with process.client(tokens[collection]) as client:
                return collection, [answer(client) for _ in range(CALLS)]

        with ServeProcess(login, "--pool-size", "4") as process:
            expected = dict(calls(process, number) for number in range(2))
            for collection, answers in expected.items():
                assert {row["collection"] for row in answers[0]} == {collection}
            with ThreadPoolExecutor(CLIENTS) as pool:
                asked = pool.map(lambda number: calls(process, number), range(CLIENTS))
                assert all(answers == expected[collection] for collection, answers in asked)
            with ThreadPoolExecutor(CLIENTS) as pool:
                asked = pool.map(lambda number: calls(process, number), range(CLIENTS))
                wait_until(lambda: library.value(SESSIONS + " AND state = 'active'"), SOON_SECONDS)
                os.kill(process.pid, signal.SIGKILL)
                found = [(name, one) for name, answers in asked for one in answers]
            assert all(one in (None, expected[name][0]) for name, one in found)
            assert found[-1][1] is None
        wait_until(lambda: library.value(SESSIONS) == 0, SOON_SECONDS)
        with ServeProcess(login, "--pool-size", "2") as process:
            assert dict(calls(process, number) for number in range(2)) == expected


def test_searches_are_reported_to_the_log(library: Database) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log, serving(library) as served:
        log.bind(("127.0.0.1", 0))
        log.settimeout(SOON_SECONDS)
        address = f"127.0.0.1:{log.getsockname()[1]}"
        with connect(library.url) as admin:
            kept = "SELECT set_setting('log_address', to_jsonb(%s::text))"
            Database(admin).rows(kept, address)
        login, tokens = served
        with ServeProcess(login) as process, process.client(tokens["books"]) as client:
            found = client.post("/v1/search", json=BODY).json()
        report = json.loads(log.recv(65536))
    assert (report["query"], report["role"]) == (BODY["query"], TENANTS["books"])
    ranked = [(row["rank"], row["chunk_id"]) for row in found["results"]]
    assert [(row["rank"], row["chunk_id"]) for row in report["results"]] == ranked
