-- chunk_embeddings: the stored vectors of chunks, in an embedding space; NULL is the active one.
-- A chunk without a vector, or that the caller may not see, gives no row; NULL and a database
-- without a space give none. A space that is not there is an error.
CREATE OR REPLACE FUNCTION blend.chunk_embeddings(
    chunk_ids bigint[],
    space text DEFAULT NULL
)
RETURNS TABLE (chunk_id bigint, embedding vector)
LANGUAGE plpgsql
STABLE PARALLEL SAFE
ROWS 50
AS $function$
DECLARE
    target pgblend_data.embedding_space;
BEGIN
    PERFORM pgblend._check_size('chunk_ids', cardinality(chunk_ids), 'items', 'array_items');
    SELECT s.* INTO target FROM pgblend_data.embedding_space AS s
    WHERE CASE WHEN space IS NULL THEN s.active ELSE s.name = space END;
    IF NOT FOUND AND space IS NOT NULL THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(space, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM blend.embedding_spaces';
    ELSIF NOT FOUND THEN
        RETURN;
    END IF;
    -- Calls in text: none (a space's table).
    RETURN QUERY EXECUTE format(
        'SELECT e.chunk_id, e.embedding::vector FROM pgblend_data.%I AS e
        WHERE e.chunk_id = ANY($1)', target.table_name)
    USING chunk_ids;
END;
$function$;
