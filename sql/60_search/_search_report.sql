-- _search_report: what the search log gets of a search: one JSON object.
-- {"search_id", "profile", "mode", "rows", "ms", "fetch_ms", "degraded", "top_score", "results":
-- [the first ten: {"rank", "chunk_id", "document_id", "score"}], "purpose", "trace":
-- _search_fields}. What is long is cut, so that one datagram carries it. _report_search adds who
-- searched, for what, where and when, which are not the caller's word; the query is, by the setting
-- log_queries, its text, its sha256 or null.
-- purpose is the parameter pgblend.purpose, 'search' where it is not set: evaluations set it, and
-- views leave out what is no search of a user. It is the caller's word on the caller's own row.
CREATE OR REPLACE FUNCTION pgblend._search_report(
    query text,
    result_limit integer,
    profile text,
    collection_ids bigint[],
    settings jsonb,
    page_trace jsonb,
    fallback_used boolean,
    degraded text[],
    results blend.search_result[],
    total_ms double precision
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN jsonb_build_object(
        'search_id', settings -> 'search_id',
        'profile', coalesce(
            profile,
            (SELECT s.value #>> '{}' FROM pgblend_data.setting AS s
            WHERE s.name = 'default_profile'),
            pgblend._setting_defaults('server') ->> 'default_profile'),
        'mode', settings ->> 'mode',
        'rows', cardinality(results),
        'ms', total_ms,
        'fetch_ms', jsonb_path_query_first(
            page_trace, '$.stages[*] ? (@.name == "fetch").ms'),
        'degraded', ARRAY(SELECT left(d.note, 300) FROM unnest(degraded[:10]) AS d (note)),
        'top_score', results[1].score,
        'results', (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'rank', r.rank, 'chunk_id', r.chunk_id, 'document_id', r.document_id,
                'score', r.score) ORDER BY r.rank), '[]')
            FROM unnest(results[:10]) AS r),
        'purpose', left(
            coalesce(nullif(current_setting('pgblend.purpose', true), ''), 'search'), 40),
        'trace', pgblend._search_fields(
            query, result_limit, collection_ids, settings, page_trace, fallback_used, results,
            total_ms));
END;
$function$;
