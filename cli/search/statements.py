"""What searches, and what is made of searches, are called with: SearchRequest's parameters.

Beside them all bind `profile`; CONTEXT `output_format`, FACETS `keys` and `buckets`, DIAGNOSE
`document`.
"""

import json
from dataclasses import dataclass
from typing import Any, LiteralString

from pgblend.cli.base.errors import UserError

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
