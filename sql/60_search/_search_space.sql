-- _search_space: the embedding space that a search looks in, and what it is without.
-- Where there is no space, or no passage searched has a vector, `is_required` makes it an error
-- (PB001); otherwise it is noted in `degraded` with a WARNING, and strict makes it an error.
-- Passages that still wait for their vectors are noted alone. A given vector of the wrong size, or
-- the zero vector, is the caller's mistake and raises.
CREATE OR REPLACE FUNCTION pgblend._search_space(
    query_embedding vector,
    collection_ids bigint[],
    settings jsonb,
    is_required boolean,
    OUT space text,
    OUT degraded text[]
)
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    active pgblend_data.embedding_space := pgblend._hold_space(settings ->> 'space');
    problem CONSTANT text := 'no embedding space yet';
    hint CONSTANT text := 'pgblend ingest makes and fills one where a model gateway runs';
BEGIN
    space := active.name;
    degraded := '{}';
    IF space IS NOT NULL THEN
        PERFORM pgblend._check_query_embedding(query_embedding, active);
        IF is_required AND NOT pgblend._has_vectors(active, collection_ids) THEN
            RAISE EXCEPTION 'VECTORS_UNAVAILABLE: no passage searched has a vector'
                USING ERRCODE = 'PB001',
                HINT = 'Run pgblend ingest with a model gateway to make them.';
        ELSIF pgblend._vectors_waiting(space, collection_ids) THEN
            degraded := ARRAY[
                'vector: some passages have no vector yet (pgblend ingest makes them)'];
        END IF;
    ELSIF is_required THEN
        RAISE EXCEPTION 'VECTORS_UNAVAILABLE: %', problem
            USING ERRCODE = 'PB001', HINT = hint || E'.\nlexical_search needs no vectors.';
    ELSE
        degraded := pgblend._degrade('vector', problem, 'PB001', hint, settings);
    END IF;
END;
$function$;
