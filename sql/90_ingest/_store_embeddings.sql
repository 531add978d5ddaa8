-- _store_embeddings: move vectors from the temporary table embedding_stage (chunk_id, embedding) to
-- a space.
-- The client fills the stage by COPY. Chunks deleted meanwhile are left out; their queue rows went
-- with them. A vector of the wrong size and NULL are errors, and nothing is stored. Returns the
-- number stored.
CREATE OR REPLACE FUNCTION pgblend._store_embeddings(space text)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    target pgblend_data.embedding_space;
    wrong integer;
    stored bigint;
BEGIN
    SELECT s.* INTO target FROM pgblend_data.embedding_space AS s
    WHERE s.name = _store_embeddings.space;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(_store_embeddings.space, 200)
            USING ERRCODE = '22023', HINT = 'SELECT name FROM pgblend.embedding_spaces';
    END IF;
    EXECUTE 'SELECT coalesce(vector_dims(embedding), 0) FROM pg_temp.embedding_stage
        WHERE coalesce(vector_dims(embedding), 0) <> $1 LIMIT 1' INTO wrong USING target.dimensions;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'a vector has % dimensions, embedding space "%" holds %',
            wrong, target.name, target.dimensions
            USING ERRCODE = '22023',
            HINT = format('Its model is "%s"; make another space for another model.', target.model);
    END IF;
    EXECUTE format(
        'INSERT INTO pgblend_data.%1$I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, s.embedding
        FROM pg_temp.embedding_stage AS s
        INNER JOIN pgblend_data.chunk AS c ON c.id = s.chunk_id
        ON CONFLICT (chunk_id) DO NOTHING', target.table_name);
    GET DIAGNOSTICS stored = ROW_COUNT;
    EXECUTE 'DELETE FROM pgblend_data.embedding_queue AS q
        USING pg_temp.embedding_stage AS s
        WHERE q.space = $1 AND q.chunk_id = s.chunk_id' USING target.name;
    RETURN stored;
END;
$function$;

COMMENT ON FUNCTION pgblend._store_embeddings(text) IS
'Move vectors from the temporary table embedding_stage (chunk_id, embedding), which the client '
'filled by COPY, to a space; returns the number stored.';
