-- _search_vector: the space and the vector that a search looks with, and what it is without.
-- The vector is the caller's, else the gateway's. Where there is none, or no passage searched has
-- one, `is_required` makes it an error (PB001, or PB008 where the gateway fails); otherwise it is
-- noted in `degraded` with a WARNING, and strict makes it an error. Passages that still wait for
-- their vectors are noted alone.
CREATE OR REPLACE FUNCTION pgblend._search_vector(
    query text,
    query_embedding vector,
    collection_ids bigint[],
    settings jsonb,
    is_required boolean,
    OUT space text,
    OUT embedding vector,
    OUT degraded text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    active pgblend_data.embedding_space := pgblend._active_space();
    embedded record;
BEGIN
    embedded := pgblend._query_embedding(
        query, query_embedding, active,
        least((settings #>> '{timeouts_ms,embed}')::numeric,
            (settings #>> '{timeouts_ms,total}')::numeric)::integer);
    space := active.name;
    embedding := embedded.embedding;
    IF embedded.problem IS NULL THEN
        IF is_required AND NOT pgblend._has_vectors(active, collection_ids) THEN
            RAISE EXCEPTION 'VECTORS_UNAVAILABLE: no passage searched has a vector'
                USING ERRCODE = 'PB001',
                HINT = 'Run pgblend ingest with a model gateway to make them.';
        END IF;
        degraded := CASE WHEN pgblend._vectors_waiting(active.name, collection_ids)
            THEN ARRAY['vector: some passages have no vector yet (pgblend ingest makes them)']
            ELSE '{}' END;
    ELSIF is_required THEN
        RAISE EXCEPTION 'VECTORS_UNAVAILABLE: %', embedded.problem
            USING ERRCODE = embedded.problem_code,
            HINT = concat(embedded.hint, '; lexical_search needs no vectors');
    ELSE
        degraded := pgblend._degrade(
            'vector', embedded.problem, embedded.problem_code, embedded.hint, settings);
    END IF;
END;
$function$;

COMMENT ON FUNCTION pgblend._search_vector(text, vector, bigint[], jsonb, boolean) IS
'The embedding space and the query''s vector that a search looks with; what it has to do without '
'is noted in degraded, or an error where it is required.';
