-- _create_embedding_table: the table of one embedding space, with its HNSW index and row security.
-- A binary space has halfvec in the table; its index holds the signs, one bit a dimension. A vector
-- that fits into a page stays in its row: to read it from beside the table takes twice as long.
CREATE OR REPLACE FUNCTION pgblend._create_embedding_table(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    extension_schema text := (
        SELECT e.extnamespace::regnamespace FROM pg_extension AS e WHERE e.extname = 'vector');
    made pgblend_data.embedding_space := pgblend._named_space(space);
BEGIN
    -- Calls in text: none (a space's table).
    EXECUTE format(
        $sql$
        CREATE TABLE pgblend_data.%1$I (
            chunk_id bigint PRIMARY KEY,
            document_id bigint NOT NULL,
            chunk_index integer NOT NULL,
            collection_id bigint NOT NULL,
            bucket smallint NOT NULL,
            embedding %2$s NOT NULL,
            CONSTRAINT %3$I FOREIGN KEY (chunk_id, document_id, collection_id)
            REFERENCES pgblend_data.chunk (id, document_id, collection_id) ON DELETE CASCADE
        );
        COMMENT ON TABLE pgblend_data.%1$I IS
        'Vectors of one embedding space; made by blend.create_embedding_space.';
        CREATE INDEX %4$I ON pgblend_data.%1$I USING btree (collection_id);
        CREATE POLICY %5$I ON pgblend_data.%1$I FOR SELECT USING (
            collection_id IN (SELECT c.id FROM pgblend_data.collection AS c));
        CREATE POLICY %6$I ON pgblend_data.%1$I USING (
            collection_id IN (
                SELECT g.collection_id FROM pgblend_data.collection_grant AS g
                WHERE g.privilege = 'write'));
        CREATE POLICY %7$I ON pgblend_data.%1$I
        USING ((SELECT pg_has_role('pgblend_admin', 'USAGE')));
        CREATE POLICY %8$I ON pgblend_data.%1$I AS RESTRICTIVE USING (true) WITH CHECK (
            (document_id, collection_id) = (
                SELECT c.document_id, c.collection_id FROM pgblend_data.chunk AS c
                WHERE c.id = chunk_id));
        ALTER TABLE pgblend_data.%1$I ENABLE ROW LEVEL SECURITY;
        GRANT SELECT ON pgblend_data.%1$I TO pgblend_reader;
        GRANT INSERT, UPDATE, DELETE ON pgblend_data.%1$I TO pgblend_writer;
        $sql$,
        made.table_name, format('%s.%s', extension_schema, made.vector_type),
        made.table_name || '_chunk_fkey',
        made.table_name || '_collection_id_btree',
        made.table_name || '_read', made.table_name || '_write', made.table_name || '_admin',
        made.table_name || '_own');
    IF made.dimensions <= 4000 THEN  -- so many halves and, at most, 2000 whole numbers fit
        EXECUTE format(
            'ALTER TABLE pgblend_data.%I ALTER COLUMN embedding SET STORAGE PLAIN',
            made.table_name);
    END IF;
    PERFORM blend.index_embedding_space(space);
END;
$function$;

-- _keep_space: register an embedding space, and make its table.
-- One after the other: a second space of the name is told so, and two do not wait for each other.
-- Runs with its owner's rights, since nobody else writes what names tables, and the tables belong
-- to whoever owns the others. Only admins may call it.
CREATE OR REPLACE FUNCTION pgblend._keep_space(
    name text,
    model text,
    dimensions integer,
    storage text,
    active boolean,
    brings_vectors boolean,
    asked_dimensions integer,
    asks_model boolean
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SECURITY DEFINER
AS $function$
BEGIN
    LOCK TABLE pgblend_data.embedding_space IN SHARE ROW EXCLUSIVE MODE;
    PERFORM pgblend._check_space(name, model, dimensions, storage);
    IF active THEN
        UPDATE pgblend_data.embedding_space AS s SET active = false WHERE s.active;
    END IF;
    INSERT INTO pgblend_data.embedding_space (
        name, model, dimensions, storage, active, table_name, brings_vectors, asked_dimensions,
        asks_model)
    VALUES (
        name, model, dimensions, storage, _keep_space.active, 'embedding_' || name,
        _keep_space.brings_vectors, _keep_space.asked_dimensions, _keep_space.asks_model);
    -- From here on no other session writes chunks (the table refers to them), so none is missed.
    PERFORM pgblend._create_embedding_table(name);
END;
$function$;
