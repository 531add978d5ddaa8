-- _link_references: make the edges of foreign keys from and to some rows of an attached table.
-- Whichever document comes last finds the other; a reference to none dangles, and one to its own
-- row is no edge. Two foreign keys from one row to another are one edge.
CREATE OR REPLACE FUNCTION pgblend._link_references(
    attached pgblend_data.attached_table,
    keys text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
BEGIN
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
