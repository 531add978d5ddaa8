-- _drop_mentions: take edges of type mentions away, both their rows: from each passage to the
-- document that it names.
CREATE OR REPLACE FUNCTION pgblend._drop_mentions(
    chunk_ids bigint[],
    target_document_ids bigint[]
)
RETURNS void
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
SET search_path FROM CURRENT
AS $function$
BEGIN
    DELETE FROM pgblend_data.edge AS e
    USING unnest(chunk_ids, target_document_ids) AS m (chunk_id, target)
    WHERE e.chunk_id = m.chunk_id
        AND e.origin = 'mention'
        AND CASE WHEN e.is_reverse THEN e.node ELSE e.neighbour END = m.target * 4;
END;
$function$;
