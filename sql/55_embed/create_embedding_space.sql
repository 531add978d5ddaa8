-- create_embedding_space: register a model's vectors: make a table, an HNSW index and a queue of
-- all chunks; returns the dimensions.
-- The model gives one vector through the gateway, and its beginning is kept to know the model
-- again. Where dimensions are given and it gives others by itself, it is asked for so many from
-- then on, as models with vectors that may be shortened allow; a model that gives others is an
-- error. probe => false asks nothing now, and dimensions must be given. So must they with
-- brings_vectors: callers store the vectors and give query_embedding, no model is ever asked, and
-- no chunk waits. A new active space takes the place of the old one. storage auto is the first of
-- vector, halfvec and binary that has room for the dimensions, and whose index of the chunks there
-- are the server's memory holds; binary indexes one bit a dimension and re-scores by the stored
-- halfvec. A name in use, a wrong name, storage or number of dimensions, and a gateway that fails
-- are errors. NULL for active and probe means true, for brings_vectors false. For members of
-- pgblend_admin.
CREATE OR REPLACE FUNCTION blend.create_embedding_space(
    name text,
    model text,
    dimensions integer DEFAULT NULL,
    storage text DEFAULT 'auto',
    active boolean DEFAULT true,
    probe boolean DEFAULT true,
    brings_vectors boolean DEFAULT false
)
RETURNS integer
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    probed real[];
    asked integer;
    advice text;
BEGIN
    PERFORM pgblend._check_space(name, model, dimensions, storage);
    IF coalesce(probe, true) AND NOT coalesce(brings_vectors, false) THEN
        BEGIN  -- a gateway just started loads its model first, hence so long
            probed := pgblend._probe_model(model, 60000);
            IF dimensions <> cardinality(probed) THEN
                asked := dimensions;
                probed := pgblend._probe_model(model, 60000, dimensions);
            END IF;
        EXCEPTION WHEN SQLSTATE 'PB008' THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            RAISE EXCEPTION '%', SQLERRM USING ERRCODE = 'PB008', HINT = concat_ws(
                E'\n', advice, 'Without asking: give dimensions and probe => false, or '
                    'brings_vectors => true where you bring the vectors.');
        END;
        dimensions := coalesce(dimensions, cardinality(probed));
        PERFORM pgblend._check_space(name, model, dimensions, storage);
    ELSIF dimensions IS NULL THEN
        RAISE EXCEPTION 'dimensions is NULL: expected a number where the model is not asked'
            USING ERRCODE = '22023', HINT = 'Give it, or leave probe out to have the model say it.';
    END IF;
    IF storage = 'auto' THEN
        SELECT s.storage INTO storage
        FROM pgblend._storages(pgblend._most_chunks(), dimensions) AS s
        WHERE s.fits ORDER BY s.most_dimensions LIMIT 1;
    END IF;
    PERFORM pgblend._keep_space(
        name, model, dimensions, storage, coalesce(active, true),
        coalesce(brings_vectors, false), asked, NOT coalesce(brings_vectors, false));
    PERFORM pgblend._note_probe(name, probed);
    IF NOT coalesce(brings_vectors, false) THEN
        PERFORM pgblend._queue_all(name);
    END IF;
    RETURN dimensions;
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

-- _check_space: raise unless an embedding space can be made like this.
-- What an HNSW index takes is the limit: 2000 dimensions of vector and 4000 of halfvec; binary
-- spaces store halfvec, which takes 16000, and so does auto. NULL dimensions are right where the
-- model is asked.
CREATE OR REPLACE FUNCTION pgblend._check_space(
    name text,
    model text,
    dimensions integer,
    storage text
)
RETURNS void
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
DECLARE
    most integer := (
        SELECT max(s.most_dimensions) FROM pgblend._storages(0, 1) AS s
        WHERE _check_space.storage IN (s.storage, 'auto'));
BEGIN
    IF name IS NULL OR name !~ '^[a-z][a-z0-9_]{0,31}$'
        OR name IN ('allowance', 'queue', 'space', 'worker')
    THEN
        RAISE EXCEPTION 'space name is %: expected lower-case letters, digits and _, at most 32',
            coalesce(quote_literal(left(name, 200)), 'NULL')
            USING ERRCODE = '22023', HINT = 'For example: minilm (allowance, queue, space and worker are taken)';
    ELSIF coalesce(btrim(model), '') = '' THEN
        RAISE EXCEPTION 'model is empty: expected a model name that the gateway knows'
            USING ERRCODE = '22023', HINT = 'For example: local/all-minilm-l6-v2';
    ELSIF most IS NULL THEN
        RAISE EXCEPTION 'storage is %: expected auto, vector, halfvec or binary',
            coalesce(quote_literal(left(storage, 200)), 'NULL')
            USING ERRCODE = '22023',
            HINT = 'halfvec takes half the space; binary has a small index beside it.';
    ELSIF dimensions IS NOT NULL AND dimensions NOT BETWEEN 1 AND most THEN
        RAISE EXCEPTION 'dimensions is %: expected 1 to % for storage %',
            dimensions, most, storage
            USING ERRCODE = '22023', HINT = 'halfvec takes up to 4000, binary up to 16000.';
    ELSIF EXISTS (SELECT FROM pgblend_data.embedding_space AS s WHERE s.name = _check_space.name)
    THEN
        RAISE EXCEPTION 'there is an embedding space "%" already', name
            USING ERRCODE = '42710', HINT = 'SELECT * FROM blend.embedding_spaces';
    END IF;
END;
$function$;

-- _storages: what an embedding space of so many chunks takes in each storage, the quickest to
-- search first (by most_dimensions): bytes of its table and of its indexes, bytes of memory and
-- seconds of one process to build the HNSW index; fits where "auto" may choose it.
-- Sizes follow from the pages of pgvector 0.8 (m = 16). Memory and seconds were measured
-- (tests/benchmarks/NOTES.md). A storage fits where it has room for the dimensions, and the
-- index of vector in half of shared_buffers, of halfvec in half of effective_cache_size.
-- dimensions beyond most_dimensions get figures all the same; NULL gives NULL.
CREATE OR REPLACE FUNCTION pgblend._storages(chunks bigint, dimensions integer)
RETURNS TABLE (
    storage text,
    most_dimensions integer,
    table_bytes bigint,
    index_bytes bigint,
    build_bytes bigint,
    build_seconds double precision,
    fits boolean
)
LANGUAGE sql
STABLE PARALLEL SAFE
ROWS 3
BEGIN ATOMIC
    WITH vectors AS (
        SELECT
            s.*,
            8 + s.stored_bytes * dimensions AS stored,
            8 + ceil(s.indexed_bytes * dimensions) AS indexed
        FROM (VALUES
            ('vector', 2000, 4, 4, 3e-4, 1.15e-6,
                pg_size_bytes(current_setting('shared_buffers')) / 2),
            ('halfvec', 4000, 2, 2, 3e-4, 8.5e-7,
                pg_size_bytes(current_setting('effective_cache_size')) / 2),
            ('binary', 16000, 2, 0.125, 4.5e-4, 0, NULL)
        ) AS s (
            storage, most_dimensions, stored_bytes, indexed_bytes, seconds, dimension_seconds,
            memory)
    ),

    figures AS (
        SELECT
            v.*,
            -- Rows of a page of 8160 bytes; a vector that fits into none lies outside, in pieces.
            chunks * (CASE
                WHEN v.stored > 8008 THEN 84 + 1.04 * v.stored
                ELSE 8192 / floor(8160.0 / (60 + v.stored)) END) AS table_bytes,
            chunks * (29 + 8192 / greatest(floor(8160 / (280 + v.indexed)), 1)) AS index_bytes
        FROM vectors AS v
    )

    SELECT
        f.storage,
        f.most_dimensions,
        f.table_bytes::bigint,
        f.index_bytes::bigint,
        (chunks * (772 + f.indexed))::bigint AS build_bytes,
        -- Of 8,000 vectors; longer with the logarithm of their number.
        chunks * (f.seconds + f.dimension_seconds * dimensions)::double precision
        * (1 + 0.27 * ln(greatest(chunks / 8000.0, 1)))::double precision AS build_seconds,
        dimensions <= f.most_dimensions AND coalesce(f.index_bytes <= f.memory, true) AS fits
    FROM figures AS f
    ORDER BY f.most_dimensions;
END;

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
        CREATE POLICY %5$I ON pgblend_data.%1$I FOR SELECT USING (%9$s);
        CREATE POLICY %6$I ON pgblend_data.%1$I FOR INSERT WITH CHECK (%10$s);
        CREATE POLICY %11$I ON pgblend_data.%1$I FOR UPDATE USING (%10$s);
        CREATE POLICY %12$I ON pgblend_data.%1$I FOR DELETE USING (%10$s);
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
        made.table_name || '_read', made.table_name || '_insert', made.table_name || '_admin',
        made.table_name || '_own',
        -- As chunks are read, and written.
        (SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_catalog.pg_policy AS p
        WHERE p.polrelid = 'pgblend_data.chunk'::regclass AND p.polname = 'chunk_read'),
        (SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_catalog.pg_policy AS p
        WHERE p.polrelid = 'pgblend_data.chunk'::regclass AND p.polname = 'chunk_update'),
        made.table_name || '_update', made.table_name || '_delete');
    IF made.dimensions <= 4000 THEN  -- so many halves and, at most, 2000 whole numbers fit
        EXECUTE format(
            'ALTER TABLE pgblend_data.%I ALTER COLUMN embedding SET STORAGE PLAIN',
            made.table_name);
    END IF;
    PERFORM blend.index_embedding_space(space);
END;
$function$;

-- _named_space: the embedding space of that name; an error where there is none. NULL names none.
CREATE OR REPLACE FUNCTION pgblend._named_space(space text)
RETURNS pgblend_data.embedding_space
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN pgblend._searched_space(coalesce(space, ''));

-- _most_chunks: how many chunks the database has that has the most of them: this one.
CREATE OR REPLACE FUNCTION pgblend._most_chunks()
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
RETURN (SELECT count(*) FROM pgblend_data.chunk);

-- _queue_all: queue all chunks for a new space, and wake the workers.
CREATE OR REPLACE FUNCTION pgblend._queue_all(space text)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM blend.queue_missing_vectors(space);
    PERFORM pgblend._wake_workers();
END;
$function$;
