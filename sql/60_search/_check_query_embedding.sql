-- _check_query_embedding: raise for a query's vector that cannot be compared in a space.
-- NULL is right: then the query is embedded.
CREATE OR REPLACE FUNCTION pgblend._check_query_embedding(
    query_embedding vector,
    space pgblend_data.embedding_space
)
RETURNS void
LANGUAGE plpgsql
IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    IF query_embedding IS NULL THEN
        RETURN;
    ELSIF vector_dims(query_embedding) <> space.dimensions THEN
        RAISE EXCEPTION 'query_embedding has % dimensions, embedding space "%" holds %',
            vector_dims(query_embedding), space.name, space.dimensions
            USING ERRCODE = '22023',
            HINT = format('Embed the query with the model "%s".', space.model);
    ELSIF vector_norm(query_embedding) = 0 THEN
        RAISE EXCEPTION 'query_embedding is the zero vector, which has no direction'
            USING ERRCODE = '22023', HINT = 'Leave it NULL to have the query embedded.';
    END IF;
END;
$function$;
