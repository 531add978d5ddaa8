-- audit_recall: how many of the nearest passages the HNSW index finds, by filter.
-- Queries are `sample_size` points halfway between two stored vectors, chosen by a digest of their
-- ids, so that a repeated audit asks the same. Each is searched by the index and exactly, with each
-- filter; NULL filters are no filter and, of the metadata that documents have, the ones that pass
-- about a tenth, a hundredth and a thousandth. recall is the share of the exact rows that the index
-- found (equally near ones count), NULL where nothing passes; times are medians. No vectors give no
-- rows; a sample beyond 1 to 1000 and a result_limit beyond 1 to 1000 are errors. A row tells
-- recall, pages that came back short, and median times.
CREATE OR REPLACE FUNCTION blend.audit_recall(
    collections text[] DEFAULT NULL,
    sample_size integer DEFAULT 50,
    result_limit integer DEFAULT 10,
    filters jsonb[] DEFAULT NULL,
    options jsonb DEFAULT '{}'
)
RETURNS TABLE (
    filter jsonb,
    selectivity double precision,
    queries integer,
    recall double precision,
    worst_recall double precision,
    short_pages integer,
    index_ms double precision,
    exact_ms double precision
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
ROWS 4
SET client_min_messages = 'error'
SET "pgblend.purpose" = 'evaluation'
AS $function$
#variable_conflict use_column
DECLARE
    collection_ids bigint[] := pgblend._searched_collections(collections);
    sample vector[];
    one vector;
    found record;
    recalls double precision[];
    index_times double precision[];
    exact_times double precision[];
    started timestamptz;
    between_times timestamptz;
    by_index double precision[];
    by_scan double precision[];
BEGIN
    IF sample_size IS NULL OR sample_size NOT BETWEEN 1 AND 1000
        OR result_limit IS NULL OR result_limit NOT BETWEEN 1 AND 1000
    THEN
        RAISE EXCEPTION 'sample_size is %, result_limit %: expected whole numbers from 1 to 1000',
            coalesce(sample_size::text, 'NULL'), coalesce(result_limit::text, 'NULL')
            USING ERRCODE = '22023', HINT = '50 and 10 are the defaults.';
    END IF;
    PERFORM pgblend._check_size('filters', cardinality(filters), 'items', 'array_items');
    sample := pgblend._sample_vectors(
        collection_ids, sample_size,
        pgblend._search_settings(options, NULL, collection_ids) ->> 'space');
    FOR found IN
        SELECT f.filter, f.selectivity
        FROM pgblend._audit_filters(collection_ids, filters) AS f
        WHERE cardinality(sample) > 0
    LOOP
        recalls := '{}';
        index_times := '{}';
        exact_times := '{}';
        short_pages := 0;
        FOREACH one IN ARRAY sample LOOP
            started := clock_timestamp();
            by_index := ARRAY(
                SELECT r.relevance FROM blend.vector_search(
                    NULL, result_limit, collections, found.filter,
                    options || '{"vector_scan": "index"}', one) AS r);
            between_times := clock_timestamp();
            by_scan := ARRAY(
                SELECT r.relevance FROM blend.vector_search(
                    NULL, result_limit, collections, found.filter,
                    options || '{"vector_scan": "exact"}', one) AS r);
            index_times := index_times
                || (extract(EPOCH FROM between_times - started) * 1000)::double precision;
            exact_times := exact_times
                || (extract(EPOCH FROM clock_timestamp() - between_times) * 1000)::double precision;
            IF cardinality(by_scan) > 0 THEN
                recalls := recalls || (
                    SELECT count(*)::double precision / cardinality(by_scan)
                    FROM unnest(by_index) AS c
                    WHERE c >= (SELECT min(s) FROM unnest(by_scan) AS s) - 1e-6);
                short_pages := short_pages
                    + (cardinality(by_index) < cardinality(by_scan))::integer;
            END IF;
        END LOOP;
        filter := found.filter;
        selectivity := found.selectivity;
        queries := cardinality(sample);
        SELECT avg(least(r, 1)), min(least(r, 1)) INTO recall, worst_recall
        FROM unnest(recalls) AS r;
        index_ms := (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t)
            FROM unnest(index_times) AS t);
        exact_ms := (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t)
            FROM unnest(exact_times) AS t);
        RETURN NEXT;
    END LOOP;
END;
$function$;
