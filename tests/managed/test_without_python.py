"""The program in a process, of a database that has no PL/Python any more."""

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgblend.cli.base.database import connect
from pgblend.cli.search.calls_outside import (
    SearchArguments,
    ask,
    context,
    explain,
    facets,
    neighbours,
)
from pgblend.cli.search.connection import Connection
from pgblend.cli.search.outside import StatementError
from pgblend.plpy.base.session import ProgramError
from support.database import Database
from support.outside import asked_of, fill_library, rows_outside
from support.random_searches import VECTOR, Search, drawn_searches, rows
from support.raw_server import RawServer, http_answer

COUNT, OTHERS = int(os.environ.get("PGBLEND_MANAGED_SEARCHES", "200")), 20
LEFT = """
    SELECT count(*) FROM pg_proc AS p INNER JOIN pg_language AS l ON l.oid = p.prolang
    WHERE l.lanname = 'plpython3u'"""


@pytest.mark.extended
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


CALL = "query => %s, collections => %s, filter => %s, options => %s, query_embedding => %s"
REPLY = {
    "choices": [{"message": {"content": 'The fox is there: "red" [1].'}, "finish_reason": "stop"}]
}
KEYS = [["$title"], ["$language", "$collection"], ["$source_key", "color"]]
WRONG_FACETS: list[tuple[list[str] | None, str]] = [
    ([], "{}"),
    (["$nothing"], "{}"),
    (["a."], "{}"),
    (["$title"], "[]"),
    (["$title"], '{"$date": "year"}'),
    (["$date"], '{"$date": "century"}'),
    (None, "{}"),
]
WALKS: list[tuple[Any, ...]] = [
    (1, "both", None, 1000),
    (2, "both", ["next", "part_of"], 1000),
    (3, "out", ["next", "part_of"], 3),
    (11, "both", None, 10),
    (1, "up", None, 10),
    (1, "both", None, 0),
    (1, "both", [None], 10),
]


def outcome(call: Callable[[], Any]) -> Any:
    """Return what a call gives, or its error."""
    try:
        return call()
    except StatementError as error:
        return error.sqlstate, str(error), error.hint
    except ProgramError as error:
        return error.sqlstate, error.message, error.hint
    except psycopg.Error as error:
        return error.diag.sqlstate, error.diag.message_primary, error.diag.message_hint


def timeless(made: Any) -> Any:
    """Return an explanation or a context without its times."""
    if isinstance(made, dict):
        return {name: timeless(one) for name, one in made.items() if not name.endswith("ms")}
    return [timeless(one) for one in made] if isinstance(made, list) else made


def called(one: Search) -> tuple[Any, ...]:
    """Return the arguments of CALL for a random search."""
    _, query, options, collections, filter_ = one
    return (
        query,
        collections,
        filter_ and json.dumps(filter_),
        json.dumps(options),
        VECTOR,
    )


def test_all_that_reads_is_the_same(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    library = Database(connection)
    fill_library(library)
    library.rows("SELECT add_edge(%s, %s, 'cites')", *nodes(library)[:2])
    drawn = drawn_searches(200)
    drawn = [one for one in drawn if one[0] == "hybrid_search" and one[1]][:OTHERS]
    told: list[Any] = []
    with RawServer(lambda _: http_answer(json.dumps(REPLY).encode())) as gateway:
        library.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
        library.rows("SELECT set_setting('answer_model', '\"some/chat\"')")
        inside = calls_inside(library, drawn)
        told = [timeless(outcome(call)) for call in inside]
        library.rows("DROP EXTENSION plpython3u CASCADE")
        with connect(library.url) as other:
            outside = Connection(other)
            calls = calls_outside(outside, library, drawn)
            for place, (call, expected) in enumerate(zip(calls, told, strict=True)):
                assert timeless(outcome(call)) == expected, place
    documents = [one for one in told if isinstance(one, dict)]
    assert any(one.get("checks") for one in documents)  # the model's reply was held to passages
    assert any(one.get("parts") for one in documents)
    assert any(one.get("stages") for one in documents)
    assert any(isinstance(one, list) and one and "count_estimate" in one[0] for one in told)
    assert any(isinstance(one, list) and one and "neighbour" in one[0] for one in told)
    assert sum(isinstance(one, tuple) for one in told) >= len(WRONG_FACETS) + 4


def nodes(library: Database) -> list[Any]:
    """Return the nodes of two documents, and one that is nowhere."""
    statement = "SELECT graph_node(%s, %s)"
    found = [
        library.value(statement, name, key) for name, key in (("books", "k0"), ("briefe", "k1"))
    ]
    return [*found, "document:999999"]


def calls_inside(library: Database, drawn: list[Search]) -> list[Callable[[], Any]]:
    """Return calls of the routines."""

    def value(function: str, more: str, *values: Any) -> Callable[[], Any]:
        return lambda: library.value(f"SELECT {function}({CALL}{more})", *values)

    def rows_of(statement: str, *values: Any) -> Callable[[], Any]:
        return lambda: as_dicts(library, statement, *values)

    calls = []
    for one in drawn:
        values = called(one)
        calls += [value("search_explain", "", *values), value("get_context", "", *values)]
        calls.append(value("ask", ", answer => true", *values))
        calls += [
            rows_of(f"SELECT * FROM search_facets({CALL}, keys => %s)", *values, keys)
            for keys in KEYS
        ]
    counted = "SELECT * FROM search_facets('red', %s, buckets => %s)"
    calls += [rows_of(counted, *wrong) for wrong in WRONG_FACETS]
    walked = "SELECT * FROM graph_neighbors(%s, %s, %s, %s, %s)"
    calls += [rows_of(walked, node, *walk) for node in nodes(library) for walk in WALKS]
    calls += [value("ask", "", "", None, None, "{}", None)]
    wrong = json.dumps({"max_tokens": 100, "reserve_tokens": {"code": 60, "prose": 50}})
    calls += [value("get_context", "", "red", None, None, wrong, VECTOR)]
    return calls


def calls_outside(
    outside: Connection, library: Database, drawn: list[Search]
) -> list[Callable[[], Any]]:
    """Return the same calls of the program in this process."""
    calls: list[Callable[[], Any]] = []
    for one in drawn:
        asked = asked_of(one)._replace(result_limit=10)
        calls += [
            lambda asked=asked: explain(outside, asked),
            lambda asked=asked: context(outside, asked._replace(result_limit=20)),
            lambda asked=asked: ask(outside, asked, answer=True),
        ]
        calls += [lambda asked=asked, keys=keys: facets(outside, asked, keys) for keys in KEYS]
    red = SearchArguments("red")
    calls += [
        lambda keys=keys, buckets=buckets: facets(outside, red, keys, buckets)
        for keys, buckets in WRONG_FACETS
    ]
    calls += [
        lambda node=node, walk=walk: neighbours(outside, node, *walk)
        for node in nodes(library)
        for walk in WALKS
    ]
    calls += [lambda: ask(outside, SearchArguments("", options="{}"))]
    wrong = json.dumps({"max_tokens": 100, "reserve_tokens": {"code": 60, "prose": 50}})
    calls += [
        lambda: context(outside, SearchArguments("red", 20, options=wrong, query_embedding=VECTOR))
    ]
    return calls


def as_dicts(library: Database, statement: str, *values: Any) -> list[dict[str, Any]]:
    """Return rows by the names of their columns."""
    with library.connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement.encode(), values).fetchall()
