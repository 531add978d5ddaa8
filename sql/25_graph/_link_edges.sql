-- _link_edges: make the edges between some documents anew from the first ones' links to the others.
CREATE OR REPLACE FUNCTION pgblend._link_edges(
    source_document_ids bigint[],
    target_document_ids bigint[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    ends bigint[] := ARRAY(SELECT t * 4 FROM unnest(target_document_ids) AS t);
BEGIN
    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id = ANY(source_document_ids) AND e.origin IN ('text', 'data')
        AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = ANY(ends);
    INSERT INTO pgblend_data.edge (
        node, is_reverse, neighbour, edge_type, origin, document_id, collection_id,
        neighbour_collection_id, bucket, weight, metadata)
    SELECT
        CASE WHEN way.is_reverse THEN said.target ELSE said.source END * 4,
        way.is_reverse,
        CASE WHEN way.is_reverse THEN said.source ELSE said.target END * 4,
        said.edge_type, said.origin, said.source, said.collection_id, said.collection_id,
        CASE WHEN way.is_reverse THEN d.bucket ELSE said.bucket END,
        said.weight, said.metadata
    FROM (
        SELECT
            l.document_id AS source,
            l.target_document_id AS target,
            l.edge_type,
            l.origin,
            l.collection_id,
            l.bucket,
            max(l.weight) AS weight,
            (array_agg(l.metadata ORDER BY l.id))[1] || CASE
                WHEN count(l.line) > 0 THEN jsonb_build_object(
                    'lines', jsonb_agg(l.line ORDER BY l.line) FILTER (WHERE l.line IS NOT NULL))
                ELSE '{}' END AS metadata
        FROM pgblend_data.link AS l
        WHERE l.document_id = ANY(source_document_ids)
            AND l.target_document_id = ANY(target_document_ids)
            AND l.document_id <> l.target_document_id
        GROUP BY l.document_id, l.target_document_id, l.edge_type, l.origin, l.collection_id,
            l.bucket
    ) AS said
    INNER JOIN pgblend_data.document AS d ON d.id = said.target
    CROSS JOIN (VALUES (false), (true)) AS way (is_reverse);
END;
$function$;
