-- _place_in_arm: a document's best passage in an arm's whole list: rank and score; NULL where the
-- arm does not find it at any depth.
-- The arm itself is run, to the depth of all passages that there are, without a deadline of its
-- own, and vectors are compared exactly: what an approximate index misses is found here. Operators
-- bind the vectors where words count, as in a search.
CREATE OR REPLACE FUNCTION pgblend._place_in_arm(
    arm text,
    document_id bigint,
    query text,
    query_embedding vector,
    space pgblend_data.embedding_space,
    collection_ids bigint[],
    filter jsonb,
    settings jsonb,
    OUT rank bigint,
    OUT score double precision
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    everything jsonb := settings || jsonb_build_object(
        'candidate_depth', (
            SELECT greatest(count(*), 1) FROM pgblend_data.chunk AS c
            WHERE c.collection_id = ANY(collection_ids)),
        'timeouts_ms', settings -> 'timeouts_ms' || '{"lexical": 600000}',
        'vector_scan', 'exact',
        'lexical_index', coalesce(settings ->> 'lexical_index', 'incomplete'));
    found record;
BEGIN
    CASE arm
        WHEN 'lexical' THEN
            found := pgblend._lexical_arm(query, collection_ids, filter, everything);
        WHEN 'fuzzy' THEN
            found := pgblend._fuzzy_arm(query, collection_ids, filter, everything);
        WHEN 'vector' THEN
            found := pgblend._vector_arm(
                query_embedding, space, collection_ids,
                CASE WHEN (settings #>> '{weights,lexical}')::double precision > 0 THEN query END,
                filter, everything);
    END CASE;
    SELECT u.place, u.score INTO _place_in_arm.rank, _place_in_arm.score
    FROM unnest(found.document_ids, found.scores) WITH ORDINALITY AS u (document_id, score, place)
    WHERE u.document_id = _place_in_arm.document_id
    ORDER BY u.place LIMIT 1;
END;
$function$;
