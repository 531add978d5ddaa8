-- _query_embedding: the vector of a query in a space, NULL where there is none to be had.
-- A NULL space is the active one. No space, no gateway, no answer in time: all give NULL.
CREATE OR REPLACE FUNCTION pgblend._query_embedding(
    query text,
    timeout_ms integer,
    space text
)
RETURNS vector
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
DECLARE
    searched pgblend_data.embedding_space := pgblend._searched_space(space);
BEGIN
    IF searched.name IS NULL OR query IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN (blend.embed_text(ARRAY[query], searched.name, timeout_ms))[1];
EXCEPTION WHEN SQLSTATE 'PB008' THEN
    RETURN NULL;
END;
$function$;
