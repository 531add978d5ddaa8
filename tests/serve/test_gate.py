"""Callers without a good token: nothing of theirs is read, and they slow nobody down."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.doors.gate import _KEPT_SECONDS
from support.sampled import sampled
from support.serve_process import ServeProcess
from support.waiting import SOON_SECONDS, wait_until

PATHS = ("/v1/search", "/v1/chat/completions", "/page/answer", "/mcp")
SEARCH = {"query": "wine"}


@pytest.fixture(scope="module")
def small(door: Any) -> Iterator[ServeProcess]:
    """A door with two connections, whose statements may take a moment."""
    options = ("--pool-size", "2", "--statement-timeout", "8", "--pool-timeout", "60")
    with ServeProcess(door.login_url, *options) as process:
        yield process


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "pgb_wrong"])
def test_a_body_is_read_after_the_token(small: ServeProcess, path: str, token: str | None) -> None:
    host = urlsplit(small.url)
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{host.port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "Content-Length: 900000",
        *([f"Authorization: Bearer {token}"] if token else []),
    ]
    with socket.create_connection(("127.0.0.1", host.port or 0), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", '{"query": "']).encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")


def test_nothing_of_theirs_reaches_the_database(door: Any, small: ServeProcess) -> None:
    """PostgreSQL writes statements that fail, and those that are slow, into its log."""
    body = {"query": "an anonymous query", "options": {"no_such_option": "x" * 900_000}}
    with small.client("pgb_wrong") as stranger:
        assert stranger.post("/v1/search", json=body).status_code == 401
    seen = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%an anonymous query%'"
    assert door.admin.value(f"{seen} AND pid <> pg_backend_pid()") == 0
    with small.client(door.tokens["open"]) as known:
        assert known.post("/v1/search", json=body).status_code == 400


def test_refusals_are_counted_by_address_and_known_tokens_pass(
    door: Any, small: ServeProcess
) -> None:
    with small.client(door.tokens["open"]) as known, small.client() as stranger:
        assert known.post("/v1/search", json=SEARCH).status_code == 200
        for headers in ({}, {"Authorization": "Bearer pgb_wrong"}):
            answers = [
                stranger.post("/v1/search", json=SEARCH, headers=headers) for _ in range(150)
            ]
            statuses = [answer.status_code for answer in answers]
            assert set(statuses) == {401, 429}
            refused = answers[statuses.index(429)]
            assert refused.json()["detail"].startswith("the address may call ")
            assert int(refused.headers["Retry-After"]) >= 1
            assert known.post("/v1/search", json=SEARCH).status_code == 200


def test_all_callers_of_a_token_pass_while_it_is_looked_up_anew(door: Any) -> None:
    many = 60  # at once; of unknown tokens an address may have 8
    # Sessions are opened meanwhile, which looks for tokens wait for.
    options = ("--concurrency", str(many), "--pool-size", "40", "--pool-timeout", "60")
    with (
        ServeProcess(door.login_url, *options) as process,
        process.client(door.tokens["open"]) as known,
        ThreadPoolExecutor(many) as threads,
    ):
        until = time.monotonic() + 2.5 * _KEPT_SECONDS

        def call() -> set[int]:
            found = set()
            while time.monotonic() < until:
                found.add(known.post("/v1/search", json=SEARCH).status_code)
            return found

        assert known.post("/v1/search", json=SEARCH).status_code == 200
        assert set().union(*threads.map(lambda _: call(), range(many))) == {200}


@pytest.mark.parametrize("path", sampled(["/health", "/openapi.json"], 2))
def test_what_needs_no_token_has_a_rate(door: Any, path: str) -> None:
    strict = ("--rate", "0.01", "--burst", "3")
    with ServeProcess(door.login_url, *strict) as process, process.client() as guest:
        assert [guest.get(path).status_code for _ in range(4)] == [200, 200, 200, 429]
        link = guest.post("/page/session", json={"link": "x"})
        assert (link.status_code, link.json()["type"][-10:]) == (429, "rate-limit")


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 41, "9" * 19, "1e5", "٤٢"])
def test_a_number_of_thousands_of_digits(door: Any, small: ServeProcess, number: str) -> None:
    with small.client(door.tokens["open"]) as known:
        answer = known.get(f"/v1/documents/{number}")
        assert (answer.status_code, answer.json()["type"]) == (
            400,
            "urn:pgblend:problem:invalid-request",
        )


@contextmanager
def locked(url: str) -> Iterator[psycopg.Connection]:
    """Nobody reads documents meanwhile."""
    with connect(url) as connection, connection.transaction():
        connection.execute("LOCK TABLE pgblend_data.document IN ACCESS EXCLUSIVE MODE")
        yield connection


def test_a_statement_has_a_time_and_a_token_a_share(
    door: Any, small: ServeProcess, module_url: str
) -> None:
    answers: list[httpx.Response] = []

    def search() -> None:
        with small.client(door.tokens["open"]) as client:
            answers.append(client.post("/v1/search", json=SEARCH))

    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND application_name = 'pgblend serve'"
    )
    with locked(module_url):
        calls = [threading.Thread(target=search) for _ in range(2)]
        for call in calls:
            call.start()
        wait_until(lambda: door.admin.value(waiting) == 1, SOON_SECONDS)
        with small.client() as guest:
            assert guest.get("/health").json()["status"] == "ok"
        assert door.admin.value(waiting) <= 1
        for call in calls:
            call.join(60)
    assert {answer.status_code for answer in answers} == {504}, answers[0].text
    assert {json.loads(answer.text)["type"] for answer in answers} == {
        "urn:pgblend:problem:timeout"
    }
