-- _lexical_score: BM25 of the chunks of one text search configuration that pass condition and
-- filter.
-- At most depth rows, best first, ties by (document, chunk index). Sealed or pending makes no
-- difference. `reading` is that of _lexical_statistics. deadline is on the monotonic clock
-- (_lexical_deadline): PB009 once it is over. Without numpy the tsvectors are scored.
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
BEGIN
    IF NOT pgblend._has_numpy() THEN
        RETURN QUERY SELECT s.* FROM pgblend._tsvector_score(
            collection_ids, config_name, lexemes, condition, idf, average_length, k1, b,
            field_weights, filter, depth) AS s;
        PERFORM pgblend._check_deadline(deadline);
        RETURN;
    END IF;
    RETURN QUERY SELECT u.* FROM pgblend._segment_score(
        collection_ids, config_name, lexemes, idf, average_length, k1, b,
        field_weights, depth, deadline, filter, condition, reading) AS s
    CROSS JOIN unnest(s.chunk_ids, s.document_ids, s.chunk_indexes, s.scores) AS u;
END;
$function$;
