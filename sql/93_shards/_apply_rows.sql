-- _apply_rows: bring documents of this shard up to date with rows of an attached table.
-- keys are all that are looked at, rows those of them that are there (pgblend_data.attached_row). A
-- second time nothing changes. _claim_rows was called before the rows were read. foreign_keys has
-- the table and columns that each references, NULL where none leads from or to the table. What
-- rows reference is kept, edges to what they reference no more go at once, and keys are noted for
-- the coordinator, which makes edges (_settle_graph).
CREATE OR REPLACE FUNCTION pgblend._apply_rows(
    collection_id bigint,
    keys text[],
    rows jsonb,
    foreign_keys jsonb
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    target pgblend_data.collection;
    given pgblend_data.attached_row[] := ARRAY(
        SELECT r FROM jsonb_populate_recordset(NULL::pgblend_data.attached_row, rows) AS r);
    old_ids bigint[];
BEGIN
    SELECT c.* INTO STRICT target FROM pgblend_data.collection AS c
    WHERE c.id = _apply_rows.collection_id;
    old_ids := ARRAY(
        SELECT d.id FROM pgblend_data.document AS d
        WHERE d.collection_id = target.id AND d.source_key = ANY(keys));
    PERFORM pgblend._store_rows(target, keys, given);
    WITH source AS MATERIALIZED (
        SELECT d.id, d.collection_id, d.bucket, d.source_key,
            coalesce(r.targets, '{}') AS targets
        FROM unnest(given) AS r
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = target.id AND d.source_key = r.key
    ), stored AS (
        INSERT INTO pgblend_data.key_reference AS r (
            document_id, collection_id, bucket, constraint_name, target, target_columns,
            target_key)
        SELECT s.id, s.collection_id, s.bucket, t.key, 0::oid::regclass,
            ARRAY(SELECT jsonb_array_elements_text(foreign_keys -> t.key)), t.value
        FROM source AS s
        CROSS JOIN LATERAL jsonb_each_text(s.targets) AS t
        ON CONFLICT ON CONSTRAINT key_reference_pkey DO UPDATE
        SET target_columns = excluded.target_columns, target_key = excluded.target_key
        WHERE (r.target_columns, r.target_key) <> (excluded.target_columns, excluded.target_key)
        RETURNING r.document_id
    ), gone AS (
        DELETE FROM pgblend_data.key_reference AS r
        USING source AS s
        WHERE r.document_id = s.id AND NOT s.targets ? r.constraint_name
        RETURNING r.document_id
    ), changed AS MATERIALIZED (
        SELECT s.document_id FROM stored AS s UNION SELECT g.document_id FROM gone AS g
    ), noted AS (
        INSERT INTO pgblend_data.graph_change (collection_id, source_key)
        SELECT s.collection_id, s.source_key FROM source AS s
        WHERE s.id IN (SELECT c.document_id FROM changed AS c)
            OR foreign_keys IS NOT NULL AND s.id <> ALL(old_ids)
    )

    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id IN (SELECT c.document_id FROM changed AS c)
        AND e.document_id <> 0 AND e.origin = 'key';
END;
$function$;
