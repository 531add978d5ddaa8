-- _search: one search from its arguments to its rows: what all search functions are made of.
-- What is set is read each time, so that it takes effect at once, and planned (_search_plan); then
-- one page is made (_search_page). `only_arm` (lexical, vector, fuzzy) runs that arm alone: vector
-- raises where there are no vectors; lexical, where no passage has any of the words and strict does
-- not forbid it, gives the nearest by vectors, with a WARNING and a note in `degraded`, but not
-- where its time was over. A NULL or blank query gives no rows, unless only_arm is vector and its
-- vector is given. `trace` is NULL with `traced` 'none'; 'page' and 'pool' say ever more
-- (_search_trace), 'rerank' only which passages a reranker would read. Where log_address is set,
-- the search is reported there, and search_id is in the rows' details; without `is_reported` the
-- caller is to send the `report`. What the search did, rows or none, is kept for last_search.
-- A search that an upgrade of pgblend overtook (PB012) is tried once more.
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
    is_reported boolean DEFAULT true,
    OUT results blend.search_result[],
    OUT trace jsonb,
    OUT report jsonb
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    started_at timestamptz := clock_timestamp();
    collection_ids bigint[];
    layers record;
    settings jsonb;
    by_vector boolean;
    space text;
    degraded text[] := '{}';
    candidate_count integer := 0;
    total_ms double precision;
    looked record;
    page record;
    page_trace jsonb;
    fallback record;
    fallback_used boolean := false;
    tried_again boolean := false;
    is_blank boolean := coalesce(btrim(query, E' \t\r\n'), '') = '';
BEGIN
    LOOP
        BEGIN
            PERFORM pgblend._check_result_limit(result_limit);
            PERFORM pgblend._check_query(query);
            collection_ids := pgblend._searched_collections(collections);
            layers := pgblend._setting_layers(profile, collection_ids);
            settings := pgblend._kept_plan(
                options, layers.of_database, layers.of_profile, layers.of_collection,
                only_arm, traced);
            IF settings IS NULL THEN
                settings := pgblend._kept_plan(
                    options, layers.of_database, layers.of_profile, layers.of_collection,
                    only_arm, traced,
                    pgblend._search_plan(
                        options, layers.of_database, layers.of_profile, layers.of_collection,
                        only_arm, traced));
            END IF;
            IF (settings ->> 'is_logged')::boolean THEN
                settings := settings || jsonb_build_object('search_id', gen_random_uuid());
            END IF;
            IF num_nonnulls(filter, settings ->> 'since', settings ->> 'until') > 0 THEN
                filter := pgblend._search_filter(filter, settings);
            END IF;
            IF vector_norm(query_embedding) NOT BETWEEN 1e-3 AND 1e3 THEN
                -- float4 (half) cannot hold its square
                query_embedding := l2_normalize(query_embedding);
            END IF;
            -- S3's sum of scores needs the vectors as their own arm does.
            by_vector := coalesce(only_arm = 'vector', false)
                OR settings -> 'graph' @> '{"combine": "sum"}' AND only_arm IS NULL;
            results := '{}';
            IF NOT is_blank OR by_vector AND query_embedding IS NOT NULL THEN
                degraded := pgblend._no_collections(collection_ids, settings, by_vector);
                IF (settings #>> '{weights,vector}')::double precision > 0 THEN
                    looked := pgblend._search_space(
                        query_embedding, collection_ids, settings, by_vector);
                    space := looked.space;
                    degraded := degraded || looked.degraded;
                END IF;
                IF settings -> 'not_run' <> '{}' THEN
                    degraded := degraded
                        || pgblend._degrade_mode(settings -> 'not_run', options, settings);
                END IF;
                page := pgblend._search_page(
                    query, result_limit, query_embedding, space, collection_ids, filter, settings,
                    started_at, traced, degraded);
                IF only_arm = 'lexical' AND page.candidate_count = 0 AND result_limit > 0
                    AND NOT (settings ->> 'strict')::boolean
                    AND pgblend._vectors_may_answer(query, collection_ids, settings ->> 'space')
                THEN
                    looked := pgblend._search_space(NULL, collection_ids, settings, false);
                    fallback := pgblend._search_page(
                        query, result_limit, NULL, looked.space, collection_ids, filter,
                        settings || pgblend._arm_settings('vector') || '{"words_found": false}',
                        started_at, traced, page.degraded || looked.degraded);
                    IF fallback.candidate_count > 0 THEN
                        fallback.trace := fallback.trace
                            || jsonb_build_object('lexical_tries', page.trace -> 'lexical_tries');
                        page := fallback;
                        fallback_used := true;
                    ELSE
                        page.degraded := page.degraded || ARRAY(
                            SELECT note FROM unnest(fallback.degraded) AS note
                            WHERE note LIKE 'vector: %');
                    END IF;
                END IF;
                results := page.results;
                IF settings -> 'context_chars' <> '{"before": 0, "after": 0}' THEN
                    results := pgblend._with_text_around(results, settings);
                END IF;
                degraded := page.degraded;
                candidate_count := page.candidate_count;
                page_trace := page.trace;
            END IF;
            total_ms := pgblend._milliseconds(started_at, clock_timestamp());
            IF traced IN ('page', 'pool') THEN
                trace := pgblend._search_trace(
                    query, profile, collection_ids, options, settings, degraded, results,
                    page_trace, total_ms);
            ELSIF traced = 'rerank' THEN
                trace := page_trace;
            END IF;
            IF settings ->> 'search_id' IS NOT NULL AND traced <> 'rerank' AND NOT is_blank THEN
                report := pgblend._search_report(
                    query, result_limit, profile, collection_ids, settings, page_trace,
                    fallback_used, degraded, results, total_ms);
                IF is_reported THEN
                    PERFORM pgblend._report_search(report);
                END IF;
            END IF;
            PERFORM pgblend._note_search(jsonb_build_object(
                'mode', settings -> 'mode', 'arm', only_arm, 'rows', cardinality(results),
                'candidates', candidate_count, 'degraded', degraded,
                'not_run', settings -> 'not_run', 'search_id', settings -> 'search_id',
                'ms', total_ms));
            RETURN;
        EXCEPTION WHEN SQLSTATE 'PB012' THEN
            IF tried_again THEN
                RAISE;
            END IF;
            tried_again := true;
        END;
    END LOOP;
END;
$function$;
