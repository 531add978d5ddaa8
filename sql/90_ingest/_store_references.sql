-- _store_references: note what the foreign keys of some rows of an attached table reference; what
-- they referenced before has no edge any more.
-- targets has an object of constraint: source key for each of keys, whose documents are there.
CREATE OR REPLACE FUNCTION pgblend._store_references(
    attached pgblend_data.attached_table,
    keys text[],
    targets jsonb[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    WITH source AS MATERIALIZED (
        SELECT d.id, d.collection_id, d.bucket, s.targets
        FROM unnest(_store_references.keys, _store_references.targets) AS s (source_key, targets)
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
END;
$function$;
