-- _link_edges: rebuild the edges from some documents to others, from the links between them.
CREATE OR REPLACE FUNCTION pgblend._link_edges(
    source_document_ids bigint[],
    target_document_ids bigint[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    ends bigint[] := ARRAY(SELECT t * 4 FROM unnest(target_document_ids) AS t);
BEGIN
    DELETE FROM pgblend_data.edge AS e
    WHERE e.document_id = ANY(source_document_ids) AND e.origin IN ('text', 'data')
        AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = ANY(ends);
    PERFORM pgblend._store_edges(ARRAY(
        SELECT ROW(
            l.document_id * 4, false, l.target_document_id * 4, l.edge_type, l.origin,
            l.document_id, 0, l.collection_id, l.collection_id, l.bucket, max(l.weight),
            (array_agg(l.metadata ORDER BY l.id))[1] || CASE
                WHEN count(l.line) > 0 THEN jsonb_build_object(
                    'lines', jsonb_agg(l.line ORDER BY l.line) FILTER (WHERE l.line IS NOT NULL))
                ELSE '{}' END)::pgblend_data.edge
        FROM pgblend_data.link AS l
        WHERE l.document_id = ANY(source_document_ids)
            AND l.target_document_id = ANY(target_document_ids)
            AND l.document_id <> l.target_document_id
        GROUP BY l.document_id, l.collection_id, l.bucket, l.target_document_id, l.edge_type,
            l.origin));
END;
$function$;
