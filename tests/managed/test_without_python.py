"""Searches by the program in a process, of a database that has no PL/Python any more."""

import os

import psycopg

from pgblend.cli.base.database import connect
from pgblend.cli.search.outside import Connection
from support.database import Database
from support.outside import asked_of, fill_library, rows_outside
from support.random_searches import drawn_searches, rows

COUNT = int(os.environ.get("PGBLEND_MANAGED_SEARCHES", "200"))
LEFT = """
    SELECT count(*) FROM pg_proc AS p INNER JOIN pg_language AS l ON l.oid = p.prolang
    WHERE l.lanname = 'plpython3u'"""


def test_searches_have_the_same_rows(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    library = Database(connection)
    fill_library(library)
    asked, told = drawn_searches(COUNT), []
    library.warnings()
    for one in asked:
        told.append((rows(library, one), library.warnings()))
    library.rows("DROP EXTENSION plpython3u CASCADE")
    assert library.value(LEFT) == 0
    with connect(library.url) as other:
        outside = Connection(other)
        for one, (expected, warnings) in zip(asked, told, strict=True):
            assert rows_outside(outside, library, asked_of(one)) == expected, one
            assert [message for message, _ in outside.warnings] == warnings
    found = [answer for answer, _ in told if isinstance(answer, list) and answer]
    assert len(found) > COUNT / 5  # others ask for what is nowhere, or are wrong
