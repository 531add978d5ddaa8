-- _store_mentions: store edges of type mentions, both their rows; a pair said twice by a passage
-- comes once.
CREATE OR REPLACE FUNCTION pgblend._store_mentions(
    collection_id bigint,
    document_ids bigint[],
    chunk_ids bigint[],
    target_document_ids bigint[],
    names text[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
#variable_conflict use_column
BEGIN
    INSERT INTO pgblend_data.edge (
        node, is_reverse, neighbour, edge_type, origin, document_id, chunk_id, collection_id,
        neighbour_collection_id, bucket, weight, metadata)
    SELECT
        CASE WHEN way.is_reverse THEN m.target ELSE m.document_id END * 4,
        way.is_reverse,
        CASE WHEN way.is_reverse THEN m.document_id ELSE m.target END * 4,
        'mentions',
        'mention',
        m.document_id,
        m.chunk_id,
        _store_mentions.collection_id,
        _store_mentions.collection_id,
        CASE WHEN way.is_reverse THEN t.bucket ELSE d.bucket END,
        1,
        jsonb_build_object('name', m.name)
    FROM unnest(document_ids, chunk_ids, target_document_ids, names)
        AS m (document_id, chunk_id, target, name)
    INNER JOIN pgblend_data.document AS d ON m.document_id = d.id
    INNER JOIN pgblend_data.document AS t ON m.target = t.id
    CROSS JOIN (VALUES (false), (true)) AS way (is_reverse)
    ON CONFLICT DO NOTHING;
END;
$function$;
