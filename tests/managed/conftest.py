"""A library of three languages, and the program over a connection beside it."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.search.connection import Connection
from support.database import Database
from support.door import door_process
from support.outside import WAIT, fill_library, take_python_away


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Database:
    """A database with 120 documents of three languages, with vectors."""
    module_connection.autocommit = True
    database = Database(module_connection)
    fill_library(database)
    return database


@pytest.fixture(scope="module")
def outside(library: Database) -> Iterator[Connection]:
    """The program in this process, over a connection of its own."""
    with connect(library.url) as connection:
        yield Connection(connection)


@pytest.fixture(scope="module")
def managed(module_url: str) -> str:
    """A library without a program inside, and a table to write to."""
    with connect(module_url) as connection:
        connection.autocommit = True
        library = Database(connection)
        fill_library(library)
        library.rows(WAIT)
        library.rows("CREATE TABLE public.kept (mark text)")
    take_python_away(module_url)
    return module_url


@pytest.fixture(scope="module", params=["1", "3"])
def door(managed: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A door of one process, and of several: a cancel may come to another than has the session."""
    with door_process(managed, "--processes", request.param) as (url, _):
        yield url


@pytest.fixture
def kept(managed: str) -> Callable[[], list[str]]:
    """Whatever is committed of what a test wrote."""
    with psycopg.connect(managed, autocommit=True) as other:
        other.execute("TRUNCATE public.kept")

    def rows() -> list[str]:
        with psycopg.connect(managed, autocommit=True) as other:
            return [mark for (mark,) in other.execute("SELECT mark FROM public.kept ORDER BY mark")]

    return rows
