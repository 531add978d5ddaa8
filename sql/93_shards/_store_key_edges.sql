-- _store_key_edges: store edges of foreign keys from documents of this shard; returns how many are
-- new.
-- edges has objects {document_id, collection_id, target_key, target_id, target_collection_id,
-- foreign_keys}. What a row does not reference by now, and what is of another shard, is left out.
-- The collections are locked, as for the worker that brings rows (_claim_rows).
CREATE OR REPLACE FUNCTION pgblend._store_key_edges(edges jsonb)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
BEGIN
    PERFORM FROM pgblend_data.collection AS c
    WHERE c.id IN (
        SELECT (e.edge ->> 'collection_id')::bigint FROM jsonb_array_elements(edges) AS e (edge))
    ORDER BY c.id
    FOR NO KEY UPDATE;
    PERFORM FROM pgblend_data.document AS d
    WHERE d.id IN (
        SELECT (e.edge ->> 'document_id')::bigint FROM jsonb_array_elements(edges) AS e (edge))
    ORDER BY d.id
    FOR KEY SHARE;
    RETURN pgblend._store_edges(ARRAY(
        SELECT ROW(
            d.id * 4, false, e.target_id * 4, 'foreign_key', 'key', d.id, 0, d.collection_id,
            e.target_collection_id, d.bucket, 1,
            jsonb_build_object('constraints', k.names))::pgblend_data.edge
        FROM jsonb_to_recordset(edges) AS e (
            document_id bigint, target_key text, target_id bigint, target_collection_id bigint,
            foreign_keys text[])
        INNER JOIN pgblend_data.document AS d ON d.id = e.document_id
        CROSS JOIN LATERAL (
            SELECT jsonb_agg(r.constraint_name ORDER BY r.constraint_name) AS names
            FROM pgblend_data.key_reference AS r
            WHERE r.document_id = d.id AND r.target_key = e.target_key
                AND r.constraint_name = ANY(e.foreign_keys)
        ) AS k
        WHERE k.names IS NOT NULL AND d.id <> e.target_id));
END;
$function$;
