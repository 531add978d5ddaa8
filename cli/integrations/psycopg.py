"""psycopg: Python's own values pass as vector and jsonb, on the connections that ask for it."""

from numbers import Integral, Real
from typing import Any

import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector, register_vector_async
from psycopg.abc import AdaptContext, Dumper, DumperKey
from psycopg.adapt import PyFormat
from psycopg.types.array import ListDumper
from psycopg.types.json import Jsonb, JsonbBinaryDumper, JsonbDumper


def register(connection: psycopg.Connection[Any]) -> None:
    """Pass dicts and lists of dicts as jsonb, numpy's arrays and lists with floats as vector.

    Lists of whole numbers, texts and the rest stay PostgreSQL's arrays. Where there is no type
    vector, psycopg.ProgrammingError.
    """
    register_vector(connection)
    _register_dumpers(connection)


async def register_async(connection: psycopg.AsyncConnection[Any]) -> None:
    """Do the same for an asynchronous connection."""
    await register_vector_async(connection)
    _register_dumpers(connection)


def _register_dumpers(context: AdaptContext) -> None:
    adapters = context.adapters
    assert adapters is not None
    for dumper in (JsonbBinaryDumper, JsonbDumper):  # the last one is taken for %s
        adapters.register_dumper(dict, dumper)
    adapters.register_dumper(list, _ListDumper)


class _ListDumper(ListDumper):
    """Dumps each list by what is in it."""

    def get_key(self, obj: list[Any], format: PyFormat) -> DumperKey:
        if _is_vector(obj):
            return (self.cls, Vector)
        return (self.cls, Jsonb) if _is_json(obj) else super().get_key(obj, format)

    def upgrade(self, obj: list[Any], format: PyFormat) -> Dumper:  # type: ignore[override]
        if _is_vector(obj):
            return self._tx.get_dumper(Vector(obj), format)
        return JsonbDumper(list, self._tx) if _is_json(obj) else super().upgrade(obj, format)


def _is_vector(items: list[Any]) -> bool:
    """Whether all are numbers, and not all of them whole ones."""
    types = set(map(type, items))
    are_numbers = all(issubclass(each, Real) for each in types)
    return are_numbers and any(not issubclass(each, Integral) for each in types)


def _is_json(items: list[Any]) -> bool:
    return set(map(type, items)) == {dict}
