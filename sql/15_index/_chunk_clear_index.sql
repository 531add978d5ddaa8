-- _chunk_clear_index: trigger that empties the lexical index when the chunks are truncated.
CREATE OR REPLACE FUNCTION pgblend._chunk_clear_index()
RETURNS trigger
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    TRUNCATE pgblend_data.pending, pgblend_data.segment, pgblend_data.posting,
        pgblend_data.tombstone, pgblend_data.vocabulary;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE TRIGGER chunk_60_clear_index AFTER TRUNCATE ON pgblend_data.chunk
FOR EACH STATEMENT EXECUTE FUNCTION pgblend._chunk_clear_index();
