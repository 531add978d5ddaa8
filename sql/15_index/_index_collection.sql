-- _index_collection: seal or rebuild ('rebuild'), so that a failure changes nothing but is
-- remembered.
-- A failure becomes a WARNING and a row of lexical_failure, which an error would roll back; the
-- result is then NULL, and the old segments go on serving.
CREATE OR REPLACE FUNCTION pgblend._index_collection(
    collection_id bigint,
    action text,
    at_least integer
)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    chunk_count bigint;
BEGIN
    chunk_count := CASE action
        WHEN 'rebuild' THEN pgblend._rebuild_collection(_index_collection.collection_id)
        ELSE pgblend._seal_collection(_index_collection.collection_id, at_least) END;
    DELETE FROM pgblend_data.lexical_failure AS f
    WHERE f.collection_id = _index_collection.collection_id;
    RETURN chunk_count;
EXCEPTION
    WHEN lock_not_available THEN
        RAISE;
    WHEN OTHERS THEN
        PERFORM pgblend._note_failure(
            _index_collection.collection_id, format('%s (%s)', SQLERRM, SQLSTATE));
        RETURN NULL;
END;
$function$;
