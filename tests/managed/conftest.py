"""A library of three languages, and the program over a connection beside it."""

from collections.abc import Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.search.connection import Connection
from support.database import Database
from support.outside import fill_library


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
