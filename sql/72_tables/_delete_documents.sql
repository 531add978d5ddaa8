-- _delete_documents: delete the documents of a collection that followed a table; returns how many.
-- The collection is locked, since rows may still be on their way to a shard (_claim_rows).
CREATE OR REPLACE FUNCTION pgblend._delete_documents(collection_id bigint)
RETURNS bigint
LANGUAGE plpgsql
VOLATILE PARALLEL UNSAFE
AS $function$
DECLARE
    gone bigint;
BEGIN
    PERFORM FROM pgblend_data.collection AS c
    WHERE c.id = _delete_documents.collection_id FOR NO KEY UPDATE;
    DELETE FROM pgblend_data.document AS d
    WHERE d.collection_id = _delete_documents.collection_id;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END;
$function$;
