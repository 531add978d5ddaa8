"""Python's values as psycopg passes them."""

import asyncio
from typing import Any

import numpy as np
import psycopg
import pytest

from pgblend.integrations.psycopg import register, register_async


@pytest.fixture(scope="module")
def registered(driver_url: str) -> Any:
    with psycopg.connect(driver_url, autocommit=True) as connection:
        register(connection)
        yield connection


VALUES = [
    ([0.5, 1.0], "vector", "[0.5,1]"),
    ([1, 0.5], "vector", "[1,0.5]"),
    ([np.float32(0.5), np.float32(1)], "vector", "[0.5,1]"),
    (np.array([0.5, 1.0]), "vector", "[0.5,1]"),
    (np.array([0.5, 1.0], dtype=np.float32), "vector", "[0.5,1]"),
    ({"a": [1, "x"]}, "jsonb", '{"a": [1, "x"]}'),
    ([{"a": 1}, {"b": 0.5}], "jsonb", '[{"a": 1}, {"b": 0.5}]'),
    ([1, 2], "smallint[]", "{1,2}"),
    ([True], "boolean[]", "{t}"),
    (["x"], "text", "{x}"),  # of no type, so that it fits arrays of any
    ([[1], [2]], "smallint[]", "{{1},{2}}"),
]


@pytest.mark.parametrize("placeholder", ["%s", "%t"])
@pytest.mark.parametrize(("value", "type_", "text"), VALUES)
def test_a_value_has_the_type_of_what_is_in_it(
    registered: psycopg.Connection, placeholder: str, value: Any, type_: str, text: str
) -> None:
    cursor = registered.execute(
        f"SELECT pg_typeof(p.v)::text, p.v::text FROM (SELECT {placeholder} AS v) AS p",  # type: ignore[arg-type]
        [value],
    )
    assert cursor.fetchone() == (type_, text)


def test_an_empty_list_is_what_it_is_taken_for(registered: psycopg.Connection) -> None:
    cursor = registered.execute("SELECT %s::integer[] = '{}', %s::text[] = '{}'", [[], []])
    assert cursor.fetchone() == (True, True)


def test_a_search_takes_them_without_casts(registered: psycopg.Connection) -> None:
    registered.execute("SELECT create_embedding_space('small', 'x/y', 3, probe => false)")
    found = registered.execute(
        "SELECT count(*) FROM hybrid_search('x', collections => %s, filter => %s, options => %s,"
        " query_embedding => %s)",
        [[], {"year": 1970}, {"mode": "fast"}, [0.5, 0.5, 1]],
    )
    assert found.fetchone() == (0,)


def test_other_connections_are_as_before(module_url: str) -> None:
    with psycopg.connect(module_url) as connection:
        cursor = connection.execute("SELECT pg_typeof(%s)::text", [[0.5]])
        assert cursor.fetchone() == ("double precision[]",)


def test_an_asynchronous_connection(module_url: str) -> None:
    async def types() -> Any:
        async with await psycopg.AsyncConnection.connect(module_url) as connection:
            await register_async(connection)
            cursor = await connection.execute(
                "SELECT pg_typeof(%s)::text, pg_typeof(%s)::text", [[0.5], {}]
            )
            return await cursor.fetchone()

    assert asyncio.run(types()) == ("vector", "jsonb")
