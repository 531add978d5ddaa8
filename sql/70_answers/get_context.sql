-- get_context: what a search found, chosen and stitched to fit a budget of tokens.
-- {"query", "parts": [{citation, document_id, collection, uri, title, source_key, chunk_ids, spans,
-- pages, kind, text, context, tokens, is_cut, score, relevance, arm, reason}], "stats": {tokens,
-- estimated_tokens, max_tokens, parts, files, passages, left_out, duplicates, duplication_ratio,
-- coverage, ms}, "degraded"}, and "markdown" or "messages" where output_format asks for them. A
-- NULL or blank query, and a search that finds nothing, give no parts. The budgets are options:
-- max_tokens, max_file_tokens, max_part_tokens, reserve_tokens, context_chars, context_order.
CREATE OR REPLACE FUNCTION blend.get_context(
    query text,
    result_limit integer DEFAULT 20,
    collections text[] DEFAULT NULL,
    filter jsonb DEFAULT NULL,
    profile text DEFAULT NULL,
    options jsonb DEFAULT '{}',
    query_embedding vector DEFAULT NULL,
    output_format text DEFAULT 'json'
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    started_at timestamptz := clock_timestamp();
    searched_at timestamptz;
    settings jsonb;
    search record;
    context jsonb;
BEGIN
    IF output_format IS NULL OR output_format NOT IN ('json', 'markdown', 'messages') THEN
        RAISE EXCEPTION 'output_format is %: expected json, markdown or messages',
            coalesce(quote_literal(left(output_format, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'Leave it out for json.';
    END IF;
    settings := pgblend._context_settings(options, profile, collections);
    search := pgblend._search(
        query, result_limit, collections, filter, profile,
        coalesce(options, '{}') || '{"columns": []}', query_embedding, is_reported => false);
    searched_at := clock_timestamp();
    context := pgblend._context_of(query, search.results, settings, output_format)
        || jsonb_build_object('degraded', blend.last_search() -> 'degraded');
    PERFORM pgblend._report_context(search.report, context -> 'stats');
    RETURN jsonb_set(context, '{stats,ms}', jsonb_build_object(
        'search', pgblend._milliseconds(started_at, searched_at),
        'assembly', pgblend._milliseconds(searched_at, clock_timestamp())));
END;
$function$;

-- _context_of: a context made of the rows of a search: parts, statistics, and the text for a model.
-- What it holds is described in plpy/answers/render.py. A search without rows gives no parts.
-- `questions` are the sub-questions that the query was split into, NULL or empty where it was not.
CREATE OR REPLACE FUNCTION pgblend._context_of(
    query text,
    passages blend.search_result[],
    settings jsonb,
    output_format text,
    questions jsonb DEFAULT NULL
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
import json
from pgblend.plpy.answers.render import context_of

return json.dumps(db.answer(
    context_of, query, passages, settings, output_format, questions and json.loads(questions)))
$python$;

-- _context_settings: the settings of a search whose results are made into a context, checked.
-- Reserves that are more than max_tokens together are an error: they could not be kept.
CREATE OR REPLACE FUNCTION pgblend._context_settings(
    options jsonb,
    profile text,
    collections text[]
)
RETURNS jsonb
LANGUAGE plpython3u
STABLE PARALLEL UNSAFE
AS $python$
from pgblend.plpy.search.plan import context_settings

return db.answer(context_settings, options, profile, collections)
$python$;
