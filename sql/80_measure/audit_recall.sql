-- audit_recall: how many of the nearest passages the HNSW index finds, by filter.
-- Queries are `sample_size` points halfway between two stored vectors, chosen by a digest of their
-- ids, so that a repeated audit asks the same. Each is searched by the index and exactly, with
-- each filter. NULL filters are no filter and, of the metadata that documents have, the ones that
-- pass about a tenth, a hundredth and a thousandth. recall is the share of the exact rows that the
-- index found (equally near ones count), NULL where nothing passes. short_pages are pages with
-- fewer rows than asked; times are medians. No vectors give no rows; a sample beyond 1 to 1000 and
-- a result_limit beyond 1 to 1000 are errors.
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
            index_times := index_times || pgblend._milliseconds(started, between_times);
            exact_times := exact_times || pgblend._milliseconds(between_times, clock_timestamp());
            recalls := recalls || (  -- NULL where there is nothing to find
                SELECT least(count(*), cardinality(by_scan))::double precision
                    / nullif(cardinality(by_scan), 0)
                FROM unnest(by_index) AS c
                WHERE c >= (SELECT min(s) FROM unnest(by_scan) AS s) - 1e-6);
            short_pages := short_pages + (cardinality(by_index) < cardinality(by_scan))::integer;
        END LOOP;
        filter := found.filter;
        selectivity := found.selectivity;
        queries := cardinality(sample);
        SELECT avg(t.recall), min(t.recall),
            percentile_cont(0.5) WITHIN GROUP (ORDER BY t.index_ms),
            percentile_cont(0.5) WITHIN GROUP (ORDER BY t.exact_ms)
        INTO recall, worst_recall, index_ms, exact_ms
        FROM unnest(recalls, index_times, exact_times) AS t (recall, index_ms, exact_ms);
        RETURN NEXT;
    END LOOP;
END;
$function$;

-- _audit_filters: the filters that an audit tries, each with the share of passages that pass it.
-- Given filters stand for themselves (one that is NULL for none). NULL stands for no filter and
-- three equal conditions of the documents' own metadata. These are nearest to a tenth, a hundredth
-- and a thousandth of the documents, where any is within a factor of 3.
CREATE OR REPLACE FUNCTION pgblend._audit_filters(collection_ids bigint[], filters jsonb[])
RETURNS TABLE (filter jsonb, selectivity double precision)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 4
AS $function$
DECLARE
    all_documents double precision;
    all_chunks double precision;
BEGIN
    SELECT sum(s.documents), sum(s.chunks) INTO all_documents, all_chunks
    FROM pgblend._collection_sizes(collection_ids) AS s;
    IF filters IS NOT NULL THEN
        RETURN QUERY SELECT f.filter, pgblend._filter_count(f.filter, collection_ids) / all_chunks
        FROM unnest(filters) WITH ORDINALITY AS f (filter, place) ORDER BY f.place;
        RETURN;
    END IF;
    RETURN QUERY SELECT NULL::jsonb, 1::double precision;
    RETURN QUERY
    WITH share AS MATERIALIZED (
        SELECT m.entry, m.documents / all_documents AS share
        FROM pgblend._metadata_counts(collection_ids) AS m
    )
    SELECT n.entry::jsonb, n.share
    FROM unnest(ARRAY[0.1, 0.01, 0.001]) AS target
    CROSS JOIN LATERAL (
        SELECT s.* FROM share AS s
        WHERE abs(ln(s.share / target)) < ln(3)
        ORDER BY abs(ln(s.share / target)), s.entry COLLATE "C" LIMIT 1
    ) AS n
    ORDER BY target DESC;
END;
$function$;

-- _filter_count: how many passages of collections pass a filter; of a NULL filter all.
CREATE OR REPLACE FUNCTION pgblend._filter_count(filter jsonb, collection_ids bigint[])
RETURNS bigint
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN coalesce(cardinality(pgblend._filtered_ids(filter, collection_ids, NULL)), 0);
END;
$function$;

-- _metadata_counts: how many documents have a metadata value, for each that one in 30,000 has.
-- `entry` is {key: value} as text, of keys with one text, number or boolean.
CREATE OR REPLACE FUNCTION pgblend._metadata_counts(collection_ids bigint[])
RETURNS TABLE (entry text, documents bigint)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    one_in CONSTANT integer := 30000;
    total bigint := (
        SELECT count(*) FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(collection_ids));
BEGIN
    RETURN QUERY
    SELECT jsonb_build_object(m.key, m.value)::text, count(*)
    FROM pgblend_data.document AS d
    CROSS JOIN LATERAL jsonb_each(d.metadata) AS m
    WHERE d.collection_id = ANY(collection_ids)
        AND jsonb_typeof(m.value) IN ('string', 'number', 'boolean')
    GROUP BY m.key, m.value
    HAVING count(*) * one_in >= total;
END;
$function$;

-- _sample_vectors: points halfway between two stored vectors of a space, for an audit.
-- A NULL space is the active one. The same ids give the same points. No space or no visible vectors
-- give an empty array; where there are fewer than 2 · sample_size, fewer points.
CREATE OR REPLACE FUNCTION pgblend._sample_vectors(
    collection_ids bigint[],
    sample_size integer,
    space text
)
RETURNS vector[]
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    sampled pgblend_data.embedding_space := pgblend._searched_space(space);
BEGIN
    IF sampled.name IS NULL THEN
        RETURN '{}';
    END IF;
    RETURN coalesce((
        SELECT array_agg(p.middle ORDER BY p.place)
        FROM (
            SELECT
                l2_normalize(e.embedding::vector)
                    + l2_normalize(lead(e.embedding::vector) OVER digests) AS middle,
                row_number() OVER digests AS place
            FROM pgblend._sampled_vectors(collection_ids, 2 * sample_size, sampled.name) AS e
            WINDOW digests AS (ORDER BY e.digest COLLATE "C", e.chunk_id)
        ) AS p
        WHERE p.place % 2 = 1 AND vector_norm(p.middle) > 0), '{}');
END;
$function$;

-- _sampled_vectors: vectors of a space that are none of zeros, at most so many, as texts: those
-- whose chunks' ids have the least digests.
CREATE OR REPLACE FUNCTION pgblend._sampled_vectors(
    collection_ids bigint[],
    most integer,
    space text
)
RETURNS TABLE (chunk_id bigint, digest text, embedding text)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 100
AS $function$
BEGIN
    -- Calls in text: none (a space's table).
    RETURN QUERY EXECUTE format(
        'SELECT s.chunk_id, md5(s.chunk_id::text), s.embedding::vector::text
        FROM pgblend_data.%I AS s
        WHERE s.collection_id = ANY($1) AND vector_norm(s.embedding::vector) > 0
        ORDER BY md5(s.chunk_id::text) COLLATE "C", s.chunk_id LIMIT $2',
        (pgblend._searched_space(space)).table_name)
    USING collection_ids, most;
END;
$function$;
