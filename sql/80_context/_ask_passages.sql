-- _ask_passages: the passages that a question is answered from, as ask_document takes them.
-- {query, mode, queryLanguage, parts, messages, results, meta {expanded, reranked, vectorsUsed,
-- tokens}, abstains, questions (NULL unless the query was split), degraded}. Where no passage has
-- as much relevance as abstain_below, there are no parts, and abstains is true. mode is that of
-- search_explain's meta. The language is the gateway's guess, where it expanded the query, else
-- that of _query_language. A NULL or blank query is an error. `messages` ask a chat model; with the
-- rules and the question they fit into max_tokens.
CREATE OR REPLACE FUNCTION pgblend._ask_passages(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector
)
RETURNS jsonb
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
COST 100000
AS $function$
DECLARE
    settings jsonb;
    search record;
    context jsonb;
    abstains boolean;
    questions jsonb;
BEGIN
    IF coalesce(btrim(query, E' \t\r\n'), '') = '' THEN
        RAISE EXCEPTION 'query is %: expected a question', coalesce(quote_literal(query), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: ask(''how do I deploy?'')';
    END IF;
    settings := pgblend._context_settings(options, profile, collections);
    search := pgblend._search(
        query, result_limit, collections, filter, profile, options, query_embedding,
        traced => 'page', is_reported => false);
    abstains := (settings ->> 'abstain_below')::double precision
        > (SELECT max(r.relevance) FROM unnest(search.results) AS r);
    questions := jsonb_path_query_first(search.trace, '$.stages[*].details.subQuestions');
    context := pgblend._context_of(
        query, CASE WHEN abstains THEN '{}'::blend.search_result[] ELSE search.results END, settings,
        'messages', questions);
    PERFORM pgblend._report_context(search.report, context -> 'stats');
    RETURN jsonb_build_object(
        'query', query,
        'queryLanguage', coalesce(
            jsonb_path_query_first(search.trace, '$.stages[*].details.queryLanguage ? (@ != "und")')
                #>> '{}',
            pgblend._query_language(query)),
        'parts', context -> 'parts',
        'messages', context -> 'messages',
        'results', (
            SELECT coalesce(jsonb_agg(to_jsonb(r) - '{content,metadata,context_before,
                context_after,degraded,details}'::text[] ORDER BY r.rank), '[]')
            FROM unnest(search.results) AS r),
        'mode', search.trace #> '{meta,mode}',
        'meta', (search.trace -> 'meta') - 'mode'
            || jsonb_build_object('tokens', context #> '{stats,tokens}'),
        'abstains', coalesce(abstains, false),
        'questions', questions,
        'degraded', search.trace -> 'degraded');
END;
$function$;
