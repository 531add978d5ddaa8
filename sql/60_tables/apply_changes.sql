-- _apply_changes: bring the documents of an attached table's rows up to date, by their keys.
-- Rows that are there are stored, documents of rows that are gone deleted (_store_rows). Keys are
-- taken in their order, so that sessions wait for each other and never in a circle. Read in UTC and
-- ISO 8601, whoever writes. All is of this transaction: the text is findable at once, and by the
-- row's vector where it has one; other vectors follow. In an apply worker
-- (session_replication_role) our own triggers and foreign keys would not fire, so it is put aside.
-- NULL keys are none.
CREATE OR REPLACE FUNCTION pgblend._apply_changes(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET datestyle = 'ISO, YMD'
SET timezone = 'UTC'
SET intervalstyle = 'iso_8601'
SET bytea_output = 'hex'
SET extra_float_digits = 1
AS $function$
DECLARE
    batch_size CONSTANT integer := 200;
    replication_role text := current_setting('session_replication_role');
    target pgblend_data.collection;
    batch text[];
    found pgblend_data.attached_row[];
BEGIN
    IF replication_role <> 'origin' THEN
        PERFORM set_config('session_replication_role', 'origin', true);
    END IF;
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = attached.collection_id;
    SELECT array_agg(DISTINCT k.source_key COLLATE "C" ORDER BY k.source_key COLLATE "C") INTO keys
    FROM unnest(keys) AS k (source_key);
    FOR start IN 1..coalesce(cardinality(keys), 0) BY batch_size LOOP
        batch := keys[start:start + batch_size - 1];
        found := ARRAY(SELECT r FROM pgblend._attached_rows(attached, 'rows', batch, NULL) AS r);
        PERFORM pgblend._store_rows(target, batch, found);
        IF attached.space IS NOT NULL THEN
            PERFORM pgblend._store_row_vectors(attached, found);
        END IF;
        IF cardinality(found) > 0 THEN
            PERFORM pgblend._link_references(
                attached,
                ARRAY(SELECT r.key FROM unnest(found) AS r),
                ARRAY(SELECT r.targets FROM unnest(found) AS r));
        END IF;
    END LOOP;
    IF replication_role <> 'origin' THEN
        PERFORM set_config('session_replication_role', replication_role, true);
    END IF;
END;
$function$;

-- _store_rows: bring the documents of some keys of a collection up to date with the rows of its
-- attached table.
-- rows are those of keys that are there: they are stored (split only where the text changed), and
-- documents of the other keys deleted. Metadata, URI and date alone change no chunk, and readers
-- nothing but the document's compartment.
CREATE OR REPLACE FUNCTION pgblend._store_rows(
    target pgblend_data.collection,
    keys text[],
    rows pgblend_data.attached_row[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    homes bigint[];
    documents pgblend_data.document[];
    contents text[];
BEGIN
    IF EXISTS (SELECT FROM unnest(rows) AS r WHERE num_nulls(r.readers) = 0)
        OR EXISTS (SELECT FROM pgblend_data.collection AS c WHERE c.parent_id = target.id)
    THEN
        homes := pgblend._place_rows(target, rows);
    END IF;
    WITH stored AS MATERIALIZED (
        SELECT d.id, d.source_key
        FROM pgblend_data.document AS d
        WHERE d.collection_id = ANY(pgblend._compartments(target.id)) AND d.source_key = ANY(keys)
        ORDER BY d.source_key COLLATE "C"
        FOR UPDATE
    )
    DELETE FROM pgblend_data.document AS d
    USING stored AS s
    WHERE d.id = s.id AND s.source_key <> ALL(ARRAY(SELECT r.key FROM unnest(rows) AS r));
    IF cardinality(rows) > 0 THEN
        documents := ARRAY(
            SELECT ROW(
                NULL, target.id, pgblend._bucket(target.id, r.key), r.key,
                pgblend._uncontrolled(r.uri), pgblend._uncontrolled(r.title),
                pgblend._document_language(target.text_search_config, r.title, r.content),
                NULL, pgblend._uncontrolled_json(r.metadata), NULL, NULL,
                encode(sha256(convert_to(r.content, 'UTF8')), 'hex'), r.modified_at,
                NULL)::pgblend_data.document
            FROM unnest(rows) AS r);
        contents := ARRAY(SELECT r.content FROM unnest(rows) AS r);
        IF homes IS NULL THEN
            PERFORM pgblend._store_documents(target, documents, contents, NULL, NULL);
        ELSE
            PERFORM pgblend._store_placed(target, documents, contents, NULL, NULL, homes);
        END IF;
    END IF;
END;
$function$;

-- _place_rows: put the documents of an attached table's rows into the compartments of their
-- readers; returns the compartment of each row.
-- Writers wait for each other only where a document moves, or a set of readers is new. Two
-- transactions never store one key: the table's rows are locked before.
CREATE OR REPLACE FUNCTION pgblend._place_rows(
    target pgblend_data.collection,
    rows pgblend_data.attached_row[]
)
RETURNS bigint[]
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    keys text[] := ARRAY(SELECT r.key FROM unnest(rows) AS r);
    readers jsonb[] := ARRAY(
        SELECT CASE WHEN r.readers IS NULL THEN 'null'
            ELSE to_jsonb(ARRAY(SELECT n.name FROM unnest(r.readers) AS n (name))) END
        FROM unnest(rows) AS r);
    homes bigint[] := pgblend._homes(target, readers);
BEGIN
    IF EXISTS (
        SELECT FROM unnest(keys, homes) AS k (source_key, home)
        CROSS JOIN LATERAL pgblend._documents_under(target.id, k.source_key) AS d
        WHERE k.home <> d.collection_id)
    THEN
        RETURN pgblend._place_documents(target, keys, readers);
    END IF;
    PERFORM pgblend._lock_compartments(target.id, false);
    RETURN homes;
END;
$function$;

-- _store_row_vectors: give the first passage of each row's document the vector that the row has.
-- One that is the same is left alone. A row without a vector that the space can hold takes away
-- the one that there was, which was another text's. attached_vectors tells of those.
CREATE OR REPLACE FUNCTION pgblend._store_row_vectors(
    attached pgblend_data.attached_table,
    rows pgblend_data.attached_row[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.embedding_space;
BEGIN
    SELECT s.* INTO STRICT target FROM pgblend_data.embedding_space AS s
    WHERE s.name = attached.space;
    -- Calls in text: _as_vector, _vector_problem (a space's table).
    EXECUTE format(
        'WITH given AS MATERIALIZED (
            SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, v.embedding,
                pgblend._vector_problem(v.embedding, $3, $4) IS NULL AS is_right
            FROM unnest($1) AS r
            INNER JOIN pgblend_data.document AS d
                ON d.collection_id = $2 AND d.source_key = r.key
            INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id AND c.chunk_index = 0
            CROSS JOIN LATERAL (
                SELECT pgblend._as_vector(r.embedding) AS embedding OFFSET 0) AS v
        ), gone AS (
            DELETE FROM pgblend_data.%1$I AS e
            USING given AS g
            WHERE e.chunk_id = g.id AND NOT g.is_right
        )
        INSERT INTO pgblend_data.%1$I AS e (
            chunk_id, document_id, chunk_index, collection_id, bucket, embedding)
        SELECT g.id, g.document_id, g.chunk_index, g.collection_id, g.bucket, g.embedding
        FROM given AS g
        WHERE g.is_right
        ORDER BY g.id
        ON CONFLICT (chunk_id) DO UPDATE SET embedding = excluded.embedding
        WHERE NOT record_image_eq(ROW(e.embedding), ROW(excluded.embedding))',
        target.table_name)
    USING rows, attached.collection_id, target.dimensions, target.storage;
END;
$function$;

-- _as_vector: the vector of some numbers, whose type a definer cannot name; NULL for NULL.
CREATE OR REPLACE FUNCTION pgblend._as_vector(numbers real[])
RETURNS vector
LANGUAGE sql
IMMUTABLE PARALLEL SAFE
RETURN numbers::vector;

-- _link_references: note what the foreign keys of some rows of an attached table reference, and
-- make the edges of foreign keys from and to these rows.
-- targets has an object of constraint: source key for each of keys, whose documents are there; what
-- they referenced before has no edge any more. Whichever document comes last finds the other; a
-- reference to none dangles, and one to its own row is no edge. Two foreign keys from one row to
-- another are one edge.
CREATE OR REPLACE FUNCTION pgblend._link_references(
    attached pgblend_data.attached_table,
    keys text[],
    targets jsonb[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    WITH source AS MATERIALIZED (
        SELECT d.id, d.collection_id, d.bucket, s.targets
        FROM unnest(keys, targets) AS s (source_key, targets)
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = ANY(pgblend._compartments(attached.collection_id))
            AND d.source_key = s.source_key
    ), wanted AS MATERIALIZED (
        SELECT s.id, s.collection_id, s.bucket, f.constraint_name, f.target, f.target_columns,
            t.value AS target_key
        FROM source AS s
        CROSS JOIN LATERAL jsonb_each_text(s.targets) AS t
        INNER JOIN pgblend._foreign_keys(attached.relation) AS f ON f.constraint_name = t.key
    ), stored AS (
        INSERT INTO pgblend_data.key_reference AS r (
            document_id, collection_id, bucket, constraint_name, target, target_columns,
            target_key)
        SELECT
            w.id, w.collection_id, w.bucket, w.constraint_name, w.target, w.target_columns,
            w.target_key
        FROM wanted AS w
        ON CONFLICT ON CONSTRAINT key_reference_pkey DO UPDATE
        SET target = excluded.target, target_columns = excluded.target_columns,
            target_key = excluded.target_key
        WHERE (r.target, r.target_columns, r.target_key)
            <> (excluded.target, excluded.target_columns, excluded.target_key)
        RETURNING r.document_id
    ), gone AS (
        DELETE FROM pgblend_data.key_reference AS r
        USING source AS s
        WHERE r.document_id = s.id AND NOT s.targets ? r.constraint_name
        RETURNING r.document_id
    )
    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id IN (
            SELECT s.document_id FROM stored AS s UNION SELECT g.document_id FROM gone AS g)
        AND e.document_id <> 0 AND e.origin = 'key';
    PERFORM pgblend._store_edges(ARRAY(
        SELECT ROW(
            r.document_id * 4, false, d.id * 4, 'foreign_key', 'key', r.document_id, 0, NULL, NULL,
            NULL, 1, jsonb_build_object('constraints', jsonb_agg(
                r.constraint_name ORDER BY r.constraint_name)))::pgblend_data.edge
        FROM (
            SELECT k.*
            FROM pgblend_data.key_reference AS k
            INNER JOIN pgblend_data.document AS d ON d.id = k.document_id
            WHERE d.collection_id = ANY(pgblend._compartments(attached.collection_id))
                AND d.source_key = ANY(keys)
            UNION
            SELECT k.*
            FROM pgblend_data.key_reference AS k
            WHERE k.target = attached.relation AND k.target_key = ANY(keys)
        ) AS r
        INNER JOIN pgblend_data.attached_table AS a
            ON a.relation = r.target AND a.key_columns = r.target_columns
        CROSS JOIN LATERAL unnest(pgblend._compartments(a.collection_id)) AS h (id)
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = h.id AND d.source_key = r.target_key
        WHERE d.id <> r.document_id
        GROUP BY r.document_id, d.id));
END;
$function$;

-- _is_vector: whether a type, or what a domain is made of, is pgvector's own vector or halfvec.
CREATE OR REPLACE FUNCTION pgblend._is_vector(type_id oid)
RETURNS boolean
LANGUAGE plpgsql
STABLE PARALLEL SAFE
AS $function$
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_type AS t
        INNER JOIN pg_depend AS d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid
        INNER JOIN pg_extension AS e ON d.refobjid = e.oid
        WHERE t.oid = pgblend._base_type(type_id) AND t.typname IN ('vector', 'halfvec')
            AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
            AND e.extname = 'vector');
END;
$function$;
