-- _document_ids: the documents of this shard that have some source keys.
-- asked has objects {collection_id, keys}.
CREATE OR REPLACE FUNCTION pgblend._document_ids(asked jsonb)
RETURNS TABLE (collection_id bigint, source_key text, document_id bigint)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT d.collection_id, d.source_key, d.id
    FROM jsonb_to_recordset(asked) AS a (collection_id bigint, keys text[])
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = a.collection_id AND d.source_key = ANY(a.keys);
END;
$function$;
