-- _join_passages: store what a model found in passages of this shard, in the place of what it had
-- found before.
-- passages are {chunk_id, edges}; an edge is [source, target, type], whose entities may be of other
-- shards. One that is not here (any more) is left out.
CREATE OR REPLACE FUNCTION pgblend._join_passages(collection text, version text, passages jsonb)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    own_id bigint := (pgblend._writable_collection(collection)).id;
BEGIN
    DELETE FROM pgblend_data.edge AS e
    WHERE e.chunk_id IN (
            SELECT p.chunk_id FROM jsonb_to_recordset(passages) AS p (chunk_id bigint))
        AND e.chunk_id <> 0 AND e.origin = 'model' AND e.collection_id = own_id;
    PERFORM pgblend._store_edges(ARRAY(
        SELECT ROW(
            (e ->> 0)::bigint, false, (e ->> 1)::bigint, e ->> 2, 'model', c.document_id, c.id,
            own_id, own_id, c.bucket, 1, jsonb_build_object('version', version))::pgblend_data.edge
        FROM jsonb_to_recordset(passages) AS p (chunk_id bigint, edges jsonb)
        INNER JOIN pgblend_data.chunk AS c ON c.id = p.chunk_id AND c.collection_id = own_id
        CROSS JOIN LATERAL jsonb_array_elements(p.edges) AS e));
END;
$function$;
