"""What searches, and what is made of searches, are called with: SearchRequest's parameters.

Beside them all bind `profile`; CONTEXT `output_format`, FACETS `keys`, DIAGNOSE `document`.
"""

from typing import LiteralString

from pgblend.cli.search_output import RESULT_COLUMNS

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
# The rows as one JSON text, and what the search went without: an aggregate's row is made when the
# last of its input has been read, so that last_search() tells of this search.
WRITTEN_ROWS: LiteralString = f"""
    SELECT
        coalesce(json_agg(found), '[]')::text AS rows,
        blend.last_search() -> 'degraded' AS degraded
    FROM (SELECT {", ".join(RESULT_COLUMNS)} FROM ({SEARCH}) AS searched) AS found
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
    SELECT key, value, count, document_count, pool_size FROM blend.search_facets(
        query => %(query)s::text, keys => %(keys)s::text[], result_limit => %(limit)s::integer,
        collections => %(collections)s::text[], filter => %(filter)s::jsonb,
        profile => %(profile)s::text, options => %(options)s::jsonb,
        query_embedding => %(query_embedding)s::vector)
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
