"""Waiting until a standby has replayed what a search asks for (the option wait_for).

A search cannot wait itself: its snapshot is taken before. So who asks waits, with no snapshot open.
The search says how far behind the standby is where that was in vain.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.plpy.base.catalog import CATALOG, LSN

# A search, as the command line asks for it.


@dataclass(frozen=True)
class SearchRequest:
    """One search, as the command line asks for it."""

    query: str
    limit: int
    collections: list[str] | None
    filter: dict[str, Any] | None
    options: dict[str, Any]
    query_embedding: str | None = None  # as JSON

    def __post_init__(self) -> None:
        if "columns" in self.options:
            raise UserError(
                "columns is of calls in SQL: rows of commands, HTTP and frameworks are whole",
                "Leave it out.",
            )

    def parameters(self) -> dict[str, object]:
        """Return what the SQL call binds."""
        return {
            "query": self.query,
            "limit": self.limit,
            "collections": self.collections,
            "filter": None if self.filter is None else json.dumps(self.filter),
            "options": json.dumps(self.options),
            "query_embedding": self.query_embedding,
        }


SEARCH: LiteralString = """
    SELECT * FROM blend.hybrid_search(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector)
"""
VECTOR_SEARCH: LiteralString = """
    SELECT * FROM blend.vector_search(
        query => nullif(%(query)s::text, ''), result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        options => %(options)s::jsonb, query_embedding => %(query_embedding)s::vector)
"""
LEXICAL_SEARCH: LiteralString = """
    SELECT * FROM blend.lexical_search(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        options => %(options)s::jsonb)
"""
# hybrid_search's rows as one JSON text, and what the search went without, which each row says.
WRITTEN_ROWS: LiteralString = """
    SELECT
        to_json(s.results)::text AS rows,
        CASE
            WHEN cardinality(s.results) > 0 THEN to_jsonb((s.results[1]).degraded)
            ELSE blend.last_search() -> 'degraded'
        END AS degraded
    FROM pgblend._search(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector) AS s
"""
CONTEXT: LiteralString = """
    SELECT blend.get_context(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector,
        output_format => %(output_format)s::text)
"""
PASSAGES: LiteralString = """
    SELECT
        pgblend._ask_passages(
            query => %(query)s::text, result_limit => %(limit)s::integer,
            collections => %(collections)s::text[], filter => %(filter)s::jsonb,
            profile => %(profile)s::text, options => %(options)s::jsonb,
            query_embedding => %(query_embedding)s::vector
        ) AS found,
        pgblend._context_settings(
            %(options)s::jsonb, %(profile)s::text, %(collections)s::text[]) AS settings,
        blend.get_setting('answer_model') AS model,
        blend.get_setting('gateway_url') AS url
"""
FACETS: LiteralString = """
    SELECT key, value, count, document_count, pool_size, count_estimate FROM blend.search_facets(
        query => %(query)s::text, keys => %(keys)s::text[], result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector, buckets => %(buckets)s::jsonb)
"""
EXPLAIN: LiteralString = """
    SELECT blend.search_explain(
        query => %(query)s::text, result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector)
"""
DIAGNOSE: LiteralString = """
    SELECT blend.search_diagnose(
        query => %(query)s::text, document => %(document)s::text,
        result_limit => %(limit)s::integer, collections => %(collections)s::text[],
        filter => %(filter)s::jsonb, profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector)
"""


IS_REPLAYED: LiteralString = """
    SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn AS is_replayed
"""
_PAUSE_SECONDS = 0.02


def wait_for_changes(connection: Connection, options: Mapping[str, Any]) -> None:
    """Wait as long as a search by these options may take."""
    for place in _looks(options):
        if fetch_value(connection, IS_REPLAYED, {"lsn": place}):
            return
        time.sleep(_PAUSE_SECONDS)


async def changes_come(
    is_replayed: Callable[[str], Awaitable[bool]], options: Mapping[str, Any]
) -> None:
    """Wait as wait_for_changes does, and let others work meanwhile."""
    for place in _looks(options):
        if await is_replayed(place):
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _looks(options: Mapping[str, Any]) -> Generator[str, None, None]:
    """Yield what to wait for as often as there is time to look; what is wrong the search says."""
    place, limits = options.get("wait_for"), options.get("timeouts_ms")
    if not isinstance(place, str) or not re.search(LSN.form, place):
        return
    given = limits.get("total") if isinstance(limits, dict) else None
    most_ms = given if isinstance(given, int | float) else CATALOG["timeouts_ms"].default["total"]
    until = time.monotonic() + most_ms / 1000
    while time.monotonic() < until:
        yield place
