-- _search: one search from its arguments to its rows: what all search functions are made of.
-- Settings and collections are resolved, the query embedded where an arm needs it, then one page is
-- made (_search_page). `only_arm` (lexical, vector, fuzzy) runs that arm alone: vector raises where
-- there are no vectors; lexical, where no passage has any of the words and strict does not forbid
-- it, gives the nearest by vectors, with a WARNING and a note in `degraded`. A NULL or blank query
-- gives no rows, unless only_arm is vector and its vector is given. `trace` is NULL with `traced`
-- 'none'; 'page' and 'pool' say ever more (_search_trace).
CREATE OR REPLACE FUNCTION pgblend._search(
    query text,
    result_limit integer,
    collections text[],
    filter jsonb,
    profile text,
    options jsonb,
    query_embedding vector,
    only_arm text DEFAULT NULL,
    traced text DEFAULT 'none',
    OUT results pgblend.search_result[],
    OUT trace jsonb
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    started_at timestamptz := clock_timestamp();
    embedding_at timestamptz;
    embedded_at timestamptz;
    collection_ids bigint[];
    settings jsonb;
    missing jsonb;
    looked record;
    page record;
    is_blank boolean := coalesce(btrim(query, E' \t\r\n'), '') = '';
BEGIN
    PERFORM pgblend._check_result_limit(result_limit);
    collection_ids := pgblend._searched_collections(collections);
    settings := pgblend._search_settings(options, profile, collection_ids)
        || pgblend._arm_settings(only_arm);
    filter := pgblend._search_filter(filter, settings);
    IF settings -> 'weights' @> '{"lexical": 0, "vector": 0}'
        AND NOT (settings ->> 'fuzzy' = 'on' AND (settings #>> '{weights,fuzzy}')::numeric > 0)
    THEN
        RAISE EXCEPTION 'options: "weights" are all 0: expected one above 0'
            USING ERRCODE = '22023', HINT = 'An arm of weight 0 is not run.';
    END IF;
    missing := pgblend._missing_stages(settings ->> 'mode');
    settings := settings || jsonb_build_object('not_run', missing);
    SELECT NULL::text AS space, NULL::vector AS embedding, '{}'::text[] AS degraded INTO looked;
    SELECT '{}'::pgblend.search_result[] AS results, NULL::jsonb AS trace, 0 AS candidate_count,
        looked.degraded AS degraded INTO page;
    embedding_at := clock_timestamp();
    IF NOT is_blank OR only_arm = 'vector' AND query_embedding IS NOT NULL THEN
        IF (settings #>> '{weights,vector}')::double precision > 0 THEN
            looked := pgblend._search_vector(
                query, query_embedding, collection_ids, settings, only_arm IS NOT NULL);
        END IF;
        embedded_at := clock_timestamp();
        IF missing <> '{}' AND options ->> 'mode' IS NOT NULL THEN
            looked.degraded := looked.degraded || pgblend._degrade_mode(missing, settings);
        END IF;
        page := pgblend._search_page(
            query, result_limit, looked.embedding, looked.space, collection_ids, filter, settings,
            traced, looked.degraded);
        IF only_arm = 'lexical' AND page.candidate_count = 0 AND result_limit > 0
            AND NOT (settings ->> 'strict')::boolean
            AND pgblend._vectors_may_answer(query, collection_ids)
        THEN
            looked := pgblend._search_vector(query, NULL, collection_ids, settings, false);
            IF looked.embedding IS NOT NULL THEN
                page := pgblend._search_page(
                    query, result_limit, looked.embedding, looked.space, collection_ids, filter,
                    settings || pgblend._arm_settings('vector'), traced,
                    looked.degraded || pgblend._degrade(
                        'lexical', 'no passage was found by its words', 'PB003',
                        'these rows are the nearest by vectors; the option strict leaves them out',
                        settings));
            END IF;
        END IF;
    END IF;
    results := page.results;
    IF traced <> 'none' THEN
        trace := pgblend._search_trace(
            query, profile, collection_ids, options, settings, page.degraded, results, page.trace,
            jsonb_build_object('name', 'embed',
                'rows', (looked.embedding IS NOT NULL)::integer, 'ms', pgblend._milliseconds(
                    embedding_at, embedded_at)),
            pgblend._milliseconds(started_at, clock_timestamp()));
    END IF;
END;
$function$;

COMMENT ON FUNCTION pgblend._search(
    text, integer, text[], jsonb, text, jsonb, vector, text, text
) IS
'One search from its arguments to its rows: what all search functions are made of. trace says what '
'each stage did, where asked for (traced: none, page, pool).';
