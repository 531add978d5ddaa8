"""One node beside coordinators of one to four shards that have the same documents."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count as numbers

import pytest
from conftest import Server

from pgblend.cli.database import connect
from support.database import Database
from support.shards import Scale, run_command

_numbers = numbers()

SPACE = "s"
DIMENSIONS = 8
COLLECTIONS = (("books", "english"), ("briefe", "german"), ("rest", "simple"))


@pytest.fixture(scope="session")
def plproxy(server: Server) -> None:
    """Skip where the server has no PL/Proxy."""
    known = "SELECT FROM pg_available_extensions WHERE name = 'plproxy'"
    if server.admin.execute(known).fetchone() is None:
        pytest.skip("the server has no PL/Proxy: docker/plproxy.sh installs it")


@contextmanager
def made_scale(server: Server, template: str, count: int) -> Iterator[Scale]:
    """One node, and a coordinator with its shards; no documents yet."""
    with ExitStack() as stack:
        names = [f"pgblend_scale_{os.getpid()}_{next(_numbers)}" for _ in range(2 + count)]
        urls = [stack.enter_context(server.database(name, template)) for name in names]
        for url in urls[:2]:
            with connect(url) as admin:
                for name, config in COLLECTIONS:
                    admin.execute("SELECT blend.add_collection(%s, %s)", [name, config])
                admin.execute(
                    "SELECT blend.create_embedding_space(%s, 'm', %s, probe => false)",
                    [SPACE, DIMENSIONS],
                )
        named = (f"b{number}={url}" for number, url in enumerate(urls[2:]))
        run_command(urls[1], "shards", "add", *named)
        one, coordinator, *shards = (Database(stack.enter_context(connect(url))) for url in urls)
        yield Scale(one, coordinator, shards)


NUMBERS = [
    pytest.param(number, id=f"shards_{number}", marks=() if number == 3 else pytest.mark.slow)
    for number in range(1, 5)
]


@pytest.fixture(scope="module", params=NUMBERS)
def scale(
    request: pytest.FixtureRequest, server: Server, template: str, plproxy: None
) -> Iterator[Scale]:
    """Return one node, and a coordinator of one to four shards."""
    with made_scale(server, template, request.param) as made:
        yield made


@pytest.fixture(scope="session")
def two_shards(server: Server, template: str, plproxy: None) -> Iterator[Scale]:
    """Return one node, and a coordinator of two shards."""
    with made_scale(server, template, 2) as made:
        yield made


@pytest.fixture(scope="module")
def writing_shards(server: Server, template: str, plproxy: None) -> Iterator[Scale]:
    """Return one node, and a coordinator of three shards that number their rows themselves."""
    with made_scale(server, template, 3) as made:
        yield made


@pytest.fixture(scope="module")
def split_scale(server: Server, template: str, plproxy: None) -> Iterator[Scale]:
    """Return one node, and a coordinator of three shards, two of which are of a split."""
    with made_scale(server, template, 2) as made, ExitStack() as stack:
        made.ingest([("books", f"k{place}", "red wine", "", None) for place in range(20)])
        made.spread()
        names = [f"pgblend_scale_{os.getpid()}_{next(_numbers)}" for _ in range(2)]
        urls = [stack.enter_context(server.database(name, template)) for name in names]
        pairs = [f"b{number}={url}" for number, url in enumerate(urls, 2)]
        run_command(made.coordinator.url, "shards", "split", "b0", *pairs)
        halves = [Database(stack.enter_context(connect(url))) for url in urls]
        yield Scale(made.one, made.coordinator, [made.shards[1], *halves])


@pytest.fixture
def fresh_shards(server: Server, template: str, plproxy: None) -> Iterator[Scale]:
    """Return one node, and a coordinator of two shards, for one test."""
    with made_scale(server, template, 2) as made:
        yield made


@pytest.fixture(scope="session")
def three_shards(server: Server, template: str, plproxy: None) -> Iterator[Scale]:
    """Return one node and three shards that have the same forty documents."""
    with made_scale(server, template, 3) as made:
        for place in range(40):
            made.add("books", f"k{place}", f"wine of house {place}")
        made.embed(SPACE, DIMENSIONS)
        yield made
