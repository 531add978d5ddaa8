"""SQLAlchemy: searches as tables with typed columns, which join to mapped classes.

Importing it also has reflection know the type vector (pgvector.sqlalchemy).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pgvector.sqlalchemy import Vector
from sqlalchemy import (
    BigInteger,
    ClauseElement,
    ColumnElement,
    Double,
    Integer,
    SQLColumnExpression,
    Text,
    bindparam,
    column,
    func,
    literal_column,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeEngine

from pgblend.cli.documents.document import storable_text

_COLUMNS: tuple[ColumnElement[Any], ...] = tuple(
    column(name, type_)
    for type_, names in (
        (Integer(), ("rank", "start_line", "end_line")),
        (Double(), ("score", "relevance")),
        (BigInteger(), ("document_id", "chunk_id")),
        (Text(), ("collection", "source_key", "uri", "title", "snippet", "content")),
        (Text(), ("context_before", "context_after")),
        (ARRAY(Integer()), ("pages",)),
        (ARRAY(Text()), ("degraded",)),
        (JSONB(), ("metadata", "arms", "details")),
    )
    for name in names
)
_ARGUMENTS: dict[str, TypeEngine[Any]] = {
    "query": Text(),
    "result_limit": Integer(),
    "collections": ARRAY(Text()),
    "filter": JSONB(),
    "profile": Text(),
    "options": JSONB(),
    "query_embedding": Vector(),
}


def hybrid_search(
    query: str | SQLColumnExpression[str],
    result_limit: int | None = None,
    *,
    collections: Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    profile: str | None = None,
    options: Mapping[str, Any] | None = None,
    query_embedding: Sequence[float] | None = None,
) -> TableValuedAlias:
    """Return the search as a table: `c.rank`, `c.score`, `c.source_key` and the other columns.

    What is None is left to the database. A query may be a column, mapped or
    not, for a lateral join.
    """
    return _search(
        "hybrid_search",
        query=query,
        result_limit=result_limit,
        collections=collections,
        filter=filter,
        profile=profile,
        options=options,
        query_embedding=query_embedding,
    )


def lexical_search(
    query: str | SQLColumnExpression[str],
    result_limit: int | None = None,
    *,
    collections: Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> TableValuedAlias:
    """Return a search by words alone, as such a table."""
    return _search(
        "lexical_search",
        query=query,
        result_limit=result_limit,
        collections=collections,
        filter=filter,
        options=options,
    )


def vector_search(
    query: str | SQLColumnExpression[str] | None = None,
    result_limit: int | None = None,
    *,
    collections: Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    query_embedding: Sequence[float] | None = None,
) -> TableValuedAlias:
    """Return a search by a vector alone, as such a table."""
    return _search(
        "vector_search",
        query=query,
        result_limit=result_limit,
        collections=collections,
        filter=filter,
        options=options,
        query_embedding=query_embedding,
    )


def _search(name: str, **arguments: Any) -> TableValuedAlias:
    given = [_named(key, value) for key, value in arguments.items() if value is not None]
    call = getattr(func.blend, name)(*given)
    table: TableValuedAlias = call.table_valued(*_COLUMNS)
    return table


def _named(name: str, value: Any) -> ColumnElement[Any]:
    """Return a named argument of a call; values are parameters."""
    if not isinstance(value, ClauseElement | SQLColumnExpression):
        value = storable_text(value) if isinstance(value, str) else value
        value = bindparam(name, value, type_=_ARGUMENTS[name], unique=True)
    return literal_column(name).op("=>")(value)
