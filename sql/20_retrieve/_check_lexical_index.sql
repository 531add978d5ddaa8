-- _check_lexical_index: raise PB002 where a collection has chunks and no lexical index, and, when
-- strict, PB003 where there are no chunks at all.
CREATE OR REPLACE FUNCTION pgblend._check_lexical_index(
    collection_ids bigint[],
    is_strict boolean
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    missing text;
BEGIN
    SELECT c.name INTO missing
    FROM pgblend_data.collection AS c
    WHERE c.id = ANY(collection_ids)
        AND NOT EXISTS (SELECT FROM pgblend_data.segment AS s WHERE s.collection_id = c.id)
        AND NOT EXISTS (SELECT FROM pgblend_data.pending AS p WHERE p.collection_id = c.id)
        AND EXISTS (SELECT FROM pgblend_data.chunk AS h WHERE h.collection_id = c.id)
    ORDER BY c.name
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'collection "%" has no lexical index', missing
            USING ERRCODE = 'PB002', HINT = 'Make it: lexical_rebuild, or pgblend reindex --rebuild';
    ELSIF is_strict AND NOT EXISTS (
        SELECT FROM pgblend_data.chunk AS c WHERE c.collection_id = ANY(collection_ids))
    THEN
        RAISE EXCEPTION 'there are no chunks to search: the lexical index is empty'
            USING ERRCODE = 'PB003', HINT = 'Ingest documents first.';
    END IF;
END;
$function$;
