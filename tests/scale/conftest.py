"""One node beside coordinators of one to four shards that have the same documents."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count as numbers

import pytest
from conftest import Server
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.database import connect
from support.database import Database
from support.shards import Scale, run_command

_numbers = numbers()

SPACE = "s"
DIMENSIONS = 8
_SHARDS_AT = "SELECT s.srvoptions FROM pg_foreign_server AS s WHERE s.srvname = 'pgblend_shards'"
COLLECTIONS = (("books", "english"), ("briefe", "german"), ("rest", "simple"))


@pytest.fixture(scope="session")
def plproxy(server: Server) -> None:
    """Skip where the server has no PL/Proxy."""
    known = "SELECT FROM pg_available_extensions WHERE name = 'plproxy'"
    if server.admin.execute(known).fetchone() is None:
        pytest.skip("the server has no PL/Proxy: docker/plproxy.sh installs it")


@dataclass
class Originals:
    """Databases of one node, coordinator and shards, made once for each number of shards."""

    server: Server
    template: str
    stack: ExitStack
    urls: dict[int, list[str]] = field(default_factory=dict)

    def made(self, count: int) -> list[str]:
        """Return the URLs of originals, which nobody is connected to."""
        if count not in self.urls:
            urls = self.new([self.template] * (2 + count))
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
            self.urls[count] = urls
        return self.urls[count]

    def new(self, templates: Sequence[str], stack: ExitStack | None = None) -> list[str]:
        """Make databases of templates, which last as long as the stack."""
        names = [f"pgblend_scale_{os.getpid()}_{next(_numbers)}" for _ in templates]
        made = zip(names, templates, strict=True)
        return [
            (stack or self.stack).enter_context(self.server.database(name, template))
            for name, template in made
        ]

    def copied(self, count: int, stack: ExitStack) -> list[str]:
        """Return the URLs of copies, whose coordinator goes to its own shards."""
        of = [str(conninfo_to_dict(url)["dbname"]) for url in self.made(count)]
        urls = self.new(of, stack)
        names = [str(conninfo_to_dict(url)["dbname"]) for url in urls]
        with connect(urls[1]) as coordinator:
            ((options,),) = coordinator.execute(_SHARDS_AT).fetchall()
            for old, new in zip(of, names, strict=True):
                options = [re.sub(rf"\b{old}\b", new, one) for one in options]
            told = ", ".join("SET {} '{}'".format(*one.split("=", 1)) for one in options)
            coordinator.execute(f"ALTER SERVER pgblend_shards OPTIONS ({told})".encode())
        return urls


@pytest.fixture(scope="session")
def originals(server: Server, template: str, plproxy: None) -> Iterator[Originals]:
    """Return what makes databases of several shards."""
    with ExitStack() as stack:
        yield Originals(server, template, stack)


@contextmanager
def made_scale(originals: Originals, count: int) -> Iterator[Scale]:
    """One node, and a coordinator with its shards; no documents yet."""
    with ExitStack() as stack:
        urls = originals.copied(count, stack)
        one, coordinator, *shards = (Database(stack.enter_context(connect(url))) for url in urls)
        yield Scale(one, coordinator, shards)


NUMBERS = [
    pytest.param(number, id=f"shards_{number}", marks=() if number == 3 else pytest.mark.slow)
    for number in range(1, 5)
]


@pytest.fixture(scope="module", params=NUMBERS)
def scale(request: pytest.FixtureRequest, originals: Originals) -> Iterator[Scale]:
    """Return one node, and a coordinator of one to four shards."""
    with made_scale(originals, request.param) as made:
        yield made


@pytest.fixture(scope="session")
def two_shards(originals: Originals) -> Iterator[Scale]:
    """Return one node, and a coordinator of two shards."""
    with made_scale(originals, 2) as made:
        yield made


@pytest.fixture(scope="module")
def writing_shards(originals: Originals) -> Iterator[Scale]:
    """Return one node, and a coordinator of three shards that number their rows themselves."""
    with made_scale(originals, 3) as made:
        yield made


@pytest.fixture(scope="module")
def split_scale(originals: Originals) -> Iterator[Scale]:
    """Return one node, and a coordinator of three shards, two of which are of a split."""
    with made_scale(originals, 2) as made, ExitStack() as stack:
        made.ingest([("books", f"k{place}", "red wine", "", None) for place in range(20)])
        made.spread()
        urls = originals.new([originals.template] * 2, stack)
        pairs = [f"b{number}={url}" for number, url in enumerate(urls, 2)]
        run_command(made.coordinator.url, "shards", "split", "b0", *pairs)
        halves = [Database(stack.enter_context(connect(url))) for url in urls]
        yield Scale(made.one, made.coordinator, [made.shards[1], *halves])


@pytest.fixture
def fresh_shards(originals: Originals) -> Iterator[Scale]:
    """Return one node, and a coordinator of two shards, for one test."""
    with made_scale(originals, 2) as made:
        yield made


@pytest.fixture(scope="session")
def three_shards(originals: Originals) -> Iterator[Scale]:
    """Return one node and three shards that have the same forty documents."""
    with made_scale(originals, 3) as made:
        for place in range(40):
            made.add("books", f"k{place}", f"wine of house {place}")
        made.embed(SPACE, DIMENSIONS)
        yield made
