-- _lexical_score: BM25 of the chunks of one text search configuration that pass condition and
-- filter.
-- Candidates come from the segments; phrases, exclusions and filters are checked on them by their
-- ids, at each turn as many as the share that passed calls for (at least four times as many), until
-- depth rows pass or no candidates are left. Where few of them pass a filter, and at most 10,000
-- chunks do, these chunks alone are scored. At most depth rows, best first, ties by (document,
-- chunk index). `reading` is that of _lexical_statistics. deadline is on the monotonic clock
-- (_monotonic_deadline): PB009 once it is over. Without numpy the tsvectors are scored.
CREATE OR REPLACE FUNCTION pgblend._lexical_score(
    collection_ids bigint[],
    config_name text,
    lexemes text[],
    condition tsquery,
    idf double precision[],
    average_length double precision,
    k1 double precision,
    b double precision,
    field_weights double precision[],
    filter jsonb,
    depth integer,
    deadline double precision DEFAULT 'infinity',
    reading uuid DEFAULT NULL
)
RETURNS TABLE (
    chunk_id bigint,
    document_id bigint,
    chunk_index integer,
    score double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
ROWS 100
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $function$
#variable_conflict use_column
DECLARE
    wanted integer := depth;
    candidates_each bigint := 0;  -- candidates to one that passes
    unchecked jsonb := filter;
    looked_up boolean := false;
    allowed bigint[];  -- where few chunks pass the filter
    best record;
    passing bigint[];
    passed record;
BEGIN
    IF NOT pgblend._has_numpy() THEN
        RETURN QUERY SELECT s.* FROM pgblend._tsvector_score(
            collection_ids, config_name, lexemes, condition, idf, average_length, k1, b,
            field_weights, filter, depth) AS s;
        PERFORM pgblend._check_deadline(deadline);
        RETURN;
    ELSIF condition IS NULL AND filter IS NULL THEN
        RETURN QUERY SELECT u.* FROM pgblend._segment_score(
            collection_ids, config_name, lexemes, idf, average_length, k1, b,
            field_weights, depth, deadline, NULL, reading) AS s
        CROSS JOIN unnest(s.chunk_ids, s.document_ids, s.chunk_indexes, s.scores) AS u;
        RETURN;
    END IF;
    LOOP
        wanted := least(greatest(4 * wanted::bigint, 3 * depth * candidates_each), 2147483647)::integer;
        best := pgblend._segment_score(
            collection_ids, config_name, lexemes, idf, average_length, k1, b,
            field_weights, wanted, deadline, allowed, reading);
        passing := CASE
            WHEN unchecked IS NULL THEN best.chunk_ids
            ELSE pgblend._filter_candidates(best.chunk_ids, unchecked) END;
        SELECT
            cardinality(best.chunk_ids) AS found,
            count(*) AS count,
            array_agg(u.chunk_id ORDER BY u.place) AS chunk_ids,
            array_agg(u.document_id ORDER BY u.place) AS document_ids,
            array_agg(u.chunk_index ORDER BY u.place) AS chunk_indexes,
            array_agg(u.score ORDER BY u.place) AS scores
        INTO passed
        FROM unnest(best.chunk_ids, best.document_ids, best.chunk_indexes, best.scores)
            WITH ORDINALITY AS u (chunk_id, document_id, chunk_index, score, place)
        WHERE (u.chunk_id IN (SELECT p.id FROM unnest(passing) AS p (id))) IS TRUE  -- hashed
            AND (condition IS NULL OR (
                SELECT c.lexemes @@ condition
                FROM pgblend_data.chunk AS c WHERE c.id = u.chunk_id));
        EXIT WHEN passed.count >= depth OR passed.found < wanted;
        candidates_each := passed.found / greatest(passed.count, 1);
        IF candidates_each > 20 AND unchecked IS NOT NULL AND NOT looked_up THEN
            looked_up := true;
            allowed := pgblend._filter_chunks(filter, collection_ids, 10000);
            IF allowed IS NOT NULL THEN
                unchecked := NULL;
                candidates_each := 0;
                wanted := depth;
            END IF;
        END IF;
    END LOOP;
    RETURN QUERY
    SELECT p.*
    FROM unnest(passed.chunk_ids, passed.document_ids, passed.chunk_indexes, passed.scores) AS p
    LIMIT depth;
END;
$function$;

COMMENT ON FUNCTION pgblend._lexical_score(
    bigint[], text, text[], tsquery, double precision[],
    double precision, double precision, double precision, double precision[], jsonb, integer,
    double precision, uuid
) IS
'BM25 of the chunks of one text search configuration that pass condition and filter; at most depth '
'rows, best first, ties by (document, chunk index).';
