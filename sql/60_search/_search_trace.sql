-- _search_trace: what a search did, as one JSON document: settings, stages, rows.
-- {"query", "profile", "mode", "meta" (_search_meta), "collections", "settings": {name: {"value",
-- "source"}}, "stages": [{"name", "start_ms", "ms", "rows", …}], "degraded", "total_ms", "results":
-- [{"rank", "score", …, "arms", "parts", "scores", "places"}]}, and "candidates" where each
-- candidate was traced. `page_trace` is what _search_page says, NULL for a blank query, which runs
-- no stage.
CREATE OR REPLACE FUNCTION pgblend._search_trace(
    query text,
    profile text,
    collection_ids bigint[],
    options jsonb,
    settings jsonb,
    degraded text[],
    results blend.search_result[],
    page_trace jsonb,
    total_ms double precision
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    RETURN jsonb_build_object(
        'query', query,
        'profile', coalesce(profile, blend.get_setting('default_profile') #>> '{}'),
        'mode', settings ->> 'mode',
        'meta', pgblend._search_meta(settings, page_trace -> 'stages'),
        'collections', (
            SELECT coalesce(jsonb_agg(c.name ORDER BY c.name), '[]')
            FROM pgblend_data.collection AS c WHERE c.id = ANY(collection_ids)),
        'settings', (
            SELECT jsonb_object_agg(s.name, jsonb_build_object(
                'value', settings -> s.name, 'source', s.source))
            FROM pgblend._setting_sources(options, profile, collection_ids) AS s),
        'degraded', to_jsonb(degraded),
        'total_ms', total_ms,
        'results', (
            SELECT coalesce(jsonb_agg(
                to_jsonb(r) - '{content,metadata,context_before,context_after,degraded}'::text[]
                || (page_trace -> 'rows' -> (r.rank - results[1].rank)) ORDER BY r.rank), '[]')
            FROM unnest(results) AS r),
        'stages', coalesce(page_trace -> 'stages', '[]')
    ) || coalesce(page_trace - '{stages,rows,lexical_tries}'::text[], '{}');
END;
$function$;
