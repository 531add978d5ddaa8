-- _search_fields: what the search log says of a search by S4's names, each where it is known.
-- query_len (characters), top_k, strategy (dense, sparse, fuzzy or hybrid), strict, rrf_k and
-- mmr_lambda where they are in force, files_touched (different documents), dedup_ratio (the share
-- of what dedup looked at that it left out), time_to_first_result_ms. Where the words were
-- searched: bm25_status (uninitialized, building, empty or ready), timeout_ms, attempts,
-- bm25_results; by vectors: dense_results. fallback_used says that vectors stand in for words that
-- found nothing or could not be searched, with bm25_len and dense_len then. `page_trace` is what
-- _search_page says, its key lexical_tries included.
CREATE OR REPLACE FUNCTION pgblend._search_fields(
    query text,
    result_limit integer,
    collection_ids bigint[],
    settings jsonb,
    page_trace jsonb,
    fallback_used boolean,
    results blend.search_result[],
    total_ms double precision
)
RETURNS jsonb
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    weights jsonb := settings -> 'weights';
    by_words boolean := (weights ->> 'lexical')::double precision > 0;
    by_vectors boolean := (weights ->> 'vector')::double precision > 0;
    tries jsonb := page_trace -> 'lexical_tries';
    stages jsonb := (
        SELECT coalesce(jsonb_object_agg(s.value ->> 'name', s.value), '{}')
        FROM jsonb_array_elements(page_trace -> 'stages') AS s
        WHERE NOT s.value ? 'skipped');
    dense integer := stages #>> '{vector,rows}';
    words integer := CASE WHEN by_words THEN coalesce((stages #>> '{lexical,rows}')::integer, 0) END;
    strategy text := CASE
        WHEN by_words AND by_vectors THEN 'hybrid'
        WHEN by_words THEN 'sparse'
        WHEN by_vectors THEN 'dense'
        ELSE 'fuzzy' END;
BEGIN
    fallback_used := fallback_used
        OR coalesce(tries ? 'problem' AND words = 0 AND dense > 0, false);
    RETURN jsonb_strip_nulls(jsonb_build_object(
        'query_len', length(query),
        'top_k', result_limit,
        'strategy', strategy,
        'strict', settings -> 'strict',
        'rrf_k', CASE WHEN strategy = 'hybrid' AND settings ->> 'fusion' = 'rrf'
            THEN settings -> 'rrf_k' END,
        'mmr_lambda', nullif(settings #> '{mmr,lambda}', '1'),
        'files_touched', (SELECT count(DISTINCT r.document_id) FROM unnest(results) AS r),
        'dedup_ratio', (stages #>> '{dedup,details,dropped}')::double precision
            / nullif((stages #>> '{dedup,details,looked_at}')::double precision, 0),
        'time_to_first_result_ms', total_ms,
        'dense_results', dense,
        'fallback_used', fallback_used
    ) || CASE WHEN by_words THEN jsonb_build_object(
        'bm25_status', CASE
            WHEN tries ? 'status' THEN tries ->> 'status'
            WHEN words = 0 AND NOT EXISTS (
                SELECT FROM pgblend_data.chunk AS c WHERE c.collection_id = ANY(collection_ids))
                THEN 'empty'
            ELSE 'ready' END,
        'timeout_ms', settings #> '{timeouts_ms,lexical}',
        'attempts', tries -> 'attempts',
        'bm25_results', words)
        ELSE '{}' END
    || CASE WHEN fallback_used THEN jsonb_build_object('bm25_len', words, 'dense_len', dense)
        ELSE '{}' END);
END;
$function$;
