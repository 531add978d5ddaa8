-- create_embedding_space: register a model's vectors: a table, an HNSW index and a queue of all
-- chunks.
-- An active space takes the place of the one that was. A name in use, a wrong name, storage or
-- number of dimensions is an error: an HNSW index takes 2000 dimensions of vector and 4000 of
-- halfvec. NULL for active means true.
CREATE OR REPLACE FUNCTION pgblend.create_embedding_space(
    name text,
    model text,
    dimensions integer,
    storage text DEFAULT 'vector',
    active boolean DEFAULT true
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
DECLARE
    table_name name := 'embedding_' || create_embedding_space.name;
    most integer := CASE create_embedding_space.storage
        WHEN 'vector' THEN 2000 WHEN 'halfvec' THEN 4000 END;
BEGIN
    IF create_embedding_space.name IS NULL
        OR create_embedding_space.name !~ '^[a-z][a-z0-9_]{0,31}$'
        OR create_embedding_space.name IN ('queue', 'space')
    THEN
        RAISE EXCEPTION 'space name is %: expected lower-case letters, digits and _, at most 32',
            coalesce(quote_literal(left(create_embedding_space.name, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: minilm (queue and space are taken)';
    ELSIF coalesce(btrim(create_embedding_space.model), '') = '' THEN
        RAISE EXCEPTION 'model is empty: expected a model name that the gateway knows'
            USING ERRCODE = '22023', HINT = 'For example: local/all-minilm-l6-v2';
    ELSIF most IS NULL THEN
        RAISE EXCEPTION 'storage is %: expected vector or halfvec',
            coalesce(quote_literal(left(create_embedding_space.storage, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'halfvec takes half the space.';
    ELSIF create_embedding_space.dimensions IS NULL
        OR create_embedding_space.dimensions NOT BETWEEN 1 AND most
    THEN
        RAISE EXCEPTION 'dimensions is %: expected 1 to % for storage %',
            coalesce(create_embedding_space.dimensions::text, 'NULL'), most,
            create_embedding_space.storage
            USING ERRCODE = '22023', HINT = 'halfvec takes up to 4000.';
    ELSIF EXISTS (
        SELECT FROM pgblend_data.embedding_space AS s WHERE s.name = create_embedding_space.name)
    THEN
        RAISE EXCEPTION 'there is an embedding space "%" already', create_embedding_space.name
            USING ERRCODE = '42710', HINT = 'SELECT * FROM pgblend.embedding_spaces';
    END IF;
    IF coalesce(create_embedding_space.active, true) THEN
        UPDATE pgblend_data.embedding_space AS s SET active = false WHERE s.active;
    END IF;
    INSERT INTO pgblend_data.embedding_space (name, model, dimensions, storage, active, table_name)
    VALUES (
        create_embedding_space.name, create_embedding_space.model,
        create_embedding_space.dimensions, create_embedding_space.storage,
        coalesce(create_embedding_space.active, true), table_name);
    PERFORM pgblend._create_embedding_table(
        table_name, create_embedding_space.storage, create_embedding_space.dimensions);
    INSERT INTO pgblend_data.embedding_queue (space, chunk_id, document_id, collection_id, bucket)
    SELECT create_embedding_space.name, c.id, c.document_id, c.collection_id, c.bucket
    FROM pgblend_data.chunk AS c;
    PERFORM pgblend._wake_workers();
END;
$function$;

COMMENT ON FUNCTION pgblend.create_embedding_space(text, text, integer, text, boolean) IS
'Register a model''s vectors: a table, an HNSW index and a queue of all chunks; an active space '
'takes the place of the one that was. For members of pgblend_admin.';
