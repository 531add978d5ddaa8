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
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
    WITH source AS MATERIALIZED (
        SELECT d.id, d.collection_id, d.bucket, s.targets
        FROM unnest(_link_references.keys, _link_references.targets) AS s (source_key, targets)
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
    INSERT INTO pgblend_data.edge AS e (
        node, is_reverse, neighbour, edge_type, origin, document_id, collection_id,
        neighbour_collection_id, bucket, metadata)
    SELECT
        own.id * 4, way.is_reverse, other.id * 4, 'foreign_key', 'key', said.source_id,
        own.collection_id, other.collection_id, own.bucket, said.metadata
    FROM (
        SELECT r.document_id AS source_id, d.id AS target_id,
            jsonb_build_object('constraints', jsonb_agg(
                r.constraint_name ORDER BY r.constraint_name)) AS metadata
        FROM (
            SELECT k.*
            FROM pgblend_data.key_reference AS k
            INNER JOIN pgblend_data.document AS d ON d.id = k.document_id
            WHERE d.collection_id = attached.collection_id
                AND d.source_key = ANY(_link_references.keys)
            UNION
            SELECT k.*
            FROM pgblend_data.key_reference AS k
            WHERE k.target = attached.relation AND k.target_key = ANY(_link_references.keys)
        ) AS r
        INNER JOIN pgblend_data.attached_table AS a
            ON a.relation = r.target AND a.key_columns = r.target_columns
        INNER JOIN pgblend_data.document AS d
            ON d.collection_id = a.collection_id AND d.source_key = r.target_key
        WHERE d.id <> r.document_id
        GROUP BY r.document_id, d.id
    ) AS said
    CROSS JOIN (VALUES (false), (true)) AS way (is_reverse)
    INNER JOIN pgblend_data.document AS own
        ON own.id = CASE WHEN way.is_reverse THEN said.target_id ELSE said.source_id END
    INNER JOIN pgblend_data.document AS other
        ON other.id = CASE WHEN way.is_reverse THEN said.source_id ELSE said.target_id END
    ON CONFLICT ON CONSTRAINT edge_pkey DO UPDATE
    SET metadata = excluded.metadata
    WHERE e.metadata <> excluded.metadata;
END;
$function$;
