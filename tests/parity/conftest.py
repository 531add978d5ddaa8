"""The same cases against a module of plpy/ and against the function that is deployed from it."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.lexical.query import query_groups
from pgblend.plpy.lexical.split_text import approximate_tokens, split_text
from support.program import loading

QUERY_GROUPS = """
CREATE OR REPLACE FUNCTION pg_temp.query_groups(query text) RETURNS jsonb
LANGUAGE plpython3u AS $python$
import json
from pgblend.plpy.lexical.query import query_groups

return json.dumps(query_groups(query))
$python$;
"""
SIZES = ("chunk_size_tokens", "chunk_overlap_tokens", "min_chunk_size_tokens")


class Python:
    """The pure functions."""

    query_groups = staticmethod(query_groups)
    approximate_tokens = staticmethod(approximate_tokens)

    def split_text(self, text: str, *sizes: int) -> Any:
        """Split with the token counter that the server has."""
        return split_text(text, approximate_tokens, *sizes)


class Deployed:
    """The functions in the database."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        connection.execute(loading(QUERY_GROUPS))

    def _value(self, query: str, *parameters: object) -> Any:
        row = self._connection.execute(query, parameters).fetchone()  # type: ignore[call-overload]
        return row[0]

    def query_groups(self, query: str) -> Any:
        """As the server's program gives it."""
        return self._value("SELECT pg_temp.query_groups(%s)", query)

    def approximate_tokens(self, text: str) -> Any:
        """As _approximate_tokens gives it."""
        return self._value("SELECT pgblend._approximate_tokens(%s)", text)

    def split_text(self, text: str, *sizes: int) -> Any:
        """As _split_content gives it, without columns that a split does not fill."""
        settings = Jsonb(dict(zip(SIZES, sizes, strict=True)))
        row = "jsonb_strip_nulls(to_jsonb(s)) - '{document,own_headings}'::text[]"
        rows = (
            f"SELECT coalesce(jsonb_agg({row}), '[]') FROM pgblend._split_content(1, %s, %s) AS s"
        )
        return self._value(rows, text, settings)


@pytest.fixture(scope="module", params=["python", "deployed"])
def functions(request: pytest.FixtureRequest) -> Any:
    """Either implementation."""
    if request.param == "python":
        return Python()
    return Deployed(request.getfixturevalue("module_connection"))


@pytest.fixture(scope="module")
def both(module_connection: psycopg.Connection) -> Callable[[str], tuple[Any, Any]]:
    """Both implementations of a function, to compare on made-up input."""
    return lambda name: (getattr(Python(), name), getattr(Deployed(module_connection), name))
