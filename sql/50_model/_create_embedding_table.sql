-- _create_embedding_table: the table of one embedding space, with its HNSW index and row security.
-- Runs with its owner's rights: the tables belong to whoever owns the others. Only admins may call
-- it.
CREATE OR REPLACE FUNCTION pgblend._create_embedding_table(
    table_name name,
    storage text,
    dimensions integer
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
BEGIN
    IF NOT EXISTS (
        SELECT FROM pgblend_data.embedding_space AS s
        WHERE (s.table_name, s.storage, s.dimensions)
            = (_create_embedding_table.table_name, _create_embedding_table.storage,
                _create_embedding_table.dimensions))
    THEN
        RAISE EXCEPTION 'there is no embedding space with the table "%"', table_name
            USING ERRCODE = '22023', HINT = 'Call pgblend.create_embedding_space.';
    END IF;
    EXECUTE format(
        'CREATE TABLE pgblend_data.%1$I (
            chunk_id bigint PRIMARY KEY REFERENCES pgblend_data.chunk (id) ON DELETE CASCADE,
            document_id bigint NOT NULL,
            chunk_index integer NOT NULL,
            collection_id bigint NOT NULL,
            bucket smallint NOT NULL,
            embedding %2$s.%3$I(%4$s) NOT NULL
        )', table_name, extension_schema, storage, dimensions);
    EXECUTE format(
        'CREATE INDEX %2$I ON pgblend_data.%1$I USING hnsw (embedding %3$s.%4$I)',
        table_name, table_name || '_embedding_hnsw', extension_schema, storage || '_cosine_ops');
    EXECUTE format(
        'CREATE INDEX %2$I ON pgblend_data.%1$I USING btree (collection_id)',
        table_name, table_name || '_collection_id_btree');
    EXECUTE format(
        'COMMENT ON TABLE pgblend_data.%1$I IS %2$L', table_name,
        'Vectors of one embedding space; made by pgblend.create_embedding_space.');
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
    EXECUTE format('ALTER TABLE pgblend_data.%1$I ENABLE ROW LEVEL SECURITY', table_name);
    EXECUTE format('GRANT SELECT ON pgblend_data.%1$I TO pgblend_reader', table_name);
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON pgblend_data.%1$I TO pgblend_writer', table_name);
END;
$function$;

COMMENT ON FUNCTION pgblend._create_embedding_table(name, text, integer) IS
'The table of one embedding space, with its HNSW index, row security and grants.';
