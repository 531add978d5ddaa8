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
            ON d.collection_id = attached.collection_id AND d.source_key = s.source_key
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
            WHERE d.collection_id = attached.collection_id
                AND d.source_key = ANY(keys)
            UNION
            SELECT k.*
            FROM pgblend_data.key_reference AS k
            WHERE k.target = attached.relation AND k.target_key = ANY(keys)
        ) AS r
        INNER JOIN pgblend_data.attached_table AS a
            ON a.relation = r.target AND a.key_columns = r.target_columns
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = a.collection_id AND d.source_key = r.target_key
        WHERE d.id <> r.document_id
        GROUP BY r.document_id, d.id));
END;
$function$;

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
