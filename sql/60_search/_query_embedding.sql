-- _query_embedding: the vector of a query in the active space, NULL where there is none to be had.
-- No space, no gateway, no answer in time: all give NULL.
CREATE OR REPLACE FUNCTION pgblend._query_embedding(query text, timeout_ms integer)
RETURNS vector
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    active pgblend_data.embedding_space := pgblend._active_space();
BEGIN
    IF active.name IS NULL OR query IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (pgblend.embed_text(ARRAY[query], active.name, timeout_ms))[1];
EXCEPTION WHEN SQLSTATE 'PB008' THEN
    RETURN NULL;
END;
$function$;

COMMENT ON FUNCTION pgblend._query_embedding(text, integer) IS
'The vector of a query in the active space, NULL where there is none to be had.';
