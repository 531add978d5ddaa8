-- _create_embedding_table: the table of one embedding space, with its HNSW index and row security.
-- A binary space has halfvec in the table; its index holds the signs, one bit a dimension. By
-- pgvector's own ef_construction (64) walks get lost where texts are of several kinds. Runs
-- with its owner's rights: the tables belong to whoever owns the others. Only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._create_embedding_table(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
    made pgblend_data.embedding_space;
    table_name name;
BEGIN
    SELECT s.* INTO made FROM pgblend_data.embedding_space AS s WHERE s.name = space;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no embedding space "%"', left(space, 200)
            USING ERRCODE = '22023', HINT = 'Call blend.create_embedding_space.';
    END IF;
    table_name := made.table_name;
    EXECUTE format(
        'CREATE TABLE pgblend_data.%1$I (
            chunk_id bigint PRIMARY KEY,
            document_id bigint NOT NULL,
            chunk_index integer NOT NULL,
            collection_id bigint NOT NULL,
            bucket smallint NOT NULL,
            embedding %2$s.%3$s NOT NULL,
            CONSTRAINT %4$I FOREIGN KEY (chunk_id, document_id, collection_id)
            REFERENCES pgblend_data.chunk (id, document_id, collection_id) ON DELETE CASCADE
        )', table_name, extension_schema, made.vector_type, table_name || '_chunk_fkey');
    EXECUTE format(
        'CREATE INDEX %2$I ON pgblend_data.%1$I USING hnsw (%4$s) WITH (ef_construction = 200)',
        table_name, table_name || '_embedding_hnsw', extension_schema,
        CASE made.storage
            WHEN 'binary' THEN format(
                '(%1$s.binary_quantize(embedding)::bit(%2$s)) %1$s.bit_hamming_ops',
                extension_schema, made.dimensions)
            ELSE format('embedding %s.%s_cosine_ops', extension_schema, made.storage) END);
    EXECUTE format(
        'CREATE INDEX %2$I ON pgblend_data.%1$I USING btree (collection_id)',
        table_name, table_name || '_collection_id_btree');
    EXECUTE format(
        'COMMENT ON TABLE pgblend_data.%1$I IS %2$L', table_name,
        'Vectors of one embedding space; made by blend.create_embedding_space.');
    EXECUTE format(
        'CREATE POLICY %2$I ON pgblend_data.%1$I FOR SELECT USING (
            collection_id IN (SELECT c.id FROM pgblend_data.collection AS c))',
        table_name, table_name || '_read');
    EXECUTE format(
        'CREATE POLICY %2$I ON pgblend_data.%1$I USING (
            collection_id IN (
                SELECT g.collection_id FROM pgblend_data.collection_grant AS g
                WHERE g.privilege = ''write''))',
        table_name, table_name || '_write');
    EXECUTE format(
        'CREATE POLICY %2$I ON pgblend_data.%1$I
        USING ((SELECT pg_has_role(''pgblend_admin'', ''USAGE'')))',
        table_name, table_name || '_admin');
    EXECUTE format(
        'CREATE POLICY %2$I ON pgblend_data.%1$I AS RESTRICTIVE USING (true) WITH CHECK (
            (document_id, collection_id) = (
                SELECT c.document_id, c.collection_id FROM pgblend_data.chunk AS c
                WHERE c.id = chunk_id))',
        table_name, table_name || '_own');
    EXECUTE format('ALTER TABLE pgblend_data.%1$I ENABLE ROW LEVEL SECURITY', table_name);
    EXECUTE format('GRANT SELECT ON pgblend_data.%1$I TO pgblend_reader', table_name);
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON pgblend_data.%1$I TO pgblend_writer', table_name);
END;
$function$;
