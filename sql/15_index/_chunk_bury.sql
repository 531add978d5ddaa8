-- _chunk_bury: trigger that takes deleted chunks out of the lexical index.
-- Those not sealed yet leave pending; a seal that holds one is waited for, and then the chunk is in
-- a segment, where a tombstone hides it.
-- Runs with its owner's rights: writers have none on the index. The rows are the statement's own.
CREATE OR REPLACE FUNCTION pgblend._chunk_bury()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    WITH unsealed AS (
        DELETE FROM pgblend_data.pending AS p
        USING old_chunk AS c
        WHERE p.chunk_id = c.id
        RETURNING p.chunk_id
    )
    INSERT INTO pgblend_data.tombstone (chunk_id, collection_id, text_search_config)
    SELECT c.id, c.collection_id, c.text_search_config
    FROM old_chunk AS c
    WHERE c.id NOT IN (SELECT u.chunk_id FROM unsealed AS u);
    RETURN NULL;
END;
$function$;
