-- _references: which rows of this shard reference what, by foreign keys: those that have some
-- source keys, and those that reference some target keys.
-- asked has objects {collection_id, foreign_key, source_keys, target_keys}.
CREATE OR REPLACE FUNCTION pgblend._references(asked jsonb)
RETURNS TABLE (
    document_id bigint,
    collection_id bigint,
    constraint_name text,
    target_key text
)
LANGUAGE plpgsql
STABLE PARALLEL UNSAFE
AS $function$
BEGIN
    RETURN QUERY
    SELECT r.document_id, r.collection_id, r.constraint_name, r.target_key
    FROM jsonb_to_recordset(asked) AS a (
        collection_id bigint, foreign_key text, source_keys text[], target_keys text[])
    INNER JOIN pgblend_data.document AS d
        ON d.collection_id = a.collection_id AND d.source_key = ANY(a.source_keys)
    INNER JOIN pgblend_data.key_reference AS r
        ON r.document_id = d.id AND r.constraint_name = a.foreign_key
    UNION
    SELECT r.document_id, r.collection_id, r.constraint_name, r.target_key
    FROM jsonb_to_recordset(asked) AS a (
        collection_id bigint, foreign_key text, source_keys text[], target_keys text[])
    INNER JOIN pgblend_data.key_reference AS r
        ON r.target = 0::oid::regclass AND r.target_key = ANY(a.target_keys)
            AND r.collection_id = a.collection_id AND r.constraint_name = a.foreign_key;
END;
$function$;
